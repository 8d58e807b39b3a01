/** The daemon: what it does, whom it keeps off, and what becomes of it when it cannot start, is killed, or loses its Redis. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Database } from '../../src/store/sqlite.ts';
import { cliFile } from '../helpers/cli.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { CANARY, get, redisServers, setup } from '../helpers/daemon-bench.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { listenOnLoopback } from '../helpers/loopback.ts';

/** A program in place of `systemd-notify`, which notes what it is told, and whether the daemon answers by then. */
function standInForSystemd() {
  const folder = temporaryFolder('mm-systemd-');
  const notes = join(folder, 'notes');
  const script = `#!/bin/sh\n[ -S data/http.sock ] && state=answering\necho "$1 $state" >> '${notes}'\n`;
  writeFileSync(join(folder, 'systemd-notify'), script, { mode: 0o755 });
  return {
    settings: {
      PATH: `${folder}:${process.env['PATH']}`,
      NOTIFY_SOCKET: join(folder, 'socket'),
      WATCHDOG_USEC: '1000000',
    },
    told: () => readFileSync(notes, 'utf8').trim().split('\n'),
  };
}

test('mirrors every dataset, goes on by schedule, keeps others off its folder and its Redis off all ports, and ends cleanly on SIGTERM', async () => {
  const systemd = standInForSystemd();
  const schedule = { MIRROR_SCHEDULE_AI_SIGNALS: 'every 1s' };
  const { start, run, status, complete, model, cwd } = await setup({}, { ...schedule, ...systemd.settings });
  const daemon = start();
  await expect.poll(complete).toBe(5);
  const calls = () => model.callsTo('/api/v1/ai-signals').length;
  await expect.poll(calls).toBeGreaterThanOrEqual(4);
  const second = await run('start');
  expect(second.code).toBe(75);
  expect(second.stderr).toContain(`process ${daemon.child.pid}`);
  expect(daemon.child.exitCode).toBeNull();

  expect(await get(join(cwd, 'data/http.sock'), '/status')).toMatchObject({
    code: 200,
    body: { version: 1, exitCode: 0 },
  });

  const socket = (readdirSync(join(cwd, 'data'), { recursive: true }) as string[])
    .map((name) => join(cwd, 'data', name))
    .find((name) => name.includes('redis') && statSync(name).isSocket());
  const redis = new Redis({ path: socket ?? '' });
  redis.on('error', () => undefined);
  onTestFinished(() => redis.disconnect());
  const value = async (name: string) => Object.values((await redis.config('GET', name)) as object).at(-1);
  expect(await value('port')).toBe('0');
  expect(await value('appendonly')).toBe('no');
  expect(await value('maxmemory-policy')).toBe('noeviction');

  const pid = daemon.child.pid as number;
  const others = { serve: null, ship: null, lake: null };
  expect((await status()).status.daemon).toEqual({ pid, queue: null, ...others });

  const began = Date.now();
  daemon.child.kill('SIGTERM');
  const { code, stdout, stderr } = await daemon.ended;
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  expect(Date.now() - began).toBeLessThan(20_000);
  expect(redisServers(cwd)).toEqual([]);
  expect(stdout).toBe('');
  for (const line of stderr.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
  const told = systemd.told();
  expect(told[0]).toBe('READY=1 answering');
  expect(new Set(told.slice(1))).toEqual(new Set(['WATCHDOG=1 answering', 'STOPPING=1 answering']));
});

test('kill -9 of the daemon takes its Redis along, and the next start goes on where it was', async () => {
  const { start, status, complete, cwd, model, file } = await setup({ rows: 450, latencyMs: 20 });
  const daemon = start();
  await expect.poll(() => model.calls.length).toBeGreaterThanOrEqual(8);
  daemon.child.kill('SIGKILL');
  await daemon.ended;
  await expect.poll(() => redisServers(cwd)).toEqual([]);
  expect((await status()).status.daemon).toBeNull();
  start();
  await expect.poll(complete).toBe(5);
  const db = new Database(file, { readonly: true });
  expect(db.prepare('SELECT count(*) AS rows FROM ai_signals').get()).toEqual({ rows: 450 });
  // Two walks of one job never ran at once, so the calls are those of one walk each and a few repeated.
  expect(model.calls.length).toBeLessThanOrEqual(5 + 3 * 6 + 1 + 10);
  db.close();
});

test('a sync beside the daemon is safe; a key that is refused stops all calls, and the daemon stays up; nothing secret ever went to its Redis', async () => {
  const settings = { MIRROR_SCHEDULE_AI_SIGNALS: 'every 1s' };
  const { environment, run, complete, model, cwd } = await setup({ rows: 450 }, settings);
  const { lines } = daemonHere({ ...environment, MIRROR_DIR: join(cwd, 'data') });
  await expect.poll(() => model.calls.length).toBeGreaterThanOrEqual(1);
  expect([0, 75]).toContain((await run('sync')).code);
  await expect.poll(complete).toBe(5);
  const offsets = model.callsTo('/api/v1/news').map(({ query }) => Number(query['offset']));
  // A second walk beside the first would ask for pages of it again.
  for (const walk of offsets.join(' ').split(/\b(?=0\b)/)) {
    const asked = walk.trim().split(' ').map(Number);
    expect(asked).toEqual(asked.toSorted((one, other) => one - other));
  }
  for (const key of model.keys) key.active = false;
  await expect
    .poll(() => lines.map(({ err }) => err))
    .toContainEqual(expect.stringContaining('refused the key'));
  const refused = () => model.calls.filter(({ status }) => status === 401).length;
  expect(refused()).toBeLessThanOrEqual(5);
  expect(JSON.stringify(lines)).not.toContain(CANARY);
  const redis = new Redis({ path: join(cwd, 'data/redis/redis.sock') });
  onTestFinished(() => redis.disconnect());
  for (const key of await redis.keys('*'))
    expect((await redis.dumpBuffer(key))?.includes(CANARY) ?? false).toBe(false);
});

test('a folder in place of its socket, which a start makes late, ends it with 74, and leaves nothing behind', async () => {
  const { run, cwd } = await setup();
  mkdirSync(join(cwd, 'data/http.sock'), { recursive: true });
  const { code, stderr } = await run('start');
  const last = stderr.trim().split('\n').at(-1);
  expect([code, last]).toEqual([74, expect.stringMatching(/^market-mirror: .*data.*\bmove .*away/)]);
  expect(redisServers(cwd)).toEqual([]);
});

describe('to be ended', () => {
  test('while Redis does not answer ends a daemon at once', async () => {
    let connected = 0;
    const mute = createServer(() => {
      connected += 1;
    });
    const { port, close } = await listenOnLoopback(mute);
    onTestFinished(close);
    const { environment, cwd } = await setup({}, { REDIS_URL: `redis://127.0.0.1:${port}` });
    const { lines, stop } = daemonHere({ ...environment, MIRROR_DIR: join(cwd, 'data') });
    await expect.poll(() => connected).toBeGreaterThan(0);
    await expect.poll(() => lines.some(({ msg }) => msg.startsWith('mirroring http'))).toBe(true);
    const began = Date.now();
    await stop();
    expect(Date.now() - began).toBeLessThan(8_000);
  });

  test('as soon as its Redis runs ends a daemon that starts, and takes its Redis along', async () => {
    const { start, cwd } = await setup();
    const daemon = start();
    await expect.poll(() => redisServers(cwd).length, { interval: 5 }).toBeGreaterThan(0);
    daemon.child.kill('SIGTERM');
    const { code, stderr } = await daemon.ended;
    expect(code, stderr).toBe(0);
    await expect.poll(() => redisServers(cwd)).toEqual([]);
  });
});

test('without a Redis on this machine it says in one line what to install', () => {
  const settings = { MARKET_API_URL: 'http://127.0.0.1:9', MARKET_API_KEY: CANARY, LOG_LEVEL: 'error' };
  const PATH = temporaryFolder('mm-path-');
  const options = { cwd: temporaryFolder(), env: { ...settings, PATH }, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [cliFile(), 'start'], options);
  expect([status, stdout]).toEqual([78, '']);
  expect(stderr).toMatch(
    /^market-mirror: found neither redis-server nor valkey-server on PATH: install [^\n]+\n$/,
  );
});
