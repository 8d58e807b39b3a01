/** The fields that a change made others, as the database tells them. */

import { expect, test } from 'vitest';
import type { PageCell, Schema } from '../../../../src/serve/page/wire.ts';
import { Database } from '../../../../src/store/sqlite.ts';
import { differencesOf, versionsSql } from '../../../../web/views/changes/changes-sql.ts';

const AT = '2026-11-22T12:00:00.000Z';

/** What changed of a row, as `field: before → after`. */
function changed(isSpecified: boolean, before: Record<string, string>, after: Record<string, string>) {
  const columns = Object.keys(before);
  const named = columns.map((column) => `"${column}"`).join(', ');
  const db = new Database(':memory:');
  db.exec(`CREATE TABLE news (_key, _changed_at, ${named});
    CREATE TABLE news_history (_key, _valid_from, _valid_to, _ended_by, ${named})`);
  const marks = columns.map(() => '?').join(', ');
  db.prepare(`INSERT INTO news VALUES ('k', '${AT}', ${marks})`).run(...Object.values(after));
  db.prepare(`INSERT INTO news_history VALUES ('k', '', '${AT}', 'update', ${marks})`).run(
    ...Object.values(before),
  );
  const job = { name: 'news', table: 'news', history: 'news_history', isSpecified, volatile: [], shown: [] };
  const declared = columns.map((name) => ({ name, type: 'text' }));
  const tables = [{ name: 'news', kind: 'dataset' as const, columns: declared }];
  const schema: Schema = { jobs: [job], tables, historyFrom: {} };
  const question = versionsSql([{ job: 'news', key: 'k', at: AT }], schema);
  const rows = db
    .prepare<[Record<string, string>], PageCell[]>(question?.sql ?? '')
    .raw()
    .all((question?.params ?? {}) as Record<string, string>);
  // As the service cuts a cell.
  expect(JSON.stringify(rows).length).toBeLessThan(1_000_000);
  const { changes = [], isCut } = differencesOf(rows, schema).get(`news ${AT} k`) ?? {};
  return { changes: changes.map((one) => [one.place, one.before?.text, one.after?.text]), isCut };
}

test('a version is told value by value, those within a body, too', () => {
  expect(changed(true, { title: 'a', note: 'x' }, { title: 'b', note: 'x' })).toEqual({
    ...{ changes: [['title', 'a', 'b']], isCut: false },
  });
  expect(changed(false, { _body: '{"a":1,"b":{"c":2}}' }, { _body: '{"a":1,"b":{"c":3}}' })).toEqual({
    ...{ changes: [['b.c', '2', '3']], isCut: false },
  });
});

test('values longer than a cell of an answer are told by their beginning and length', () => {
  const [long, longer] = ['ü'.repeat(700_000), 'ü'.repeat(700_001)];
  const beginning = 'ü'.repeat(300);
  const [before, after] = [`${beginning}… (1400000 bytes)`, `${beginning}… (1400002 bytes)`];
  expect(changed(true, { title: 'a', note: long }, { title: 'b', note: longer })).toEqual({
    ...{
      changes: [
        ['title', 'a', 'b'],
        ['note', before, after],
      ],
      isCut: true,
    },
  });
  // One of both alone, with a long value beside it that is the same.
  const beside = 'ü'.repeat(600);
  expect(changed(true, { note: 'short', other: beside }, { note: long, other: beside })).toEqual({
    ...{ changes: [['note', 'short', before]], isCut: true },
  });
  expect(changed(false, { _body: `{"a":"${long}"}` }, { _body: `{"a":"${longer}"}` }).isCut).toBe(true);
  // What differs behind the beginning alone is not shown, but said.
  expect(changed(true, { note: `${long}a` }, { note: `${long}b` })).toEqual({ changes: [], isCut: true });
});
