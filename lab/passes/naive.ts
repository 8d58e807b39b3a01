/**
 * The script that one writes first: fetch, and an upsert by Drizzle of every row, each a statement and a commit of its own.
 * `naive.js <url> <folder>`
 */

import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { sqliteTable, text } from 'drizzle-orm/sqlite-core';
import job from '../../jobs/ai-signals.ts';

const [url = '', folder = ''] = process.argv.slice(2);
const names = job.columns;
const columns = Object.fromEntries(names.map((name) => [name, text()]));
const table = sqliteTable('ai_signals', { _key: text().primaryKey(), ...columns });
const sqlite = new Database(`${folder}/naive.db`);
sqlite.exec(`CREATE TABLE IF NOT EXISTS ai_signals (_key TEXT PRIMARY KEY, ${names})`);
const db = drizzle(sqlite);

let rows = 0;
for (let hasMore = true; hasMore; ) {
  const answer = await fetch(`${url}${job.path}?offset=${rows}&limit=100`);
  const page = (await answer.json()) as { rows: never[]; pagination: { hasMore: boolean } };
  for (const row of page.rows) {
    const values = job.contract?.columns(row) as Record<string, unknown>;
    db.insert(table)
      .values({ ...values, _key: values['id'] } as never)
      .onConflictDoUpdate({ target: table._key, set: values as never })
      .run();
  }
  rows += page.rows.length;
  hasMore = page.pagination.hasMore;
}
sqlite.close();
process.stdout.write(JSON.stringify({ rows }));
