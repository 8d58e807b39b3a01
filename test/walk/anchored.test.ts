import { describe, expect, it } from 'vitest';
import { mostCalls } from '../../src/walk/anchored.ts';
import type { Anomaly } from '../../src/walk/checkpoint.ts';
import {
  both,
  bump,
  change,
  type Edit,
  editBefore,
  insert,
  move,
  publish,
  remove,
  replaceAll,
  shuffle,
  turnRound,
} from '../helpers/edits.ts';
import { setup } from '../helpers/setup.ts';
import { expectConvergence, mirroredRows, missingKeys, upstreamRows } from '../helpers/truth.ts';

const ROWS = 360;
/** Pages of 100 and then 99 new rows, and the look at the head. */
const QUIET = 5;

/** What keeps a walk from being a proof, and how many rows upstream it did not bring, since they came in behind it. */
type Union = Partial<Record<Anomaly, number>> & { unseen?: number };

/** So many rows that were read move above the one at the head that a page of the head does not show it. */
const hide = both(...Array.from({ length: 110 }, (_, at) => bump(at + 1)));
const removals = (...calls: number[]) => Object.fromEntries(calls.map((call) => [call, remove(0)]));

/** Before which call of the walk upstream changes, and how; how many calls the walk takes; a proof unless told otherwise. */
const cases: [name: string, edits: Record<number, Edit>, calls: number, union?: Union][] = [
  ['nothing changes', {}, QUIET],
  ['a row is inserted at the head', { 3: insert(0) }, QUIET],
  [
    'rows are inserted at the head before every page',
    { 2: insert(0, 3), 3: insert(0, 2), 4: insert(0) },
    QUIET,
  ],
  ['a row is inserted among those read', { 4: insert(150) }, QUIET + 2],
  ['a row is inserted among those to be read', { 3: insert(300) }, QUIET],
  ['a row is inserted at the tail', { 3: insert(-1) }, QUIET],
  ['a row is deleted at the head', { 3: remove(0) }, QUIET + 1],
  ['a row is deleted among those read', { 3: remove(120) }, QUIET + 1],
  ['the row last read is deleted', { 3: remove(198) }, QUIET + 1],
  ['the row to be read next is deleted', { 3: remove(199) }, QUIET],
  ['a row is deleted among those to be read', { 3: remove(300) }, QUIET],
  ['a row is deleted at the tail', { 3: remove(ROWS - 1) }, QUIET],
  [
    'an old row goes and a new one comes, so that the total stays',
    { 3: both(remove(3), insert(-1)) },
    QUIET + 1,
  ],
  ['a row is deleted before every page', removals(2, 3, 4, 5, 6), QUIET + 1],
  ['many rows are deleted among those read', { 4: remove(10, 250) }, 7],
  ['the dataset shrinks below the place of the walk', { 4: remove(30, 320) }, 6],
  ['the dataset becomes empty', { 3: remove(0, ROWS) }, 4],
  ['an unread row moves to the head', { 3: move(300, 0) }, QUIET],
  ['a row already read moves to the head', { 3: move(150, 0) }, QUIET],
  ['a row already read moves to the tail', { 3: move(20, ROWS - 1) }, QUIET + 1, { repeat: 1 }],
  ['more rows are inserted at the head than a page holds', { 3: insert(0, 130) }, QUIET + 2],
  [
    'rows keep coming in where the beginning is read again',
    { 5: insert(40, 60), 6: insert(140, 60), 7: insert(240, 60) },
    QUIET + 2,
    { 'restless-head': 1, unseen: 2 },
  ],
  ['an unread row moves in among those read', { 3: move(300, 110) }, QUIET + 1],
  [
    'an unread row moves in among those read, and another comes in at the head before it is read again',
    { 3: move(300, 150), 5: insert(0) },
    QUIET + 2,
  ],
  ['a row comes in at the tail before the head is read again', { 5: insert(-1) }, QUIET, { unseen: 1 }],
  [
    'an unread row moves in before the row last read',
    { 3: move(300, 198) },
    QUIET + 2,
    { disorder: 1, unfound: 1 },
  ],
  [
    'an unread row moves to the head, and then so many come in among those read that the last one moves off its page',
    { 3: bump(300), 4: both(hide, insert(150, 120)), 6: insert(0) },
    QUIET + 3,
    { 'restless-head': 1 },
  ],
  ['the order is turned round', { 3: turnRound }, 7],
  ['the order is shuffled', { 3: shuffle }, 7, { repeat: 2 }],
  ['all rows are replaced', { 3: replaceAll }, 10],
  ['a row read before is changed', { 3: change(5, { headline: 'corrected' }) }, QUIET],
];

describe('a walk without generatedAt, while', () => {
  it.each(cases)('%s', async (_, edits, calls, { unseen = 0, ...anomalies } = {}) => {
    const bench = await setup({ rows: ROWS });
    editBefore(bench, 'news', edits);
    const walk = await bench.mirror('news');
    const verdict = Object.keys(anomalies).length > 0 ? 'union' : 'verified';
    expect(walk).toMatchObject({ status: 'complete', verdict, apiCalls: calls });
    expect(JSON.parse(walk.anomalies)).toEqual(anomalies);
    expect(calls).toBeLessThanOrEqual(mostCalls(ROWS));
    expect(missingKeys(bench, 'news')).toHaveLength(unseen);
    await expectConvergence(bench, 'news');
  });
});

it('the evidence for a verdict stands beside it in walks', async () => {
  const bench = await setup({ rows: ROWS });
  editBefore(bench, 'news', { 3: remove(120), 6: both(remove(4), insert(0, 2)) });
  await bench.mirror('news');
  editBefore(bench, 'ai-signals', { 2: publish('2026-01-02T03:04:05Z'), 4: insert(0) });
  await bench.mirror('ai-signals');
  const evidence = bench.sql(
    `SELECT verdict, pages, api_calls, rows, distinct_keys, total_first, total, generated_at, restarts, steps_back,
       anomalies, error FROM walks`,
  );
  expect(evidence.map((row) => Object.values(row))).toEqual([
    ['verified', 6, 6, 362, 362, 360, 360, null, 0, 1, '{}', null],
    [
      ...['union', 6, 6, 360, 360, 360, 361, '2026-01-02T03:04:05Z', 1, 0],
      ...['{"repeat":1,"total":1}', 'the dataset changed: repeat ×1, total ×1'],
    ],
  ]);
});

describe('behind a complete walk', () => {
  it.each<[string, Record<number, Edit>, number]>([
    [
      'a row that comes in among those read is known to be new, since no other came further down',
      { 4: insert(150) },
      QUIET,
    ],
    [
      'an old row that moves up unseen is looked for while a new one comes further down',
      { 3: both(insert(320), bump(300)), 5: hide },
      QUIET + 1,
    ],
    [
      'an old row that moves up unseen is looked for while new ones come in among those read, and at the head',
      { 3: both(insert(150), bump(300)), 5: both(hide, insert(0)) },
      QUIET + 2,
    ],
    [
      'an old row that moves up unseen is looked for while a new one comes at the head after the last page',
      { 3: bump(300), 5: both(hide, insert(0)) },
      QUIET + 1,
    ],
  ])('%s, and no proof lacks a row', async (_, edits, calls) => {
    const bench = await setup({ rows: ROWS, walked: ['news'] });
    editBefore(bench, 'news', edits);
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', apiCalls: calls });
    expect(bench.sql('SELECT * FROM news WHERE _held_since IS NOT NULL')).toEqual([]);
  });
});

it('a walk is no proof where an unread row moved in far from the head: the total shows that it lacks one', async () => {
  const bench = await setup({ rows: 1_000 });
  editBefore(bench, 'news', { 7: move(900, 450) });
  const union = { verdict: 'union', error: 'the dataset changed: total ×1', apiCalls: 12 + 2 };
  expect(await bench.mirror('news')).toMatchObject(union);
  expect(missingKeys(bench, 'news')).toHaveLength(1);
  expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', inserted: 1 });
});

it.each([
  [
    'news',
    'verified',
    [
      [0, 1],
      [1, 1],
      [100, 1],
      [101, 3],
      [199, 3],
      [200, 4],
      [1_000, 12],
    ],
  ],
  [
    'ai-signals',
    'snapshot',
    [
      [0, 1],
      [1, 1],
      [100, 1],
      [101, 2],
      [1_000, 10],
    ],
  ],
] as const)('a walk over %s that do not change takes as few calls as it may', async (job, verdict, sizes) => {
  const bench = await setup({ rows: 0 });
  const upstream = bench.upstream(job);
  for (const [rows, apiCalls] of sizes) {
    bench.clear();
    upstream.rows = upstream.make(rows);
    expect(await bench.mirror(job)).toMatchObject({ verdict, apiCalls, rows });
    expect(mirroredRows(bench, job)).toEqual(upstreamRows(bench, job));
  }
});
