import { expect, test } from 'vitest';
import { openReadOnly } from '../../../src/store/connection.ts';
import { openStoredRows } from '../../../src/store/walk/stored-rows.ts';
import { setup } from '../../helpers/setup.ts';

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
  return { rows, textOf, stored: openStoredRows(connection, bench.job('news'), () => 1), connection };
}

test('rows that lie one after the other are found at once, numbers that are free between them or not', async () => {
  const { rows, textOf, stored, connection } = await setupRows();
  const run = stored.run(1, 4, textOf(0));
  expect(run?.rows.map(({ rowid, key }) => [rowid, key])).toEqual(
    rows.slice(0, 4).map(({ rowid, _key }) => [rowid, _key]),
  );
  expect(run?.rows.map(({ rowid }) => rowid)).toEqual([1, 2, 5, 6]);
  expect(run?.rows.map((row) => row.body())).toEqual(rows.slice(0, 4).map(({ _body }) => _body));
  expect(run?.bytes).toBe(textOf(0, 4).length - 2);
  expect(stored.run(5, 100, textOf(2))?.rows).toHaveLength(4);
  expect(stored.run(3, 2, textOf(2))?.rows.map(({ rowid }) => rowid)).toEqual([5, 6]);
  expect(stored.run(1, 4, textOf(1))).toBeUndefined();
  expect(stored.run(9, 4, textOf(0))).toBeUndefined();
  connection.close();
});

test('the row that a text begins with is told by its number', async () => {
  const { textOf, stored, connection } = await setupRows();
  expect([1, 2, 3, 99].map((rowid) => stored.isFirstOf(textOf(1), rowid))).toEqual([
    false,
    true,
    false,
    false,
  ]);
  connection.close();
});
