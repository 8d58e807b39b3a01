/** Attacks on the database and the disk that it is on. */

import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { exitCodes } from '../../../src/base/errors.ts';
import { Database } from '../../../src/store/sqlite.ts';
import type { Attack, End } from '../attacks.ts';
import type { World } from '../world.ts';

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
  lock('write-lock-45s', 'the same for 45 seconds', [45_000, 45_000]),
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
    about: 'a backup made beside the daemon is put in place of the database, and gone on with',
    lasts: [2_000, 4_000],
    kills: false,
    async begin(world, _random, consumer) {
      const backup = join(world.scratch, 'backup.db');
      const { code, stderr } = await world.cli('backup', backup, '--force');
      assert.ok(code === exitCodes.done, `a backup beside the daemon is made: ${stderr.slice(-300)}`);
      // What comes until then is lost with the database, and comes again.
      await delay(2_000);
      await world.daemon.end();
      for (const file of databaseFiles(world)) rmSync(join(world.mirrorDir, file));
      copyFileSync(backup, world.database);
      rmSync(backup);
      consumer.startOver();
      world.daemon.start();
      return () => undefined;
    },
  },
  {
    name: 'file-gone',
    about: 'the database is moved away under the daemon, which has to notice, and comes back',
    lasts: [0, 0],
    kills: false,
    begin: takeAway,
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

const databaseFiles = ({ mirrorDir }: World) =>
  readdirSync(mirrorDir).filter((name) => /^mirror\.db(-wal|-shm)?$/.test(name));

async function takeAway(world: World): Promise<End> {
  const { daemon, mirrorDir } = world;
  await daemon.walked(10_000);
  const pid = daemon.pid();
  const before = daemon.ends.get(`exit ${exitCodes.disk}`) ?? 0;
  const taken = databaseFiles(world);
  for (const file of taken) renameSync(join(mirrorDir, file), join(mirrorDir, `${file}.away`));
  for (let waited = 0; waited < 20_000 && daemon.pid() === pid; waited += 50) await delay(50);
  const noticed = (daemon.ends.get(`exit ${exitCodes.disk}`) ?? 0) > before;
  // A service manager would not start it again.
  await daemon.end();
  const made = databaseFiles(world);
  for (const file of taken) renameSync(join(mirrorDir, `${file}.away`), join(mirrorDir, file));
  daemon.start();
  return () => {
    assert.ok(noticed, 'a daemon whose database is gone ends with 74');
    assert.ok(made.length === 0, `nothing is made in place of a database that is gone, but ${made}`);
  };
}
