import { describe, expect, it } from 'vitest';
import { type Fault, type FaultScript, faults, when } from '../../src/model-api/index.ts';
import type { Anomaly } from '../../src/walk/anomaly.ts';
import { mostCalls } from '../../src/walk/bounds.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, missingKeys, upstreamRows } from '../helpers/truth.ts';

const ROWS = 360;
const QUIET = { news: 5, 'ai-signals': 4 };

type Case = {
  script: () => FaultScript;
  job: keyof typeof QUIET;
  /** What proves the dataset where no anomaly is named. */
  verdict: 'verified' | 'snapshot' | 'union';
  calls: number;
  anomalies?: Partial<Record<Anomaly, number>>;
  missing?: number;
};

const page = (nth: number, ...fault: Fault[]) => when({ nth }, ...fault);
const allPages = (...fault: Fault[]) => when({}, ...fault);

const { shortPage, limitIgnored, pagination, returnedOff, changingTotal, duplicateRow, emptyPageWithMore } =
  faults;

/** The API takes an offset for a multiple of 50, and says so. */
const offsetRounded: Fault = faults.editPage((_, { bodyAt, request: { offset, limit } }) =>
  bodyAt({ offset: offset - (offset % 50), limit }),
);

const cases: Record<string, Case> = {
  'one page is short': {
    script: () => page(2, shortPage(30)),
    job: 'news',
    verdict: 'verified',
    calls: QUIET.news + 1,
  },
  'one page of a snapshot is short': {
    script: () => page(2, shortPage(30)),
    job: 'ai-signals',
    verdict: 'snapshot',
    calls: QUIET['ai-signals'] + 1,
  },
  'every page is short': {
    script: () => allPages(shortPage(10)),
    job: 'news',
    verdict: 'verified',
    calls: 41,
  },
  'the limit is taken for 50': {
    script: () => allPages(limitIgnored(50)),
    job: 'news',
    verdict: 'verified',
    calls: 9,
  },
  'the limit of a snapshot is taken for 50': {
    script: () => allPages(limitIgnored(50)),
    job: 'ai-signals',
    verdict: 'snapshot',
    calls: 8,
  },
  'the limit is taken for 2': {
    script: () => allPages(limitIgnored(2)),
    job: 'news',
    verdict: 'verified',
    calls: ROWS,
  },
  'the limit is taken for 1': {
    script: () => allPages(limitIgnored(1)),
    job: 'news',
    verdict: 'union',
    calls: ROWS + 1,
    anomalies: { unanchored: ROWS - 1 },
  },
  'the limit is ignored': {
    script: () => allPages(limitIgnored(1_000)),
    job: 'news',
    verdict: 'verified',
    calls: 1,
  },
  'one page shows nothing but the row that joins it': {
    script: () => page(3, shortPage(1)),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news + 1,
    anomalies: { unanchored: 1 },
  },
  'one page is empty and promises more': {
    script: () => page(3, emptyPageWithMore()),
    job: 'news',
    verdict: 'verified',
    calls: QUIET.news + 1,
  },
  'one page of a snapshot is empty and promises more': {
    script: () => page(3, emptyPageWithMore()),
    job: 'ai-signals',
    verdict: 'snapshot',
    calls: QUIET['ai-signals'] + 1,
  },
  'one page returns more rows than it says': {
    script: () => page(2, returnedOff(-1)),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news,
    anomalies: { returned: 1, repeat: 1 },
  },
  'one page returns fewer rows than it says': {
    script: () => page(2, returnedOff(7)),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news,
    anomalies: { returned: 1 },
  },
  'the total rises with every page': {
    script: () => allPages(changingTotal()),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news + 3,
    anomalies: { total: 2 },
  },
  'the total of a snapshot rises with every page': {
    script: () => allPages(changingTotal()),
    job: 'ai-signals',
    verdict: 'union',
    calls: QUIET['ai-signals'] + 1,
    anomalies: { total: 1 },
  },
  'the total of a snapshot is too small': {
    script: () => allPages(pagination({ total: ROWS - 1 })),
    job: 'ai-signals',
    verdict: 'union',
    calls: QUIET['ai-signals'],
    anomalies: { total: 1 },
  },
  'the total falls to nothing for one page': {
    script: () => page(3, shortPage(0), pagination({ total: 0, hasMore: false })),
    job: 'news',
    verdict: 'verified',
    calls: 3 + QUIET.news,
  },
  'a page shows a row twice': {
    script: () => page(2, duplicateRow()),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news + 2,
    anomalies: { repeat: 2 },
  },
  'a page of a snapshot shows a row twice': {
    script: () => page(2, duplicateRow()),
    job: 'ai-signals',
    verdict: 'union',
    calls: QUIET['ai-signals'],
    anomalies: { repeat: 1, total: 1 },
    missing: 1,
  },
  'an offset is taken for another': {
    script: () => allPages(offsetRounded),
    job: 'news',
    verdict: 'union',
    calls: 13,
    anomalies: { offset: 11 },
  },
  'an offset is given wrongly': {
    script: () => page(3, pagination({ offset: 7 })),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news,
    anomalies: { offset: 1 },
  },
  'hasMore is false too early for one page': {
    script: () => page(2, pagination({ hasMore: false })),
    job: 'news',
    verdict: 'verified',
    calls: QUIET.news,
  },
  'hasMore of a snapshot is false too early for one page': {
    script: () => page(2, pagination({ hasMore: false })),
    job: 'ai-signals',
    verdict: 'snapshot',
    calls: QUIET['ai-signals'],
  },
  'hasMore is false from the second page on': {
    script: () => when({ from: 2 }, pagination({ hasMore: false })),
    job: 'news',
    verdict: 'union',
    calls: 4,
    anomalies: { total: 2 },
    missing: 62,
  },
  'hasMore of a snapshot is false from the second page on': {
    script: () => when({ from: 2 }, pagination({ hasMore: false })),
    job: 'ai-signals',
    verdict: 'union',
    calls: 3,
    anomalies: { total: 1 },
    missing: 60,
  },
};

describe('a walk ends as it should where', () => {
  it.each(Object.entries(cases))(
    '%s',
    async (_, { script, job, verdict, calls, anomalies = {}, missing = 0 }) => {
      const bench = await setup({ rows: ROWS, faults: [script()] });

      const walk = await bench.mirror(job);
      expect(walk).toMatchObject({ status: 'complete', verdict, apiCalls: calls });
      expect(JSON.parse(walk.anomalies)).toEqual(anomalies);
      expect(missingKeys(bench, job)).toHaveLength(missing);
      if (calls < ROWS / 10) expect(calls).toBeLessThanOrEqual(mostCalls(ROWS));

      bench.model.faults = [];
      expect((await bench.mirror(job)).verdict).toBe(job === 'news' ? 'verified' : 'snapshot');
      expect(mirroredRows(bench, job)).toEqual(upstreamRows(bench, job));
    },
  );
});

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
