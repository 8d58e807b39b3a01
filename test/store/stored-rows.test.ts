import { expect, test } from 'vitest';
import { openReadOnly } from '../../src/store/connection.ts';
import { openStoredRows } from '../../src/store/rows.ts';
import { setup } from '../helpers/setup.ts';

async function setupRows() {
  const bench = await setup({ rows: 8 });
  await bench.mirror('news');
  // Numbers that are free: rows that are gone leave them behind.
  bench.tamper('DELETE FROM news_rows WHERE rowid IN (3, 4)');
  const connection = openReadOnly(bench.store.file);
  const rows = bench.sql<{ rowid: number; _key: string; _body: string }>(
    'SELECT rowid, _key, _body FROM news_rows ORDER BY rowid',
  );
  const textOf = (from: number, end?: number) =>
    Buffer.from(
      `${rows
        .slice(from, end)
        .map(({ _body }) => _body)
        .join()}]}`,
    );
  return { rows, textOf, find: openStoredRows(connection, bench.job('news'), () => 1), connection };
}

test('rows that lie one after the other are found at once, rowids that are free between them or not', async () => {
  const { rows, textOf, find, connection } = await setupRows();
  const run = find(1, 4, textOf(0));
  expect(run?.rows.map(({ key, stored }) => [stored?.rowid, key])).toEqual(
    rows.slice(0, 4).map(({ rowid, _key }) => [rowid, _key]),
  );
  expect(run?.rows.map(({ stored }) => stored?.rowid)).toEqual([1, 2, 5, 6]);
  expect(run?.rows.map(({ values }) => values['_body'])).toEqual(rows.slice(0, 4).map(({ _body }) => _body));
  expect(run?.bytes).toBe(textOf(0, 4).length - 2);
  expect(find(5, 100, textOf(2))?.rows).toHaveLength(4);
  connection.close();
});

test('they begin with the row of this rowid, or of the next', async () => {
  const { textOf, find, connection } = await setupRows();
  const firstOf = (last: number) => find(last, 2, textOf(1))?.rows[0]?.stored?.rowid;
  expect([1, 2, 3, 99].map(firstOf)).toEqual([2, 2, undefined, undefined]);
  connection.close();
});

test('they are none where one of them is another', async () => {
  const { textOf, find, connection } = await setupRows();
  expect(find(1, 4, Buffer.from(`${textOf(0, 2)}`.replace(']}', ',{"id":"x"}]}')))).toBeUndefined();
  expect(find(9, 4, textOf(0))).toBeUndefined();
  connection.close();
});
