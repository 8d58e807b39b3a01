import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyDatabase, sealCopy } from '../../src/store/backup.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import { setup } from '../helpers/setup.ts';

test('a copy is of the moment it began at, row numbers and all, and keeps no writer from its work', async () => {
  const bench = await setup({ rows: 400, walked: ['ai-signals'] });
  bench.tamper(
    `DELETE FROM _ai_signals_rows WHERE rowid % 3 = 0; UPDATE _ai_signals_rows SET regime = 'before'`,
  );
  const rows = 'SELECT rowid AS number, * FROM _ai_signals_rows ORDER BY rowid';
  const before = bench.sql(rows);
  const copy = join(bench.dir, 'copy.db');
  writeFileSync(copy, '');

  let written = 0;
  let copying = true;
  const copied = copyDatabase(bench.store.file, copy, new AbortController().signal, 20).finally(() => {
    copying = false;
  });
  for (; copying && written < 500; written++) {
    bench.tamper(`UPDATE _ai_signals_rows SET regime = 'later ${written}'`);
    await new Promise(setImmediate);
  }
  await copied;
  sealCopy(bench.store.file, copy);

  expect(written).toBeGreaterThan(3);
  const connection = openReadOnly(copy);
  expect(connection.prepare(rows).all()).toEqual(before);
  expect(connection.pragma('page_count', { simple: true })).toBeGreaterThan(60);
  connection.close();
});
