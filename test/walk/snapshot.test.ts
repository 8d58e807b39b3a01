import { describe, expect, it } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import type { Anomaly } from '../../src/walk/checkpoint.ts';
import { mostCallsOfSnapshot } from '../../src/walk.ts';
import { both, type Edit, editBefore, insert, publish, remove, replaceAll } from '../helpers/edits.ts';
import { walkOnPaper } from '../helpers/paper.ts';
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
    verdict: 'verified',
    calls: 2 + 2 + 2 + QUIET + 1,
    restarts: 3,
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

  it.each(['ai-signals', 'news'])(
    'generatedAt is another in every answer, %s is verified by anchors',
    async (job) => {
      const bench = await setup({ rows: ROWS });
      const upstream = bench.upstream(job);
      let minute = 0;
      bench.model.beforeAnswer = () => {
        minute += 1;
        upstream.generatedAt = later(minute);
      };
      const verified = { verdict: 'verified', error: null };
      expect(await bench.mirror(job)).toMatchObject({
        ...verified,
        apiCalls: 2 + 2 + 2 + QUIET + 1,
        restarts: 3,
      });
      // What was learnt is kept to: no pass is lost again.
      remove(120)(upstream);
      insert(0)(upstream);
      expect(await bench.mirror(job)).toMatchObject({
        ...verified,
        apiCalls: QUIET + 1,
        restarts: 0,
        deleted: 0,
      });
      expect(await bench.mirror(job)).toMatchObject({ ...verified, apiCalls: QUIET + 1, deleted: 1 });
      expect(mirroredRows(bench, job)).toEqual(upstreamRows(bench, job));

      // And given up when the list holds still: a walk that sees one generatedAt, and the next trusts it.
      bench.model.beforeAnswer = undefined;
      expect(await bench.mirror(job)).toMatchObject({ ...verified, apiCalls: QUIET + 1 });
      expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', apiCalls: QUIET });
      expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', apiCalls: 1 });
    },
  );

  it('the first page has no generatedAt, the others have: one pass by anchors proves it, and none is begun again', async () => {
    const rows = Array.from({ length: ROWS }, (_, at) => `row ${at}`);
    let call = 0;
    const { end, calls, checkpoint } = await walkOnPaper(() => rows, {
      generatedAt: () => (call++ === 0 ? null : later(0)),
    });
    expect(end.verdict).toBe('verified');
    expect([calls, checkpoint.restarts]).toEqual([QUIET + 1, 0]);
  });

  it('generatedAt is another in every answer, rows go before every call: the calls keep their bound', async () => {
    const rows = Array.from({ length: 3_000 }, (_, at) => `row ${at}`);
    let second = 0;
    const { calls, received, end } = await walkOnPaper(
      (call) => {
        if (call > 1) rows.splice(0, 20);
        return rows;
      },
      { generatedAt: () => isoTime(1_000 * second++) },
    );
    expect(calls).toBeLessThanOrEqual(mostCallsOfSnapshot(3_000));
    const lost = rows.filter((row) => !received.has(row)).length;
    expect(lost > 0).toBe(end.verdict === 'union');
  });

  it('is interrupted once it is read by anchors, it goes on so', async () => {
    const bench = await setup({ rows: ROWS });
    let calls = 0;
    bench.model.beforeAnswer = () => {
      calls += 1;
      bench.upstream('ai-signals').generatedAt = later(calls);
      if (calls === 9) bench.reopen();
    };
    await expect(bench.mirror('ai-signals')).rejects.toThrow();
    expect(await bench.mirror('ai-signals')).toMatchObject({ id: 1, verdict: 'verified', restarts: 3 });
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
