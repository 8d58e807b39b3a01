import { describe, expect, it } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import type { Checkpoint } from '../../src/walk/checkpoint.ts';
import { both, type Edit, editBefore, insert, publish, remove, replaceAll } from '../helpers/edits.ts';
import { mostCallsOfSnapshot } from '../helpers/invariants.ts';
import { type ListWalk, openList } from '../helpers/list.ts';
import { walkOnPaper } from '../helpers/paper.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, upstreamRows } from '../helpers/truth.ts';

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
  ended?: Partial<Pick<ListWalk, 'verdict'> & { restarts: number }>,
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
  it.each(cases)(
    '%s',
    async (_, edits, calls, { verdict = 'snapshot', restarts = 0 } = {}, anomalies = {}) => {
      const list = openList('ai-signals', { rows: ROWS });
      const walked = await list.walk(edits);
      expect(walked).toMatchObject({ verdict, stuck: undefined, calls, checkpoint: { restarts } });
      expect(walked.anomalies).toEqual(anomalies);
      await list.converge();
    },
  );

  it.each(['ai-signals', 'news'])(
    'generatedAt is another in every answer, %s is verified by anchors',
    async (job) => {
      const list = openList(job, { rows: ROWS });
      let minute = 0;
      list.beforeAnswer = (dataset) => {
        minute += 1;
        dataset.generatedAt = later(minute);
      };
      const verified = { verdict: 'verified', doubts: undefined, missing: [], calls: QUIET + 1 };
      const calls = 2 + 2 + 2 + QUIET + 1;
      expect(await list.walk()).toMatchObject({ ...verified, calls, checkpoint: { restarts: 3 } });
      // What was learnt is kept to: no pass is lost again.
      expect(await list.walk()).toMatchObject({ ...verified, checkpoint: { restarts: 0 } });

      // And given up when the list holds still: a walk that sees one generatedAt, and the next trusts it.
      list.beforeAnswer = () => undefined;
      expect(await list.walk()).toMatchObject(verified);
      expect(await list.walk()).toMatchObject({ verdict: 'snapshot', calls: QUIET });
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
      if (calls === 11 || calls === 19) bench.reopen();
    };
    await expect(bench.mirror('ai-signals')).rejects.toThrow();
    expect(await bench.mirror('ai-signals')).toMatchObject({ id: 1, verdict: 'verified', restarts: 3 });
    await expect(bench.mirror('ai-signals')).rejects.toThrow();
    const verified = { verdict: 'verified', restarts: 0, apiCalls: QUIET + 1 };
    expect(await bench.mirror('ai-signals')).toMatchObject({ id: 2, ...verified });
    expect(mirroredRows(bench, 'ai-signals')).toEqual(upstreamRows(bench, 'ai-signals'));
  });
});

it('a snapshot is proven again by the first page of a walk, and by no other', async () => {
  const list = openList('ai-signals', { rows: ROWS, renews: true });
  const { generatedAt } = list.dataset;
  await list.walk();
  expect(await list.walk()).toMatchObject({ isRenewal: true, calls: 1 });
  const forAMoment = { 1: publish(later(1)), 3: publish(generatedAt) };
  expect(await list.walk(forAMoment)).toMatchObject({ isRenewal: false, calls: 3 + QUIET });
});

it('a snapshot older than the one before proves nothing, until it shows twice', async () => {
  const list = openList('ai-signals', { rows: ROWS });
  await list.walk();
  both(remove(340, 20), publish(later(-5)))(list.dataset);
  expect(await list.walk()).toMatchObject({ verdict: 'union', doubts: 'backwards ×1' });
  expect(await list.walk()).toMatchObject({ verdict: 'snapshot', missing: [] });
});

it('the evidence for a verdict stands beside it in walks', async () => {
  const bench = await setup({ rows: ROWS });
  editBefore(bench, 'news', { 3: remove(120), 6: both(remove(4), insert(0, 2)) });
  await bench.mirror('news');
  editBefore(bench, 'ai-signals', { 2: publish('2026-01-02T03:04:05Z'), 7: insert(0) });
  await bench.mirror('ai-signals');
  const evidence = bench.sql(
    `SELECT verdict, pages, api_calls, rows, distinct_keys, total_first, total, generated_at, restarts, steps_back,
       anomalies, error FROM walks`,
  );
  expect(evidence.map((row) => Object.values(row))).toEqual([
    ['verified', 6, 6, 362, 362, 360, 360, null, 0, 1, '{}', null],
    [
      ...['union', 6, 8, 360, 360, 360, 361, '2026-01-02T03:04:05Z', 1, 0],
      ...['{"repeat":1,"total":1}', 'the pages do not add up: repeat ×1, total ×1'],
    ],
  ]);
});
