/** A mirror without rows, and without a name, which whoever opens it first gives it. */

import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Database } from '../../src/store/sqlite.ts';
import { openStore } from '../../src/store.ts';
import { cached } from './cached.ts';
import { memory, removeFolder } from './folder.ts';
import { loadJobs } from './jobs.ts';

/** Lays it where nothing is: to make all tables, views and triggers takes far longer than to copy them. */
export async function layEmptyMirror(dir: string): Promise<void> {
  const database = await emptyMirror();
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  writeFileSync(join(dir, 'mirror.db'), database, { mode: 0o600 });
}

const emptyMirror = cached(async (): Promise<Buffer> => {
  const dir = mkdtempSync(join(memory, 'mirror-empty-'));
  const { file, close } = openStore(dir, await loadJobs(), () => 0);
  close();
  const database = new Database(file);
  database.exec('DELETE FROM _identity');
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
  const content = readFileSync(file);
  removeFolder(dir);
  return content;
});
