/** The life of a row, made of its versions. */

import { describe, expect, test } from 'vitest';
import type { PageCell } from '../../../../src/serve/page/wire.ts';
import { Database } from '../../../../src/store/sqlite.ts';
import { type Life, lifeOf, lifeSql } from '../../../../web/views/row/life.ts';

const times = ['2026-11-20T00:00:00.000Z', '2026-11-21T00:00:00.000Z', '2026-11-22T00:00:00.000Z'] as const;
const names = [
  '_valid_from',
  '_valid_to',
  '_ended_by',
  '_walk_id',
  '_first_seen_at',
  'request_id',
  'closed_by',
  'versions',
  '_body',
];

/** As the database answers: the latest first. */
function life(rows: PageCell[][], at: string | null = null): Life {
  return lifeOf({ columns: names.map((name) => ({ name, type: null })), rows: rows.toReversed() }, at);
}

const first: PageCell[] = [times[0], times[1], 'update', 1, times[0], 'r-1', null, 2, '{"price":10}'];
const second: PageCell[] = [times[1], null, null, 2, times[0], 'r-2', null, 2, '{"price":11}'];
const removed: PageCell[] = [times[1], times[2], 'delete', 2, times[0], 'r-2', 7, 2, '{"price":11}'];

/** Without the others of its key. */
const alone = (row: PageCell[]) => row.with(7, 1);

describe('the life of a row', () => {
  test('each version tells what it changed, and the walk and the call that brought it', () => {
    const { state, versions } = life([first, second]);
    expect(state).toBe('there');
    expect(versions.map(({ number, came, walkId, requestId }) => [number, came, walkId, requestId])).toEqual([
      [1, 'first', 1, 'r-1'],
      [2, 'changed', 2, 'r-2'],
    ]);
    expect(versions[1]?.changes.map(({ place }) => place)).toEqual(['price']);
  });

  test('of a row that is gone, the walk that proved it is told', () => {
    const { state, versions } = life([first, removed]);
    expect(state).toBe('removed');
    expect(versions.at(-1)?.closedBy).toBe(7);
  });

  test('a row that came back says so', () => {
    const again: PageCell[] = [times[2], null, null, 9, times[2], null, null, 2, '{"price":12}'];
    const { versions } = life([first, removed, again]);
    expect(versions.at(-1)?.came).toBe('returned');
  });

  test('where earlier versions were dropped, the oldest is not called the first', () => {
    expect(life([alone(second)]).versions[0]?.came).toBe('oldest');
  });

  test('where there are more versions than were read, each has its number, and no moment before them is denied', () => {
    const read = [first, second].map((row) => row.with(7, 205));
    expect(life(read).versions.map(({ number, came }) => [number, came])).toEqual([
      [204, 'cut'],
      [205, 'changed'],
    ]);
    expect(life(read, '2026-11-19T00:00:00.000Z')).toMatchObject({ state: 'cut', versions: [], all: 205 });
    expect(life([first, second], '2026-11-19T00:00:00.000Z').state).toBe('not yet');
  });

  test('there is no life of a key that nobody knows', () => {
    expect(life([])).toMatchObject({ state: 'unknown', versions: [], later: 0 });
  });
});

test('truth values are words, also in the copy of a row', () => {
  const columns = [...names.slice(0, -1), 'allowed', 'tags'].map((name) => ({ name, type: null }));
  const row: PageCell[] = [...first.slice(0, -1), 1, '["x"]'];
  const { versions } = lifeOf({ columns, rows: [row] }, null, new Set(['allowed']));
  expect(versions[0]?.leaves.get('allowed')).toEqual({ kind: 'literal', text: 'true' });
  expect(JSON.parse(versions[0]?.json ?? '')).toEqual({ allowed: true, tags: ['x'] });
});

describe('at a moment of the past', () => {
  test('what differs from now is told', () => {
    expect(life([first, second], '2026-11-20T12:00:00.000Z').toNow?.map(({ place }) => place)).toEqual([
      'price',
    ]);
    expect(life([first, removed], '2026-11-20T12:00:00.000Z').toNow).toBeNull();
    expect(life([first, second]).toNow).toBeNull();
  });

  test('what came or ended later is not shown as if it were known', () => {
    const { state, versions, later } = life([first, removed], '2026-11-20T12:00:00.000Z');
    expect({ state, later }).toEqual({ state: 'there', later: 1 });
    expect(versions).toMatchObject([{ to: null, endedBy: null }]);
  });

  test('a removal that comes later has not happened', () => {
    const { state, versions } = life([first, removed], '2026-11-21T12:00:00.000Z');
    expect(state).toBe('there');
    expect(versions.at(-1)).toMatchObject({ to: null, endedBy: null, closedBy: null });
  });

  test('a row that came later was not there yet', () => {
    expect(life([first, removed], '2026-11-19T00:00:00.000Z')).toMatchObject({
      state: 'not yet',
      firstSeenAt: times[0],
      later: 2,
    });
  });

  test('a version holds until just before the next', () => {
    const { versions } = life([first, second], times[1]);
    expect(versions.map(({ to }) => to)).toEqual([times[1], null]);
  });
});

test('the call that brought a version is the last one before it was saved, also where the next began at once', () => {
  const db = new Database(':memory:');
  db.exec(`CREATE TABLE news (_key TEXT, _body TEXT, _changed_at TEXT, _first_seen_at TEXT, _walk_id INTEGER);
    CREATE TABLE walks (id INTEGER PRIMARY KEY, job TEXT, kind TEXT, started_at TEXT, first_seq INTEGER, last_seq INTEGER);
    CREATE TABLE requests (id INTEGER PRIMARY KEY, at TEXT, walk_id INTEGER, status INTEGER, request_id TEXT);
    INSERT INTO news VALUES ('k', '{}', '2026-11-20T00:00:02.000Z', '2026-11-20T00:00:02.000Z', 5);
    INSERT INTO walks VALUES (5, 'news', 'walk', '2026-11-20T00:00:00.000Z', NULL, NULL);
    INSERT INTO requests (at, walk_id, status, request_id) VALUES
      ('2026-11-20T00:00:00.000Z', 5, 200, 'first page'), ('2026-11-20T00:00:01.000Z', 5, 200, 'its page'),
      ('2026-11-20T00:00:01.500Z', 5, 429, 'refused'), ('2026-11-20T00:00:01.700Z', 6, 200, 'of another walk'),
      ('2026-11-20T00:00:02.000Z', 5, 200, 'next page')`);
  const { sql, params } = lifeSql('news', null, ['_body'], 'k');
  const [row] = db.prepare<[typeof params], Record<string, unknown>>(sql).all(params);
  expect(row).toMatchObject({ request_id: 'its page', _valid_to: null, closed_by: null });
});

test('a removed version was closed by the walk among whose changes its end is, of that dataset', () => {
  const db = new Database(':memory:');
  const end = Date.parse('2026-11-20T00:00:02.000Z');
  db.exec(`CREATE TABLE smart_wallets (_key TEXT, _body TEXT, _changed_at TEXT, _first_seen_at TEXT, _walk_id INTEGER);
    CREATE TABLE smart_wallets_history (_key TEXT, _body TEXT, _first_seen_at TEXT, _walk_id INTEGER, _valid_from TEXT, _valid_to TEXT, _ended_by TEXT);
    CREATE TABLE walks (id INTEGER PRIMARY KEY, job TEXT, kind TEXT, started_at TEXT, first_seq INTEGER, last_seq INTEGER);
    CREATE TABLE requests (id INTEGER PRIMARY KEY, at TEXT, walk_id INTEGER, status INTEGER, request_id TEXT);
    INSERT INTO smart_wallets_history VALUES ('k', '{}', '', 5, '2026-11-20T00:00:00.000Z', '2026-11-20T00:00:02.000Z', 'delete');
    INSERT INTO walks VALUES (6, 'news', 'walk', '', ${end - 1}, ${end + 1}), (7, 'smart-wallets', 'glance', '', ${end - 1}, ${end + 1}),
      (8, 'smart-wallets', 'walk', '', ${end - 1_000}, ${end + 2}), (9, 'smart-wallets', 'walk', '', ${end + 3}, ${end + 4})`);
  const { sql, params } = lifeSql('smart_wallets', 'smart_wallets_history', ['_body'], 'k');
  expect(db.prepare<[typeof params]>(sql).all(params)).toMatchObject([{ _ended_by: 'delete', closed_by: 8 }]);
});

test('a row without a body is its columns, with the JSON in them taken apart', () => {
  const columns = [...names.slice(0, 8), 'price', 'codes', 'note'].map((name) => ({ name, type: null }));
  const row: PageCell[] = [...first.slice(0, 8), { integer: '9007199254740993' }, '["A"]', '[sic] a text'];
  const [version] = lifeOf({ columns, rows: [row] }, null).versions;
  expect([...(version?.leaves ?? [])].map(([place, { text }]) => [place, text])).toEqual([
    ['price', '9007199254740993'],
    ['codes[0]', 'A'],
    ['note', '[sic] a text'],
  ]);
});

test('what has a column of its own is told by that alone, not again by the object that it is part of', () => {
  const columns = [...names.slice(0, 8), 'dual_ai_analyst', 'dual_ai_final_score', 'dual_ai'].map((name) => ({
    name,
    type: null,
  }));
  const versionOf = (...own: PageCell[]) =>
    lifeOf({ columns, rows: [[...first.slice(0, 8), ...own]] }, null).versions[0]?.leaves ?? new Map();
  const told = (...own: PageCell[]) => [...versionOf(...own)].map(([place, { text }]) => [place, text]);
  expect(told('BUY', 0.5, '{"analyst":"BUY","finalScore":0.50,"more":{"depth":3}}')).toEqual([
    ['dual_ai_analyst', 'BUY'],
    ['dual_ai_final_score', '0.5'],
    ['dual_ai', '{…}'],
    ['dual_ai.more.depth', '3'],
  ]);
  // Where the two differ, both are told.
  expect(told('BUY', null, '{"analyst":"SELL"}')).toContainEqual(['dual_ai.analyst', 'SELL']);
  expect(told(null, null, null)).toContainEqual(['dual_ai', 'null']);
});
