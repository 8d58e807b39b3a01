import { describe, expect, it } from 'vitest';
import { type Fault, faults, when } from '../../model-api/index.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, upstreamRows } from '../helpers/truth.ts';

const ROWS = 360;
const QUIET = { news: 5, 'ai-signals': 4 };
const { emptyPageWithMore, pagination } = faults;

const endless: Record<
  string,
  { fault: Fault; from: number; job: keyof typeof QUIET; calls: number; kept: number }
> = {
  'every page from the third on is empty and promises more': {
    fault: emptyPageWithMore(),
    from: 3,
    job: 'news',
    calls: 4,
    kept: 199,
  },
  'every offset is taken for the first': {
    fault: faults.offsetIgnored(),
    from: 1,
    job: 'news',
    calls: 4,
    kept: 100,
  },
  'every offset of a snapshot is taken for the first': {
    fault: faults.offsetIgnored(),
    from: 1,
    job: 'ai-signals',
    calls: 4,
    kept: 100,
  },
  'every page promises more': {
    fault: pagination({ hasMore: true }),
    from: 1,
    job: 'news',
    calls: 6,
    kept: ROWS,
  },
  'every page of a snapshot promises more': {
    fault: pagination({ hasMore: true }),
    from: 1,
    job: 'ai-signals',
    calls: 6,
    kept: ROWS,
  },
};

describe('a walk is given up, with all that came, where', () => {
  it.each(Object.entries(endless))('%s', async (_, { fault, from, job, calls, kept }) => {
    const bench = await setup({ rows: ROWS, faults: [when({ from }, fault)] });
    await expect(bench.mirror(job)).rejects.toMatchObject({
      kind: 'incomplete',
      message: expect.stringMatching(/lead nowhere.*the next run begins anew/),
    });
    expect(bench.model.calls).toHaveLength(calls);
    expect(bench.sql('SELECT status, verdict FROM walks')).toEqual([{ status: 'failed', verdict: null }]);
    expect(mirroredRows(bench, job).size).toBe(kept);

    bench.model.faults = [];
    expect(await bench.mirror(job)).toMatchObject({ id: 2, apiCalls: QUIET[job] });
    expect(mirroredRows(bench, job)).toEqual(upstreamRows(bench, job));
  });
});
