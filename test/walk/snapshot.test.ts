import { describe, expect, it } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import type { WalkRow } from '../../src/store.ts';
import type { Checkpoint } from '../../src/walk/checkpoint.ts';
import { both, type Edit, editBefore, insert, publish, remove, replaceAll } from '../helpers/edits.ts';
import { mostCallsOfSnapshot } from '../helpers/invariants.ts';
import { walkOnPaper } from '../helpers/paper.ts';
import { setup } from '../helpers/setup.ts';
import { expectConvergence, mirroredRows, upstreamRows } from '../helpers/truth.ts';

const ROWS = 360;
/** Pages of 100 rows. */
const QUIET = 4;

const later = (minutes: number) => new Date(Date.UTC(2025, 10, 3, 12, minutes)).toISOString();
const republish = (minutes: number, edit: Edit = insert(0)) => both(edit, publish(later(minutes)));

type Anomalies = Checkpoint['anomalies'];

/** Before which call upstream changes, and how; what comes of the walk: a snapshot without a restart unless told otherwise. */
const cases: [
  name: string,
  edits: Record<number, Edit>,
  calls: number,
  walk?: Partial<WalkRow>,
  Anomalies?,
][] = [
  ['nothing changes', {}, QUIET],
  ['the snapshot is replaced', { 3: republish(1) }, 3 + QUIET, { restarts: 1 }],
  ['it is replaced by other rows altogether', { 2: republish(1, replaceAll) }, 2 + QUIET, { restarts: 1 }],
  ['it is replaced before its first page', { 1: republish(1) }, QUIET],
  ['it is replaced by one of fewer rows', { 4: republish(1, remove(40, 300)) }, 4 + 1, { restarts: 1 }],
  ['it is replaced twice', { 2: republish(1), 5: republish(2) }, 2 + 3 + QUIET, { restarts: 2 }],
  [
    'it is replaced a third time',
    { 2: republish(1), 4: republish(2), 6: republish(3) },
    2 + 2 + 2 + QUIET + 1,
    { verdict: 'verified', restarts: 3 },
  ],
  ['generatedAt goes back', { 3: republish(-5) }, 3 + QUIET, { restarts: 1 }],
  ['generatedAt becomes null', { 3: publish(null) }, 3 + QUIET + 1, { verdict: 'verified', restarts: 1 }],
  [
    'rows are deleted under the same generatedAt',
    { 3: remove(20) },
    QUIET,
    { verdict: 'union' },
    { total: 1 },
  ],
  [
    'rows are inserted under the same generatedAt',
    { 3: insert(20) },
    QUIET,
    { verdict: 'union' },
    { repeat: 1, total: 1 },
  ],
];

describe('a walk over one snapshot, while', () => {
  it.each(cases)('%s', async (_, edits, apiCalls, walked = {}, anomalies = {}) => {
    const bench = await setup({ rows: ROWS });
    editBefore(bench, 'ai-signals', edits);
    const walk = await bench.mirror('ai-signals');
    expect(walk).toMatchObject({ status: 'complete', verdict: 'snapshot', restarts: 0, apiCalls, ...walked });
    expect(JSON.parse(walk.anomalies)).toEqual(anomalies);
    await expectConvergence(bench, 'ai-signals');
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
      const verified = { verdict: 'verified', error: null, apiCalls: QUIET + 1, restarts: 0 };
      const apiCalls = 2 + 2 + 2 + QUIET + 1;
      expect(await bench.mirror(job)).toMatchObject({ ...verified, apiCalls, restarts: 3 });
      // What was learnt is kept to: no pass is lost again.
      remove(120)(upstream);
      insert(0)(upstream);
      expect(await bench.mirror(job)).toMatchObject({ ...verified, deleted: 0 });
      expect(await bench.mirror(job)).toMatchObject({ ...verified, deleted: 1 });
      expect(mirroredRows(bench, job)).toEqual(upstreamRows(bench, job));

      // And given up when the list holds still: a walk that sees one generatedAt, and the next trusts it.
      bench.model.beforeAnswer = undefined;
      expect(await bench.mirror(job)).toMatchObject(verified);
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

it('a snapshot older than the one before proves nothing, until it shows twice', async () => {
  const bench = await setup({ rows: ROWS, walked: ['ai-signals'] });
  remove(340, 20)(bench.upstream('ai-signals'));
  publish(later(-5))(bench.upstream('ai-signals'));
  const older = { verdict: 'union', error: 'the dataset changed: backwards ×1' };
  expect(await bench.mirror('ai-signals')).toMatchObject(older);
  expect(await bench.mirror('ai-signals')).toMatchObject({ verdict: 'snapshot', deleted: 20 });
});
