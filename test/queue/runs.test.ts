/** What becomes of a run, however it ends: it costs nobody else anything, and SQLite says when the next one is. */

import { Worker } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { Failure, Snooze } from '../../src/errors.ts';
import { gate, HOUR, redisServer, start, until, untilAborted, wakesIn } from './setup.ts';

const both = { news: { every: HOUR }, usage: { every: HOUR } } as const;

test('a run that waits keeps nobody else waiting, and is not woken by its schedule', async () => {
  const server = await redisServer();
  const ran: string[] = [];
  const queue = await start({
    redis: { url: server.url },
    schedules: { news: { every: 20 }, usage: { every: 40 } },
    async run(job) {
      ran.push(job);
      if (job === 'news') throw new Snooze(Date.now() + HOUR, 'quota');
    },
  });
  await until('runs of the other', () => ran.filter((job) => job === 'usage').length >= 5);
  expect(ran.filter((job) => job === 'news')).toEqual(['news']);
  expect(queue.said(/^waiting$/)).toMatchObject([{ job: 'news', reason: 'quota' }]);
});

test('a run that waited goes on at its time, not before, and then ends as any other', async () => {
  const server = await redisServer();
  const began: number[] = [];
  let resumeAt = 0;
  await start({
    redis: { url: server.url },
    lastRun: () => null,
    async run() {
      if (began.push(Date.now()) > 1) return;
      resumeAt = Date.now() + 300;
      throw new Snooze(resumeAt, 'quota');
    },
  });
  await until('it to go on', () => began.length === 2);
  expect(began[1]).toBeGreaterThanOrEqual(resumeAt);
});

test('a run that waits is woken though Redis has lost its wake', async () => {
  const server = await redisServer();
  const runs: number[] = [];
  const queue = await start({
    redis: { url: server.url },
    lastRun: () => null,
    timing: { restore: 100 },
    async run() {
      if (runs.push(Date.now()) === 1) throw new Snooze(Date.now() + 1_500, 'quota');
    },
  });
  await until('it to wait', () => queue.said(/^waiting$/).length === 1);
  await server.client.flushall();
  await until('it to go on', () => runs.length === 2);
});

test('what waited when the last process ended asks again at once: clock, quota or schedules may have changed', async () => {
  const server = await redisServer();
  const parts = { redis: { url: server.url }, lastRun: () => null };
  const former = await start({ ...parts, run: () => Promise.reject(new Snooze(Date.now() + HOUR, 'quota')) });
  await until('the run to wait', () => former.said(/^waiting$/).length === 1);
  await former.close();
  const asked = gate();
  await start({ ...parts, run: async () => asked.open() });
  await asked.passed;
});

test('a failed run is over at once, is left to its schedule, and is named in the log', async () => {
  const server = await redisServer();
  let times = 0;
  const queue = await start({
    redis: { url: server.url },
    lastRun: () => null,
    timing: { restore: 20 },
    async run() {
      times += 1;
      throw times === 1 ? new Failure('contract', 'news: rows is not an array') : new TypeError('oops');
    },
  });
  await until('the failure', () => queue.said(/^failed$/).length === 1);
  const wakes = wakesIn(server);
  await until('its next tick to lie far ahead', async () => {
    const { next = 0 } = (await wakes.getJobScheduler('news')) ?? {};
    return next > Date.now() + HOUR / 2;
  });
  expect(times).toBe(1);
  queue.runNow('news');
  await until('the bug', () => queue.said(/^failed$/).length === 2);
  expect(queue.said(/^failed$/)).toMatchObject([
    { job: 'news', reason: 'contract', err: 'news: rows is not an array' },
    { job: 'news', reason: 'bug', err: 'oops', stack: expect.stringContaining('TypeError') },
  ]);
});

test('a wake of what has no schedule is dropped and named in the log, and one too many runs nothing', async () => {
  const server = await redisServer();
  const ran: string[] = [];
  const queue = await start({
    redis: { url: server.url },
    schedules: { news: { every: HOUR }, usage: 'off' },
    run: async (job) => void ran.push(job),
  });
  const wakes = wakesIn(server);
  for (const name of ['news', 'usage', 'constructor', '../../etc/passwd', 'x'.repeat(5_000)])
    await wakes.add(name, { job: 'news' });
  await until('the refusals', () => queue.said(/dropped/).length === 4);
  await until('nothing to be left', async () => (await wakes.getJobCountByTypes('wait', 'active')) === 0);
  expect(ran).toEqual([]);
  const lengths = queue.said(/dropped/).map(({ job = '' }) => job.length);
  expect(lengths.sort((one, other) => one - other)).toEqual([5, 11, 16, 100]);
});

test('a run is stopped at its page boundary by close, and resumed at once by the next start', async () => {
  const server = await redisServer();
  const begun = gate();
  const parts = { redis: { url: server.url }, lastRun: () => null };
  const first = await start({
    ...parts,
    async run(_, signal) {
      begun.open();
      await untilAborted(signal);
    },
  });
  await begun.passed;
  const closedAt = Date.now();
  await first.close();
  expect(Date.now() - closedAt).toBeLessThan(5_000);
  expect(first.said(/failed|waiting/)).toEqual([]);
  const again = gate();
  await start({ ...parts, run: async () => again.open() });
  await again.passed;
});

test('a run that fails while it is being stopped has failed', async () => {
  const server = await redisServer();
  const begun = gate();
  const queue = await start({
    redis: { url: server.url },
    lastRun: () => null,
    async run(_, signal) {
      begun.open();
      await untilAborted(signal).catch(() => {
        throw new Failure('disk', 'the disk is full');
      });
    },
  });
  await begun.passed;
  await queue.close();
  expect(queue.said(/^failed$/)).toMatchObject([{ reason: 'disk', err: 'the disk is full' }]);
});

test('a run whose process was killed is resumed at once by the next start', async () => {
  const server = await redisServer();
  await wakesIn(server).add('news', {});
  const dead = new Worker('wakes', null, { connection: { url: server.url }, prefix: 'market-mirror' });
  onTestFinished(() => dead.close());
  await dead.getNextJob('a token of the dead');
  const resumed = gate();
  await start({ redis: { url: server.url }, lastRun: () => null, run: async () => resumed.open() });
  await resumed.passed;
});

test('a run of which Redis forgets everything goes on, is not begun twice, and the next follows it', async () => {
  const server = await redisServer();
  const page = gate();
  const [began, ended] = [[] as string[], [] as string[]];
  const queue = await start({
    redis: { url: server.url },
    schedules: both,
    lastRun: () => null,
    timing: { restore: 50 },
    async run(job) {
      began.push(job);
      await page.passed;
      ended.push(job);
    },
  });
  await until('both runs', () => began.length === 2);
  await server.client.flushall();
  for (const job of ['news', 'usage']) await wakesIn(server).add(job, {});
  await until('the wakes to go', async () => (await wakesIn(server).getWaitingCount()) === 0);
  expect(began).toHaveLength(2);
  page.open();
  await until('their ends', () => ended.length === 2);
  await until('the schedules', async () => (await wakesIn(server).getJobSchedulers()).length === 2);
  queue.runNow('news');
  await until('the next run', () => began.length === 3);
  expect(queue.lines).toEqual([]);
});
