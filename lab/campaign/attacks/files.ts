/** Attacks on the database and the disk that it is on. */

import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { exitCodes } from '../../../src/base/errors.ts';
import type { Restored } from '../../../src/commands/restore.ts';
import { Database } from '../../../src/store/sqlite.ts';
import type { Attack, End } from '../attacks.ts';

const lock = (name: string, about: string, lasts: Attack['lasts']): Attack => ({
  name,
  about,
  lasts,
  kills: true,
  begin: ({ database }) => holdLock(database),
});

export const fileAttacks: readonly Attack[] = [
  {
    name: 'full-disk',
    about: 'the disk is filled to the last byte, and freed later',
    lasts: [1_000, 5_000],
    kills: true,
    impossible: ({ disk }) => disk.cannotBeFilled,
    async begin({ disk }) {
      disk.fill();
      return disk.free;
    },
  },
  lock('write-lock', 'another program holds the write lock of the database', [1_000, 8_000]),
  {
    name: 'long-read',
    about: 'a reader keeps a transaction open, so that the write-ahead log cannot be emptied',
    lasts: [3_000, 8_000],
    kills: true,
    async begin({ database }) {
      const reader = new Database(database, { readonly: true });
      reader.exec('BEGIN');
      reader.prepare('SELECT count(*) FROM walks').get();
      return () => void reader.close();
    },
  },
  {
    name: 'restore',
    about: 'a backup made beside the daemon is put in place of the database by `restore`, and gone on with',
    lasts: [2_000, 4_000],
    kills: false,
    async begin({ scratch, cli, daemon, serve }) {
      const folder = join(scratch, 'backup');
      mkdirSync(folder);
      const backup = join(folder, 'mirror.db');
      const run = async (...args: string[]) => {
        const { code, stdout, stderr } = await cli(...args);
        assert.ok(code === exitCodes.done, `${args[0]} ended with ${code}: ${stderr.slice(-300)}`);
        return stdout;
      };
      await run('backup', backup);
      // What comes until then is lost with the database, and comes again.
      await delay(2_000);
      await Promise.all([daemon.end(), serve.end()]);
      const { kept } = JSON.parse(await run('restore', backup, '--json')) as Restored;
      if (kept) rmSync(kept, { recursive: true });
      rmSync(folder, { recursive: true });
      daemon.start();
      serve.start();
      return () => undefined;
    },
  },
];

async function holdLock(file: string): Promise<End> {
  const other = new Database(file, { timeout: 0 });
  for (let tries = 0; ; tries += 1)
    try {
      other.exec('BEGIN IMMEDIATE');
      return () => void other.close();
    } catch (thrown) {
      if (tries > 2_000) throw thrown;
      await delay(5);
    }
}
