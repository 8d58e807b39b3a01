import { describe, expect, it } from 'vitest';
import type { Anomaly } from '../../src/walk/anomaly.ts';
import { both, type Edit, editBefore, insert, publish, remove, replaceAll } from '../helpers/edits.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, upstreamRows } from '../helpers/truth.ts';

const ROWS = 360;
/** Pages of 100 rows. */
const QUIET = 4;

const later = (minutes: number) => new Date(Date.UTC(2025, 10, 3, 12, minutes)).toISOString();
const republish = (minutes: number, edit: Edit = insert(0)) => both(edit, publish(later(minutes)));

type Case = {
  edits: Record<number, Edit>;
  verdict: 'snapshot' | 'verified' | 'union';
  calls: number;
  restarts?: number;
  anomalies?: Partial<Record<Anomaly, number>>;
};

const cases: Record<string, Case> = {
  'nothing changes': { edits: {}, verdict: 'snapshot', calls: QUIET },
  'the snapshot is replaced': {
    edits: { 3: republish(1) },
    verdict: 'snapshot',
    calls: 3 + QUIET,
    restarts: 1,
  },
  'the snapshot is replaced by other rows altogether': {
    edits: { 2: republish(1, replaceAll) },
    verdict: 'snapshot',
    calls: 2 + QUIET,
    restarts: 1,
  },
  'the snapshot is replaced before its first page': {
    edits: { 1: republish(1) },
    verdict: 'snapshot',
    calls: QUIET,
  },
  'the snapshot is replaced by one of fewer rows': {
    edits: { 4: republish(1, remove(40, 300)) },
    verdict: 'snapshot',
    calls: 4 + 1,
    restarts: 1,
  },
  'the snapshot is replaced twice': {
    edits: { 2: republish(1), 5: republish(2) },
    verdict: 'snapshot',
    calls: 2 + 3 + QUIET,
    restarts: 2,
  },
  'the snapshot is replaced a third time': {
    edits: { 2: republish(1), 4: republish(2), 6: republish(3) },
    verdict: 'union',
    calls: 2 + 2 + QUIET,
    restarts: 2,
    anomalies: { torn: 1, repeat: 1, total: 1 },
  },
  'generatedAt goes back': {
    edits: { 3: republish(-5) },
    verdict: 'snapshot',
    calls: 3 + QUIET,
    restarts: 1,
  },
  'generatedAt becomes null': {
    edits: { 3: publish(null) },
    verdict: 'verified',
    calls: 3 + QUIET + 1,
    restarts: 1,
  },
  'rows are deleted under the same generatedAt': {
    edits: { 3: remove(20) },
    verdict: 'union',
    calls: QUIET,
    anomalies: { total: 1 },
  },
  'rows are inserted under the same generatedAt': {
    edits: { 3: insert(20) },
    verdict: 'union',
    calls: QUIET,
    anomalies: { repeat: 1, total: 1 },
  },
};

describe('a walk over one snapshot, while', () => {
  it.each(Object.entries(cases))('%s', async (_, { edits, verdict, calls, restarts = 0, anomalies = {} }) => {
    const bench = await setup({ rows: ROWS });
    editBefore(bench, 'ai-signals', edits);

    const walk = await bench.mirror('ai-signals');
    expect(walk).toMatchObject({ status: 'complete', verdict, apiCalls: calls, restarts });
    expect(JSON.parse(walk.anomalies)).toEqual(anomalies);

    bench.model.beforeAnswer = undefined;
    for (let quiet = 0; quiet < 4; quiet += 1) await bench.mirror('ai-signals');
    expect(mirroredRows(bench, 'ai-signals')).toEqual(upstreamRows(bench, 'ai-signals'));
  });

  it('generatedAt changes with every call, ends within three passes and proves nothing', async () => {
    const bench = await setup({ rows: ROWS });
    let minute = 0;
    bench.model.beforeAnswer = () => {
      minute += 1;
      bench.upstream('ai-signals').generatedAt = later(minute);
    };
    expect(await bench.mirror('ai-signals')).toMatchObject({ verdict: 'union', apiCalls: 2 + 2 + QUIET });
    expect(mirroredRows(bench, 'ai-signals')).toEqual(upstreamRows(bench, 'ai-signals'));
  });
});

describe('a snapshot older than the one before', () => {
  it('proves nothing, until it shows twice', async () => {
    const bench = await setup({ rows: ROWS });
    await bench.mirror('ai-signals');
    const { rows } = bench.upstream('ai-signals');
    bench.upstream('ai-signals').rows = rows.slice(0, 340);
    publish(later(-5))(bench.upstream('ai-signals'));

    const older = await bench.mirror('ai-signals');
    expect(older).toMatchObject({ verdict: 'union', error: 'the dataset changed: backwards ×1' });
    expect(await bench.mirror('ai-signals')).toMatchObject({ verdict: 'snapshot', deleted: 0 });
    expect(await bench.mirror('ai-signals')).toMatchObject({ verdict: 'snapshot', deleted: 20 });
  });
});

describe('a walk over a snapshot of', () => {
  it.each([
    [0, 1],
    [1, 1],
    [100, 1],
    [101, 2],
    [1_000, 10],
  ])('%i rows takes %i calls', async (rows, calls) => {
    const bench = await setup({ rows });
    expect(await bench.mirror('ai-signals')).toMatchObject({ verdict: 'snapshot', apiCalls: calls, rows });
    expect(mirroredRows(bench, 'ai-signals')).toEqual(upstreamRows(bench, 'ai-signals'));
  });
});
