/** A daemon that cannot start, is told to stop while it starts, or whose Redis takes no writes. */

import { mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, test } from 'vitest';
import { runCli } from '../helpers/cli.ts';
import { get, redisServers, releaseAll, releases, setup, within } from '../helpers/daemon-bench.ts';
import { listenOnLoopback } from '../helpers/loopback.ts';

afterEach(releaseAll);

describe('a start that fails late', () => {
  test.each(['queue.json.new', 'http.sock'])(
    'for a folder in place of %s ends with 74 and leaves nothing behind',
    async (name) => {
      const { start, cwd, complete } = await setup();
      mkdirSync(join(cwd, 'data', name), { recursive: true });
      const { code, stderr } = await start().ended;
      const last = stderr.trim().split('\n').at(-1);
      expect([code, last]).toEqual([
        74,
        expect.stringMatching(
          /^market-mirror: .*data.*: move(s)? .*away|^market-mirror: .*data.*move it away|^market-mirror: .*move away what lies there$/,
        ),
      ]);
      expect(redisServers(cwd)).toEqual([]);
      rmSync(join(cwd, 'data', name), { recursive: true });
      start();
      await expect.poll(complete, within).toBe(5);
    },
  );
});

describe('SIGTERM', () => {
  test('while a daemon waits for a Redis that does not answer ends it at once', async () => {
    let connected = 0;
    const mute = createServer(() => {
      connected += 1;
    });
    const { port, close } = await listenOnLoopback(mute);
    releases.push(close);
    const { start } = await setup({}, { REDIS_URL: `redis://127.0.0.1:${port}` });
    const daemon = start();
    await expect.poll(() => connected, within).toBeGreaterThan(0);
    const began = Date.now();
    daemon.child.kill('SIGTERM');
    const { code, stderr } = await daemon.ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(Date.now() - began).toBeLessThan(2_500);
  });

  test('at any moment of a start ends it, and takes its Redis along', async () => {
    const { start, cwd } = await setup();
    for (const ms of [300, 600, 900, 1_200]) {
      const daemon = start();
      await new Promise((resolve) => setTimeout(resolve, ms));
      daemon.child.kill('SIGTERM');
      const { code, stderr } = await daemon.ended;
      // Before there is a handler the signal itself ends it.
      expect([0, null], stderr).toContain(code);
      await expect.poll(() => redisServers(cwd), within).toEqual([]);
    }
  });
});

test('a queue that stands still is named by status, doctor and the health check until it goes on', async () => {
  const { start, complete, cwd, environment, model } = await setup(
    {},
    { MIRROR_SCHEDULE_AI_SIGNALS: 'every 1s' },
  );
  const daemon = start();
  await expect.poll(complete, within).toBe(5);
  const redis = new Redis({ path: join(cwd, 'data/redis/redis.sock') });
  redis.on('error', () => {});
  releases.push(() => redis.disconnect());
  const status = async () => {
    const { code, stdout } = await runCli(['status', '--json'], environment, cwd);
    return { code, status: JSON.parse(stdout) };
  };
  expect((await status()).status.daemon).toEqual({
    pid: daemon.child.pid,
    queue: null,
    account: null,
    serve: null,
    ship: null,
    lake: null,
  });

  await redis.config('SET', 'maxmemory', '1');
  await expect.poll(async () => (await status()).code, { ...within, interval: 200 }).toBe(75);
  const stuck = (await status()).status;
  expect(stuck.daemon.queue).toMatchObject({
    code: 'OOM',
    message: 'Redis is at its memory limit',
    since: expect.stringMatching(/Z$/),
    errors: expect.any(Number),
  });
  expect(stuck.problems[0]).toMatchObject({ code: 'queue-stuck', level: 'error', job: null, exitCode: 75 });
  expect((await get(join(cwd, 'data/http.sock'), '/health')).code).toBe(503);
  const doctor = await runCli(['doctor', '--offline'], environment, cwd);
  expect([doctor.code, doctor.stdout]).toEqual([
    75,
    expect.stringMatching(/queue.*no run begins since.*memory limit/),
  ]);
  expect(doctor.stdout).toMatch(/redis-live.*memory limit/);

  await redis.config('SET', 'maxmemory', '0');
  const before = model.callsTo('/api/v1/ai-signals').length;
  await expect.poll(() => model.callsTo('/api/v1/ai-signals').length, within).toBeGreaterThan(before + 1);
  await expect
    .poll(async () => (await status()).status.daemon.queue, { ...within, interval: 200 })
    .toBeNull();
  expect((await get(join(cwd, 'data/http.sock'), '/health')).code).toBe(200);

  await redis.config('SET', 'maxmemory', '1');
  await expect.poll(async () => (await status()).code, { ...within, interval: 200 }).toBe(75);
  daemon.child.kill('SIGKILL');
  await daemon.ended;
  expect((await status()).status).toMatchObject({ daemon: null, problems: [] });
});
