/** Redis in every trouble that can be made: runs wait, the log stays quiet, and all goes on by itself. */

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'bullmq';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Outage } from '../../src/queue.ts';
import { diagnose } from '../../src/redis.ts';
import { gate } from '../helpers/gate.ts';
import { freePort } from '../helpers/loopback.ts';
import { HOUR, redisServer, running, type Server, start, until } from './setup.ts';

const prefix = 'market-mirror';

const config = (server: Server, name: string, value: string) => server.client.config('SET', name, value);

type Trouble = { make(server: Server): Promise<unknown>; mend(server: Server): Promise<unknown> };

const troubles: Record<string, Trouble> = {
  OOM: {
    make: (server) => config(server, 'maxmemory', '1'),
    mend: (server) => config(server, 'maxmemory', '0'),
  },
  READONLY: {
    make: async (server) => server.client.replicaof('127.0.0.1', await freePort()),
    mend: (server) => server.client.replicaof('NO', 'ONE'),
  },
  MISCONF: {
    // A folder in place of its file keeps Redis from saving, also where root runs it.
    async make(server) {
      mkdirSync(join(server.dir, 'dump.rdb', 'full'), { recursive: true });
      await config(server, 'save', '3600 1');
      await server.client.bgsave();
      await until('the save to fail', async () =>
        /rdb_last_bgsave_status:err/.test(await server.client.info('persistence')),
      );
    },
    mend: async (server) => {
      rmSync(join(server.dir, 'dump.rdb'), { recursive: true });
      await server.client.bgsave();
    },
  },
  NOPERM: {
    make: (server) => server.client.call('ACL', 'SETUSER', 'default', '-eval', '-evalsha'),
    mend: (server) => server.client.call('ACL', 'SETUSER', 'default', '+@all'),
  },
  NOREPLICAS: {
    make: (server) => config(server, 'min-replicas-to-write', '1'),
    mend: (server) => config(server, 'min-replicas-to-write', '0'),
  },
  silent: {
    make: async (server) => server.signal('SIGSTOP'),
    mend: async (server) => server.signal('SIGCONT'),
  },
};

async function commandsOf(server: Server): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await server.client.info('stats'))?.[1]);
}

test('each trouble is one line when it begins and one when it ends, with little asked meanwhile; then runs go on', async () => {
  await Promise.all(Object.entries(troubles).map(([code, trouble]) => passes(code, trouble)));
});

async function passes(code: string, { make, mend }: Trouble): Promise<void> {
  const isSilent = code === 'silent';
  // Each trial waits for an answer.
  const several = isSilent ? 2 : 4;
  const told: (Outage | null)[] = [];
  const errors = () => told.at(-1)?.errors ?? 0;
  const { server, runs, isAlive, lines } = await running({
    schedules: { news: { every: 50 } },
    onOutage: (outage) => void told.push(outage && { ...outage }),
    // So long that no busy machine is silent.
    timing: { look: 50, answer: isSilent ? 2_000 : 10_000 },
  });
  await until(`a run before ${code}`, () => runs.length > 0);
  await make(server);
  await until(`${code} to be told`, () => told.at(-1)?.code === code);
  await until(`several trials in ${code}`, () => errors() >= several);
  expect(isAlive()).toBe(true);
  const [before, asked, tried] = [runs.length, isSilent ? 0 : await commandsOf(server), errors()];
  await until(`more trials in ${code}`, () => errors() >= tried + several);
  if (!isSilent) expect((await commandsOf(server)) - asked).toBeLessThan(30);
  expect(runs).toHaveLength(before);

  await mend(server);
  await until(`the end of ${code}`, () => told.at(-1) === null);
  await until(`runs to go on after ${code}`, () => runs.length >= before + 2);
  const said = lines.filter(({ level }) => level >= 30);
  expect(said.map(({ msg, reason }) => [msg.replace(/:.*/, ''), reason])).toEqual([
    [expect.stringMatching(/, so runs wait$/), code],
    ['Redis is back', code],
  ]);
  expect(said.at(-1)?.errors).toBeGreaterThanOrEqual(4);
  expect(JSON.stringify(told)).not.toContain('undefined');
}

test('scripts that Redis has forgotten are no trouble', async () => {
  const { server, runs, lines } = await running({ schedules: { news: { every: 30 } } });
  await until('a run', () => runs.length > 0);
  for (let times = 0; times < 3; times++) {
    const before = runs.length;
    await server.client.script('FLUSH');
    await until('runs to go on', () => runs.length > before + 2);
  }
  expect(lines).toEqual([]);
});

test('trouble that begins and ends again and again is one line in the time that is to be quiet', async () => {
  const told: (Outage | null)[] = [];
  const { server, lines } = await running({
    schedules: { news: { every: 20 } },
    onOutage: (outage) => void told.push(outage),
    // Longer than a busy machine takes for what follows.
    timing: { quiet: 600_000 },
  });
  for (let times = 0; times < 4; times++) {
    await config(server, 'maxmemory', '1');
    await until('an outage', () => told.at(-1)?.code === 'OOM');
    await config(server, 'maxmemory', '0');
    await until('its end', () => told.at(-1) === null);
  }
  expect(lines).toHaveLength(1);
});

const newsIn = (runs: readonly string[]) => runs.filter((job) => job === 'news').length;

test('a run that ends while Redis takes no word of it is not repeated, and the next may begin', async () => {
  const page = gate();
  const told: (Outage | null)[] = [];
  const { server, runs, runNow } = await running({
    schedules: { news: { every: HOUR }, usage: { every: 20 } },
    run: async (job) => (job === 'news' ? await page.passed : undefined),
    onOutage: (outage) => void told.push(outage),
  });
  runNow('news');
  await until('the run', () => newsIn(runs) === 1);
  await config(server, 'maxmemory', '1');
  await until('an outage', () => told.at(-1)?.code === 'OOM');
  page.open();
  await until('trials', () => (told.at(-1)?.errors ?? 0) > 3);
  await config(server, 'maxmemory', '0');
  await until('its end', () => told.at(-1) === null);
  // Redis may have taken no word at all: then another worker hands the job back, once its lock has run out.
  const other = new Worker('wakes', null, { connection: { url: server.url }, prefix, stalledInterval: 20 });
  onTestFinished(() => other.close());
  await other.startStalledCheckTimer();
  await until('the job to be over', async () => {
    await server.client.del(`${prefix}:wakes:stalled-check`, ...(await server.client.keys('*:lock')));
    return (await server.client.llen(`${prefix}:wakes:active`)) === 0;
  });
  expect(newsIn(runs)).toBe(1);
  runNow('news');
  await until('the next', () => newsIn(runs) === 2);
});

test('a run that ends after Redis handed its job back is no trouble, and is not repeated', async () => {
  const page = gate();
  const { server, runs, lines, runNow } = await running({ run: () => page.passed });
  runNow('news');
  await until('the run', () => runs.length === 1);
  // As it is after a silence: what had been sent comes late, to a job that is waiting again.
  const [active, wait] = [`${prefix}:wakes:active`, `${prefix}:wakes:wait`];
  expect(await server.client.call('LMOVE', active, wait, 'RIGHT', 'LEFT')).not.toBeNull();
  const scripts = async () => /cmdstat_evalsha:calls=\d+/.exec(await server.client.info('commandstats'))?.[0];
  const before = await scripts();
  page.open();
  await until('the late word', async () => (await scripts()) !== before);
  // The worker sleeps until something is marked.
  await server.client.zadd(`${prefix}:wakes:marker`, 0, '0');
  await until('the job to be over', async () => {
    const left = [await server.client.llen(active), await server.client.llen(wait)];
    return left.every((length) => length === 0);
  });
  expect(runs).toHaveLength(1);
  expect(lines).toEqual([]);
});

describe('TLS', () => {
  test('where Redis speaks none stops the start at once, and says what to write', async () => {
    const server = await redisServer();
    const began = Date.now();
    await expect(
      start({ redis: { url: server.url.replace('redis:', 'rediss:') }, run: async () => {} }),
    ).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringMatching(
        /^REDIS_URL: 127\.0\.0\.1:\d+\/0: Redis speaks no TLS: write redis:\/\/ instead of rediss:\/\//,
      ),
    });
    // A greeting is awaited for six seconds.
    expect(Date.now() - began).toBeLessThan(5_500);
  });

  test('where Redis speaks nothing else stops the start at once, and says what to write', async () => {
    const server = await redisServer({ tls: true });
    await expect(start({ redis: { url: server.url }, run: async () => {} })).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining('Redis speaks TLS only: write rediss:// instead of redis://'),
    });
  });
});

test.each([
  ['NOSCRIPT No matching script. Please use EVAL.', 'NOSCRIPT'],
  ['LOADING Redis is loading the dataset in memory', 'LOADING'],
  ['BUSY Redis is busy running a script.', 'BUSY'],
  [
    'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
    'READONLY',
  ],
  ['MASTERDOWN Link with MASTER is down', 'MASTERDOWN'],
  ['MOVED 3999 127.0.0.1:6381', 'CLUSTER'],
  ["ERR unknown command 'evalsha'", 'unsupported'],
  [
    "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.",
    'OOM',
  ],
  ['Invalid time value', 'other'],
])('%s is %s', (message, code) => {
  expect(diagnose(new Error(message))).toMatchObject({ code });
});
