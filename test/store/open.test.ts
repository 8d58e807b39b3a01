import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Failure } from '../../src/base/errors.ts';
import { loadJobs } from '../../src/job/load.ts';
import { openConnection, openReadOnly } from '../../src/store/connection.ts';
import { storeFailure } from '../../src/store/failure.ts';
import { Database } from '../../src/store/sqlite.ts';
import { openStore } from '../../src/store.ts';
import { nodeOfSources, sourceAddress } from '../helpers/sources.ts';

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'mm-open-'));
  onTestFinished(() => {
    chmodSync(dir, 0o700);
    rmSync(dir, { recursive: true, force: true });
  });
  return dir;
}

async function open(dir: string) {
  return openStore(dir, await loadJobs(), () => 0);
}

/** Root may write anywhere, unless it is denied that. It stays root, since another user may not even read the program. */
const withoutPrivilege =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'] : [];

test('every open sets the same pragmas, also on a file that exists', () => {
  const file = join(folder(), 'mirror.db');
  for (let opened = 0; opened < 2; opened += 1) {
    const connection = openConnection(file);
    const value = (name: string) => connection.pragma(name, { simple: true });
    expect(value('journal_mode')).toBe('wal');
    expect(value('synchronous')).toBe(2);
    expect(value('foreign_keys')).toBe(1);
    expect(value('trusted_schema')).toBe(0);
    connection.close();
  }
});

test('a connection for reading cannot write, nor trust what a schema calls', () => {
  const file = join(folder(), 'mirror.db');
  openConnection(file).close();
  const reader = openReadOnly(file);
  const values = ['query_only', 'trusted_schema'].map((name) => reader.pragma(name, { simple: true }));
  reader.close();
  expect(values).toEqual([1, 0]);
});

test('a pragma that SQLite does not take is a failure', () => {
  expect(() => openConnection(':memory:')).toThrow('SQLite did not take journal_mode = wal (it is memory)');
});

test('a folder that cannot be made is a failure of the disk, in one line', async () => {
  const dir = folder();
  writeFileSync(join(dir, 'file'), '');
  const thrown = await open(join(dir, 'file', 'below')).catch((error: unknown) => error);
  expect(thrown).toMatchObject({ kind: 'disk', message: expect.stringMatching(/^[^\n]*below[^\n]*$/) });
});

test('a database that may only be read is a failure of the disk, and stays as it is', async () => {
  const dir = folder();
  (await open(dir)).close();
  chmodSync(join(dir, 'mirror.db'), 0o444);
  chmodSync(dir, 0o555);
  const address = (file: string) => JSON.stringify(sourceAddress(file));
  const script = `
    import { loadJobs } from ${address('job/load.ts')};
    import { openStore } from ${address('store.ts')};
    try { openStore(${JSON.stringify(dir)}, await loadJobs(), () => 0); }
    catch (error) { process.stdout.write(error.kind + ' ' + error.message); }`;
  const [program = '', ...args] = [...withoutPrivilege, process.execPath, ...nodeOfSources, '-e', script];
  const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^disk .*mirror\.db/);
});

test.each([
  ['SQLITE_READONLY_DBMOVED', 'disk'],
  ['SQLITE_CORRUPT', 'disk'],
  ['SQLITE_BUSY_SNAPSHOT', 'incomplete'],
])('%s is told as %s', (code, kind) => {
  const told = storeFailure(new Database.SqliteError('no', code), '/data/mirror.db');
  expect(told).toBeInstanceOf(Failure);
  expect(told).toMatchObject({ kind, message: expect.stringContaining('/data/mirror.db') });
});

test('a damaged database is told, never made anew', async () => {
  const dir = folder();
  mkdirSync(dir, { recursive: true });
  const garbage = Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(8_192, 7)]);
  writeFileSync(join(dir, 'mirror.db'), garbage);
  const thrown = await open(dir).catch((error: unknown) => error);
  expect(thrown).toMatchObject({ kind: 'disk' });
});
