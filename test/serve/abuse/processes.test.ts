/** The program itself, where its disk is full and its mirror is locked. */

import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDisk } from '../../../lab/campaign/world/disk.ts';
import { Database } from '../../../src/store/sqlite.ts';
import { startCli } from '../../helpers/cli.ts';
import { memoryFolder } from '../../helpers/folder.ts';
import { openBench } from '../../helpers/mirror-bench.ts';
import { getter } from '../client.ts';
import { limitsOf, setupKeys } from '../support.ts';
import { NEWS } from './support.ts';

const QUOTA = 1_000;

/** A mirror of some news in the folder, and a key for it. */
async function prepare(dir: string): Promise<string> {
  const bench = await openBench({ rows: 20, walked: ['news'] });
  new Database(join(bench.dir, 'mirror.db')).exec(`VACUUM INTO '${join(dir, 'mirror.db')}'`).close();
  await bench.close();
  const { keyring } = setupKeys(dir);
  const terms = { name: 'desk', account: 'desk', scopes: ['news:read'], addresses: null, expiresAt: null };
  return keyring.create(terms, limitsOf(`${QUOTA}/1h`), Date.now()).key;
}

async function startServe(dir: string) {
  const { child, ended, output } = startCli(['serve', '--port', '0'], { MIRROR_DIR: dir }, dir);
  const url = () => /"url":"([^"]+)"/.exec(output())?.[1];
  await expect.poll(url).toBeDefined();
  return { url: url() ?? '', output, child, ended };
}

test('a full disk beside the counters: calls go on, are told of once, and are written when there is room', async ({
  skip,
}) => {
  const folder = memoryFolder();
  const disk = openDisk(join(folder, 'disk'));
  onTestFinished(disk.remove);
  if (disk.cannotBeFilled) return skip(disk.cannotBeFilled);
  const key = await prepare(disk.folder);
  const { url, output, child, ended } = await startServe(disk.folder);
  const get = getter(url, key);
  expect((await get(NEWS)).status).toBe(200);
  disk.fill();
  const troubles = () =>
    output()
      .split('\n')
      .filter((line) => /disk is full/.test(line)).length;
  let calls = 1;
  const callOnce = async () => {
    calls += 1;
    const { status, headers } = await get(`${NEWS}?limit=1&offset=${calls}`);
    expect([status, headers['x-ratelimit-remaining']]).toEqual([200, String(QUOTA - calls)]);
  };
  await expect
    .poll(async () => {
      await callOnce();
      return troubles();
    })
    .toBe(1);
  for (let more = 0; more < 50; more += 1) await callOnce();
  expect(troubles()).toBe(1);

  disk.free();
  await expect.poll(() => counted(disk.folder)).toBe(calls);
  await callOnce();
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
  expect(counted(disk.folder)).toBe(calls);
  expect(output()).not.toContain(key.slice(6, 40));
});

/** Calls of the account, as they are written down. */
function counted(dir: string): number | undefined {
  const database = new Database(join(dir, 'serve.db'), { readonly: true });
  const used = database
    .prepare<[], number>("SELECT state ->> '$.quota.used' FROM counters WHERE account = 'desk'")
    .pluck()
    .get();
  database.close();
  return used;
}

test('a mirror that somebody locks for himself alone: 503 meanwhile, then pages', async () => {
  const folder = memoryFolder();
  const key = await prepare(folder);
  const other = new Database(join(folder, 'mirror.db'));
  other.pragma('journal_mode = wal');
  other.pragma('locking_mode = exclusive');
  other.exec('BEGIN EXCLUSIVE; DELETE FROM quarantine');
  const { url, output } = await startServe(folder);
  const get = getter(url, key);
  const { status, headers, json } = await get(NEWS);
  expect([status, json]).toMatchObject([503, { error: 'service_unavailable' }]);
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  expect(JSON.stringify(json)).not.toContain(folder);
  expect(output()).toContain('mirror.db');
  expect((await get('/readyz')).status).toBe(503);
  expect((await get('/healthz')).status).toBe(200);
  other.exec('ROLLBACK');
  other.close();
  await expect.poll(async () => (await get(NEWS)).status).toBe(200);
});
