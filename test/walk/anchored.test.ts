import { describe, expect, it } from 'vitest';
import { mostCalls } from '../../src/walk/anchored.ts';
import type { Anomaly } from '../../src/walk/checkpoint.ts';
import {
  both,
  bump,
  change,
  type Edit,
  insert,
  move,
  remove,
  replaceAll,
  shuffle,
  turnRound,
} from '../helpers/edits.ts';
import { openList } from '../helpers/list.ts';

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
    const list = openList('news', { rows: ROWS });
    const walked = await list.walk(edits);
    const verdict = Object.keys(anomalies).length > 0 ? 'union' : 'verified';
    expect(walked).toMatchObject({ verdict, stuck: undefined, calls });
    expect(walked.anomalies).toEqual(anomalies);
    expect(calls).toBeLessThanOrEqual(mostCalls(ROWS));
    expect(walked.missing).toHaveLength(unseen);
    await list.converge();
  });
});

describe('behind a complete walk', () => {
  it.each<[string, Record<number, Edit>, number]>([
    [
      'a row that comes in among those read is known to be new, since no other came further down',
      { 4: insert(150) },
      QUIET,
    ],
    [
      'a row that comes in among those read is known to be new, though an old one moved to the head',
      { 3: both(insert(150), bump(300)) },
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
    const list = openList('news', { rows: ROWS });
    await list.walk();
    expect(await list.walk(edits)).toMatchObject({ verdict: 'verified', calls, missed: [] });
  });
});

it('a walk is no proof where an unread row moved in far from the head: the total shows that it lacks one', async () => {
  const list = openList('news', { rows: 1_000 });
  const { missing, ...walked } = await list.walk({ 7: move(900, 450) });
  expect(walked).toMatchObject({ verdict: 'union', doubts: 'total ×1', calls: 12 + 2 });
  expect(missing).toHaveLength(1);
  await list.converge();
});

it.each([
  ...[0, 1, 100].map((rows) => ['news', rows, 1] as const),
  ...([
    ['news', 101, 3],
    ['news', 199, 3],
    ['news', 200, 4],
    ['news', 1_000, 12],
  ] as const),
  ...[0, 1, 100].map((rows) => ['ai-signals', rows, 1] as const),
  ...([
    ['ai-signals', 101, 2],
    ['ai-signals', 1_000, 10],
  ] as const),
])(
  'a walk over %s that does not change reads %i rows in as few calls as it may: %i',
  async (job, rows, calls) => {
    const verdict = job === 'news' ? 'verified' : 'snapshot';
    const walked = await openList(job, { rows }).walk();
    expect(walked).toMatchObject({ verdict, calls, missing: [] });
    expect(walked.received.size).toBe(rows);
  },
);
