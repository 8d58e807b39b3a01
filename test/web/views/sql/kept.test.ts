/** What is remembered of queries that were run. */

import { expect, onTestFinished, test, vi } from 'vitest';
import {
  changeKept,
  MAX_PAST,
  type PastQuery,
  readPast,
  readSavedFile,
  saved,
  savedFile,
  withoutQuery,
  withQuery,
  withSaved,
} from '../../../../web/views/sql/kept.ts';

const query = (sql: string, more: Partial<PastQuery> = {}): PastQuery => ({
  sql,
  params: {},
  ranAt: '2026-11-22T12:00:00.000Z',
  rows: 1,
  ...more,
});

test('the latest is first, and the same is kept once', () => {
  const past = [query('SELECT 1'), query('SELECT 2')];
  expect(withQuery(past, query(' SELECT 2\n', { rows: 7 })).map(({ sql, rows }) => [sql, rows])).toEqual([
    [' SELECT 2\n', 7],
    ['SELECT 1', 1],
  ]);
});

test('the same with other values is another', () => {
  const past = [query('SELECT :a', { params: { a: 1 } })];
  expect(withQuery(past, query('SELECT :a', { params: { a: 2 } }))).toHaveLength(2);
});

test('there are only so many, and only so long', () => {
  let past: PastQuery[] = [];
  for (let at = 0; at < MAX_PAST + 20; at += 1) past = withQuery(past, query(`SELECT ${at}`));
  expect(past).toHaveLength(MAX_PAST);
  expect(past.at(-1)?.sql).toBe('SELECT 20');
  const long = query(`SELECT '${'x'.repeat(300_000)}'`);
  expect(withQuery(past, long)).toEqual([long]);
});

test('one can be forgotten', () => {
  expect(withoutQuery([query('SELECT 1'), query('SELECT 2')], query('SELECT 1'))).toEqual([
    query('SELECT 2'),
  ]);
});

test('what was kept by somebody else harms nothing', () => {
  const good = query('SELECT 1', { params: { a: null, b: 'x', c: 1 } });
  const others = [
    null,
    1,
    'x',
    {},
    { ...good, params: [] },
    { ...good, params: { a: {} } },
    { ...good, rows: 'x' },
  ];
  expect(readPast([...others, good])).toEqual([good]);
  expect(readPast('x')).toEqual([]);
  expect(readPast(null)).toEqual([]);
});

test('saved queries go to another browser as a file; of two with one name the added one stays', () => {
  const mine = { name: 'By day', sql: 'SELECT :a', params: { a: 1 } };
  const other = { name: 'By asset', sql: 'SELECT 2', params: {} };
  const read = readSavedFile(savedFile([mine, other]));
  expect(read).toEqual([mine, other]);
  expect(withSaved([{ ...mine, sql: 'SELECT 9' }], read ?? [])).toEqual([other, mine]);
  for (const text of ['', '[]', '{}', '{"queries":5}', 'null']) expect(readSavedFile(text)).toBeNull();
  expect(readSavedFile('{"queries":[{"name":5,"sql":"x","params":{}},{"name":"x"},null]}')).toEqual([]);
});

test('what another tab has saved meanwhile stays', () => {
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, text: string) => kept.set(key, text),
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  const named = (name: string) => ({ name, sql: 'SELECT 1', params: {} });
  const save = (name: string) => changeKept(saved, [], (list) => withSaved(list, [named(name)]));
  expect(save('a')).toEqual([named('a')]);
  expect(save('b')).toEqual([named('a'), named('b')]);
  // Where nothing can be kept, what is shown is changed.
  vi.stubGlobal('localStorage', undefined);
  expect(changeKept(saved, [named('c')], (list) => [...list, named('d')])).toHaveLength(2);
});
