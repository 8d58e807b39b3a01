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
import { mirroredRows, missingKeys, upstreamRows } from '../helpers/truth.ts';

const ROWS = 360;
/** Pages of 100 and then 99 new rows, and the look at the head. */
const QUIET = 5;

type Case = {
  /** Before which call of the walk upstream changes, and how. */
  edits: Record<number, Edit>;
  verdict: 'verified' | 'union';
  calls: number;
  anomalies?: Partial<Record<Anomaly, number>>;
  /** Rows upstream that this walk did not bring, since they came in behind it. */
  unseen?: number;
};

/** So many rows that were read move above the one at the head that a page of the head does not show it. */
const hide = both(...Array.from({ length: 110 }, (_, at) => bump(at + 1)));

const cases: Record<string, Case> = {
  'nothing changes': { edits: {}, verdict: 'verified', calls: QUIET },
  'a row is inserted at the head': { edits: { 3: insert(0) }, verdict: 'verified', calls: QUIET },
  'rows are inserted at the head before every page': {
    edits: { 2: insert(0, 3), 3: insert(0, 2), 4: insert(0) },
    verdict: 'verified',
    calls: QUIET,
  },
  'a row is inserted among those read': { edits: { 4: insert(150) }, verdict: 'verified', calls: QUIET + 2 },
  'a row is inserted among those to be read': {
    edits: { 3: insert(300) },
    verdict: 'verified',
    calls: QUIET,
  },
  'a row is inserted at the tail': { edits: { 3: insert(-1) }, verdict: 'verified', calls: QUIET },
  'a row is deleted at the head': { edits: { 3: remove(0) }, verdict: 'verified', calls: QUIET + 1 },
  'a row is deleted among those read': { edits: { 3: remove(120) }, verdict: 'verified', calls: QUIET + 1 },
  'the row last read is deleted': { edits: { 3: remove(198) }, verdict: 'verified', calls: QUIET + 1 },
  'the row to be read next is deleted': { edits: { 3: remove(199) }, verdict: 'verified', calls: QUIET },
  'a row is deleted among those to be read': { edits: { 3: remove(300) }, verdict: 'verified', calls: QUIET },
  'a row is deleted at the tail': { edits: { 3: remove(ROWS - 1) }, verdict: 'verified', calls: QUIET },
  'an old row goes and a new one comes, so that the total stays': {
    edits: { 3: both(remove(3), insert(-1)) },
    verdict: 'verified',
    calls: QUIET + 1,
  },
  'a row is deleted before every page': {
    edits: { 2: remove(0), 3: remove(0), 4: remove(0), 5: remove(0), 6: remove(0) },
    verdict: 'verified',
    calls: QUIET + 1,
  },
  'many rows are deleted among those read': { edits: { 4: remove(10, 250) }, verdict: 'verified', calls: 7 },
  'the dataset shrinks below the place of the walk': {
    edits: { 4: remove(30, 320) },
    verdict: 'verified',
    calls: 6,
  },
  'the dataset becomes empty': { edits: { 3: remove(0, ROWS) }, verdict: 'verified', calls: 4 },
  'an unread row moves to the head': { edits: { 3: move(300, 0) }, verdict: 'verified', calls: QUIET },
  'a row already read moves to the head': { edits: { 3: move(150, 0) }, verdict: 'verified', calls: QUIET },
  'a row already read moves to the tail': {
    edits: { 3: move(20, ROWS - 1) },
    verdict: 'union',
    calls: QUIET + 1,
    anomalies: { repeat: 1 },
  },
  'more rows are inserted at the head than a page holds': {
    edits: { 3: insert(0, 130) },
    verdict: 'verified',
    calls: QUIET + 2,
  },
  'rows keep coming in where the beginning is read again': {
    edits: { 5: insert(40, 60), 6: insert(140, 60), 7: insert(240, 60) },
    verdict: 'union',
    calls: QUIET + 2,
    anomalies: { 'restless-head': 1 },
    unseen: 2,
  },
  'an unread row moves in among those read': {
    edits: { 3: move(300, 110) },
    verdict: 'verified',
    calls: QUIET + 1,
  },
  'an unread row moves in before the row last read': {
    edits: { 3: move(300, 198) },
    verdict: 'union',
    calls: QUIET + 2,
    anomalies: { disorder: 1, unfound: 1 },
  },
  'an unread row moves to the head, and then so many come in among those read that the last one moves off its page':
    {
      edits: { 3: bump(300), 4: both(hide, insert(150, 120)), 6: insert(0) },
      verdict: 'union',
      calls: QUIET + 3,
      anomalies: { 'restless-head': 1 },
    },
  'the order is turned round': { edits: { 3: turnRound }, verdict: 'verified', calls: 7 },
  'the order is shuffled': { edits: { 3: shuffle }, verdict: 'union', calls: 7, anomalies: { repeat: 2 } },
  'all rows are replaced': { edits: { 3: replaceAll }, verdict: 'verified', calls: 10 },
  'a row read before is changed': {
    edits: { 3: change(5, { headline: 'corrected' }) },
    verdict: 'verified',
    calls: QUIET,
  },
};

describe('a walk without generatedAt, while', () => {
  it.each(Object.entries(cases))('%s', async (_, { edits, verdict, calls, anomalies = {}, unseen = 0 }) => {
    const bench = await setup({ rows: ROWS });
    editBefore(bench, 'news', edits);

    const walk = await bench.mirror('news');
    expect(walk).toMatchObject({ status: 'complete', verdict, apiCalls: calls });
    expect(JSON.parse(walk.anomalies)).toEqual(anomalies);
    expect(calls).toBeLessThanOrEqual(mostCalls(ROWS));
    expect(missingKeys(bench, 'news')).toHaveLength(unseen);

    bench.model.beforeAnswer = undefined;
    for (let quiet = 0; quiet < 4; quiet += 1)
      expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified' });
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
  });
});

describe('the evidence for a verdict', () => {
  it('stands beside it in walks', async () => {
    const bench = await setup({ rows: ROWS });
    editBefore(bench, 'news', { 3: remove(120), 6: both(remove(4), insert(0, 2)) });
    await bench.mirror('news');
    editBefore(bench, 'ai-signals', { 2: publish('2026-01-02T03:04:05Z'), 4: insert(0) });
    await bench.mirror('ai-signals');
    expect(
      bench.sql(
        `SELECT verdict, pages, api_calls, rows, distinct_keys, total_first, total, generated_at, restarts, steps_back,
           anomalies, error FROM walks`,
      ),
    ).toEqual([
      {
        ...{
          verdict: 'verified',
          pages: 6,
          api_calls: 6,
          rows: 362,
          distinct_keys: 362,
          total_first: 360,
          total: 360,
        },
        ...{ generated_at: null, restarts: 0, steps_back: 1, anomalies: '{}', error: null },
      },
      {
        ...{
          verdict: 'union',
          pages: 6,
          api_calls: 6,
          rows: 360,
          distinct_keys: 360,
          total_first: 360,
          total: 361,
        },
        ...{ generated_at: '2026-01-02T03:04:05Z', restarts: 1, steps_back: 0 },
        ...{ anomalies: '{"repeat":1,"total":1}', error: 'the dataset changed: repeat ×1, total ×1' },
      },
    ]);
  });
});

describe('behind a complete walk', () => {
  it('a row that comes in among those read is told to be new, since no other came further down', async () => {
    const bench = await setup({ rows: ROWS });
    await bench.mirror('news');
    editBefore(bench, 'news', { 4: insert(150) });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', apiCalls: QUIET });
  });

  it.each<[string, Record<number, Edit>, number]>([
    ['a new one comes further down', { 3: both(insert(320), bump(300)), 5: hide }, QUIET + 1],
    [
      'new ones come in among those read, and at the head',
      { 3: both(insert(150), bump(300)), 5: both(hide, insert(0)) },
      QUIET + 2,
    ],
    [
      'a new one comes at the head after the last page',
      { 3: bump(300), 5: both(hide, insert(0)) },
      QUIET + 1,
    ],
  ])(
    'an old row that moves up unseen while %s is looked for, and no proof lacks it',
    async (_, edits, calls) => {
      const bench = await setup({ rows: ROWS });
      await bench.mirror('news');
      editBefore(bench, 'news', edits);
      expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', apiCalls: calls });
      expect(bench.sql('SELECT * FROM news WHERE _held_since IS NOT NULL')).toEqual([]);
    },
  );
});

describe('a walk over 1,000 rows', () => {
  it('is no proof where an unread row moved in far from the head: the total tells that it lacks one', async () => {
    const bench = await setup({ rows: 1_000 });
    editBefore(bench, 'news', { 7: move(900, 450) });
    expect(await bench.mirror('news')).toMatchObject({
      verdict: 'union',
      error: 'the dataset changed: total ×1',
      apiCalls: 12 + 2,
    });
    expect(missingKeys(bench, 'news')).toHaveLength(1);
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', inserted: 1 });
  });
});

describe('a walk over', () => {
  it.each([
    [0, 1],
    [1, 1],
    [100, 1],
    [101, 3],
    [199, 3],
    [200, 4],
    [1_000, 12],
  ])('%i rows that do not change takes %i calls', async (rows, calls) => {
    const bench = await setup({ rows });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', apiCalls: calls, rows });
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
  });
});
