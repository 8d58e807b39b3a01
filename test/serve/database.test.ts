import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openServeDatabase, serveFile } from '../../src/serve/access/database.ts';
import { openKeyring } from '../../src/serve/access/keyring.ts';
import { Database } from '../../src/store/sqlite.ts';
import { startCli } from '../helpers/cli.ts';
import { memoryFolder } from '../helpers/folder.ts';
import { setupKeys } from './support.ts';

const failure = (kind: string, message: RegExp) =>
  expect.objectContaining({ kind, message: expect.stringMatching(message) });

test('the database and its log are for this user alone, in a folder that is made for it', () => {
  const dir = join(memoryFolder(), 'data');
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  const database = openServeDatabase(dir);
  const modes = ['', 'serve.db', 'serve.db-wal', 'serve.db-shm'].map(
    (name) => statSync(join(dir, name)).mode & 0o777,
  );
  expect(modes).toEqual([0o700, 0o600, 0o600, 0o600]);
  database.close();
  chmodSync(serveFile(dir), 0o644);
  openServeDatabase(dir).close();
  expect(statSync(serveFile(dir)).mode & 0o777).toBe(0o600);
});

test('a database that was begun and left empty, as by a crash, is gone on with', () => {
  const dir = memoryFolder();
  closeSync(openSync(serveFile(dir), 'w'));
  const { create, keyring } = setupKeys(dir);
  create();
  expect(keyring.list()).toHaveLength(1);
});

test('a database of another version, of something else, what is none, or a link to one, is left alone: 78 and 74', () => {
  const folderWith = (make: (file: string) => void) => {
    const dir = memoryFolder();
    make(serveFile(dir));
    return dir;
  };
  const version = (number: number) =>
    folderWith((file) => {
      openKeyring(dirname(file)).close();
      const database = new Database(file);
      database.pragma(`user_version = ${number}`);
      database.close();
    });
  const songs = folderWith((file) => new Database(file).exec('CREATE TABLE songs (name TEXT)').close());
  for (const [dir, kind, message] of [
    [version(99), 'config', /serve\.db: written by a newer market-mirror .*upgrade/],
    [version(3), 'config', /serve\.db: written by an older market-mirror .*create its keys anew/],
    [songs, 'disk', /is not the database of serve: move it away/],
    [
      folderWith((file) => writeFileSync(file, 'no database at all, but long '.repeat(50))),
      ...(['disk', /is not a database: move it away/] as const),
    ],
    [
      folderWith((file) => symlinkSync(serveFile(memoryFolder()), file)),
      ...(['disk', /is a symbolic link/] as const),
    ],
  ] as const)
    expect(() => openKeyring(dir)).toThrow(failure(kind, message));
  expect(new Database(serveFile(songs)).prepare('SELECT count(*) FROM songs').pluck().get()).toBe(0);
});

test('a damaged database says so: 74', () => {
  const { dir, keyring, create } = setupKeys();
  create();
  keyring.close();
  const file = openSync(serveFile(dir), 'r+');
  writeSync(file, Buffer.alloc(statSync(serveFile(dir)).size - 4_096, 7), 0, undefined, 4_096);
  closeSync(file);
  expect(() => openKeyring(dir).list()).toThrow(failure('disk', /the database is damaged: restore a backup/));
});

test('on a full disk no key is given that would not be kept: 74, and what was there is whole', async () => {
  const { dir, keyring, create } = setupKeys();
  create();
  const environment = { MIRROR_DIR: dir };
  const cramped = (...args: string[]) =>
    startCli(['keys', ...args], environment, dir, `trap '' XFSZ; ulimit -f 0;`).ended;
  const { code, stdout, stderr } = await cramped('create', '--name', 'other');
  expect([code, stdout]).toEqual([74, '']);
  expect(stderr).toMatch(/^market-mirror: [^\n]*serve\.db: [^\n]*full, over quota or broken[^\n]*\n$/);
  expect(keyring.list()).toHaveLength(1);
  expect(existsSync(serveFile(dir))).toBe(true);
});
