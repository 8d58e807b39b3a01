/** The daemon: what it does, whom it keeps off, and what becomes of it when it cannot start, is killed, or loses its Redis. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { daemonHere } from '../helpers/daemon.ts';
import { CANARY, get, redisServers, setup } from '../helpers/daemon-bench.ts';
import { temporaryFolder } from '../helpers/folder.ts';

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

test('mirrors every dataset, goes on by schedule, keeps others off its folder, and ends cleanly on SIGTERM', async () => {
  const systemd = standInForSystemd();
  const schedule = { MIRROR_SCHEDULE_AI_SIGNALS: 'every 1s' };
  const { start, run, status, complete, model, cwd } = await setup({}, { ...schedule, ...systemd.settings });
  const daemon = start();
  await expect.poll(complete).toBe(5);
  const calls = () => model.callsTo('/api/v1/ai-signals').length;
  await expect.poll(calls).toBeGreaterThanOrEqual(3);
  const second = await run('start');
  expect(second.code).toBe(75);
  expect(second.stderr).toContain(`process ${daemon.child.pid}`);
  expect(daemon.child.exitCode).toBeNull();

  expect(await get(join(cwd, 'data/http.sock'), '/status')).toMatchObject({
    code: 200,
    body: { version: 1, exitCode: 0 },
  });

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
