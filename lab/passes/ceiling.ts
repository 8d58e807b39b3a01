/**
 * The least that any mirror must do, as bare as it can be: fetch, JSON.parse, a prepared upsert of every row, one
 * transaction a page. No validation, no checkpoint, no record of calls.
 */

import { getTableColumns } from 'drizzle-orm';
import { Pool } from 'undici';
import job, { table } from '../../jobs/ai-signals.ts';
import { Database } from '../../src/store/db/sqlite.ts';

type Page = { rows: never[]; pagination: { returned: number; hasMore: boolean } };

export async function ceiling(url: string, file: string): Promise<number> {
  const db = new Database(file);
  db.pragma('journal_mode = wal');
  db.pragma('synchronous = full');
  const names = Object.keys(getTableColumns(table)).filter(
    (name) => !name.startsWith('_') && name !== 'extra',
  );
  db.exec(`CREATE TABLE IF NOT EXISTS ai_signals (_key TEXT PRIMARY KEY, ${names.join(', ')})`);
  const upsert = db.prepare(
    `INSERT INTO ai_signals (_key, ${names}) VALUES (?, ${names.map(() => '?')})
     ON CONFLICT (_key) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`)}
     WHERE (${names.map((name) => `ai_signals.${name}`)}) IS NOT (${names.map((name) => `excluded.${name}`)})`,
  );
  const { contract } = job;
  if (!contract) throw new Error('the job has no contract');
  const save = db.transaction((rows: never[]) => {
    for (const row of rows) {
      const columns = contract.columns(row) as Record<string, unknown>;
      upsert.run([contract.key(row), ...names.map((name) => columns[name])]);
    }
  });
  const pool = new Pool(url);
  let rows = 0;
  for (let more = true; more; ) {
    const { body } = await pool.request({ path: `${job.path}?offset=${rows}&limit=100`, method: 'GET' });
    const page = JSON.parse(await body.text()) as Page;
    save.immediate(page.rows);
    rows += page.pagination.returned;
    more = page.pagination.hasMore;
  }
  await pool.close();
  db.close();
  return rows;
}
