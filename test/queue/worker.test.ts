import { Queue, Worker } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { Failure, Snooze } from '../../src/errors.ts';
import { gate, redisServer, type Server, start, until, untilAborted } from './setup.ts';

const schedules = { news: 'off', usage: 'off' } as const;

function mirror(server: Server): Queue {
  const queue = new Queue('mirror', { connection: { url: server.url }, prefix: 'market-mirror' });
  queue.on('error', () => {});
  onTestFinished(() => queue.close());
  return queue;
}

test('a snoozed run costs no attempt, keeps nobody else waiting, and is not woken by its schedule', async () => {
  const server = await redisServer();
  const resumeAt = Date.now() + 3_600_000;
  const ran: string[] = [];
  const queue = await start({
    redis: { url: server.url },
    schedules: { news: { every: 20 }, usage: 'off' },
    async run(job) {
      ran.push(job);
      if (job === 'news') throw new Snooze(resumeAt, 'quota');
    },
  });
  const job = await until('the job to wait', async () => (await mirror(server).getDelayed())[0]);
  expect(job).toMatchObject({ name: 'news', attemptsMade: 0 });
  const ticks = new Queue('control', { connection: { url: server.url }, prefix: 'market-mirror' });
  onTestFinished(() => ticks.close());
  const next = async () => (await ticks.getJobScheduler('news'))?.next ?? 0;
  const first = await next();
  await until('five ticks', async () => (await next()) >= first + 5 * 20);
  await queue.runNow('usage');
  await until('the other run', () => ran.includes('usage'));
  expect(ran).toEqual(['news', 'usage']);
  expect(queue.said(/^waiting$/)).toEqual([
    expect.objectContaining({ job: 'news', until: new Date(resumeAt).toISOString(), reason: 'quota' }),
  ]);
});

test('a snoozed run goes on at its time, not before, and then ends as any other', async () => {
  const server = await redisServer();
  const begun: number[] = [];
  let resumeAt = 0;
  const queue = await start({
    redis: { url: server.url },
    schedules,
    async run() {
      if (begun.push(Date.now()) > 1) return;
      resumeAt = Date.now() + 300;
      throw new Snooze(resumeAt, 'quota');
    },
  });
  await queue.runNow('news');
  await until('an end', async () => (await mirror(server).getCompletedCount()) === 1);
  expect(begun).toHaveLength(2);
  expect(begun[1]).toBeGreaterThanOrEqual(resumeAt);
});

test('what waited when the last process ended asks again at once: clock, quota or schedules may have changed', async () => {
  const server = await redisServer();
  const redis = { url: server.url };
  const former = await start({
    redis,
    schedules: { news: { every: 86_400_000 } },
    run: () => Promise.reject(new Snooze(Date.now() + 86_400_000, 'quota')),
  });
  await until('the run to wait', async () => (await mirror(server).getDelayedCount()) === 1);
  await former.close();
  const asked = gate();
  await start({ redis, schedules: { news: { every: 86_400_000 } }, run: async () => asked.open() });
  await asked.passed;
});

test('a failed run is over at once, whatever the job says, and the next one is free to start', async () => {
  const server = await redisServer();
  let times = 0;
  const queue = await start({
    redis: { url: server.url },
    schedules,
    async run() {
      times += 1;
      throw times === 1 ? new Failure('contract', 'news: rows is not an array') : new TypeError('oops');
    },
  });
  await mirror(server).add('news', {}, { attempts: 5 });
  await until('the failure', async () => (await mirror(server).getFailedCount()) === 1);
  await queue.runNow('news');
  await until('the bug', async () => (await mirror(server).getFailedCount()) === 2);
  expect(times).toBe(2);
  expect(queue.said(/^failed$/)).toMatchObject([
    { job: 'news', reason: 'contract', err: 'news: rows is not an array' },
    { job: 'news', reason: 'bug', err: 'oops', stack: expect.stringContaining('TypeError') },
  ]);
});

test('a job that no file declares is refused, dropped and named in the log', async () => {
  const server = await redisServer();
  const ran: string[] = [];
  const queue = await start({
    redis: { url: server.url },
    schedules,
    run: async (job) => void ran.push(job),
  });
  for (const name of ['constructor', 'news ', 'x'.repeat(5_000)])
    await mirror(server).add(name, { job: 'news' });
  await until('three refusals', () => queue.said(/dropped a job/).length === 3);
  expect(ran).toEqual([]);
  expect(queue.said(/dropped a job/).map(({ job }) => job?.length)).toEqual([11, 5, 100]);
});

test('a run is stopped at its page boundary by close, and resumed at once by the next start', async () => {
  const server = await redisServer();
  const begun = gate();
  const first = await start({
    redis: { url: server.url },
    schedules,
    async run(_, signal) {
      begun.open();
      await untilAborted(signal);
    },
  });
  await first.runNow('news');
  await begun.passed;
  const asked = Date.now();
  await first.close();
  expect(Date.now() - asked).toBeLessThan(5_000);
  expect(await mirror(server).getJobs(['wait'])).toMatchObject([{ name: 'news', attemptsMade: 0 }]);

  const again = gate();
  await start({ redis: { url: server.url }, schedules, run: async () => again.open() });
  await again.passed;
  await until('an end', async () => (await mirror(server).getCompletedCount()) === 1);
});

test('a run that fails while it is being stopped has failed', async () => {
  const server = await redisServer();
  const begun = gate();
  const queue = await start({
    redis: { url: server.url },
    schedules,
    async run(_, signal) {
      begun.open();
      await untilAborted(signal).catch(() => {
        throw new Failure('disk', 'the disk is full');
      });
    },
  });
  await queue.runNow('news');
  await begun.passed;
  await queue.close();
  expect(await mirror(server).getFailed()).toMatchObject([{ failedReason: 'the disk is full' }]);
});

test('a run whose process was killed is resumed at once by the next start', async () => {
  const server = await redisServer();
  await mirror(server).add('news', {}, { deduplication: { id: 'news' } });
  const dead = new Worker('mirror', null, { connection: { url: server.url }, prefix: 'market-mirror' });
  onTestFinished(() => dead.close());
  await dead.getNextJob('a token of the dead');
  expect(await mirror(server).getActiveCount()).toBe(1);

  const resumed = gate();
  await start({ redis: { url: server.url }, schedules, run: async () => resumed.open() });
  await resumed.passed;
  await until('an end', async () => (await mirror(server).getCompletedCount()) === 1);
});

test('a run that Redis loses is stopped, nothing crashes, and the next one waits until it has ended', async () => {
  const server = await redisServer();
  const events: string[] = [];
  const slow = gate();
  const queue = await start({
    redis: { url: server.url },
    schedules,
    timing: { lock: 1_000 },
    async run(_, signal) {
      events.push('begins');
      if (events.length > 1) return;
      await untilAborted(signal).catch(() => {});
      events.push('is told to stop');
      await slow.passed;
      events.push('ends');
      throw signal.reason;
    },
  });
  await queue.runNow('news');
  await until('the run', () => events.length === 1);
  await server.client.flushall();
  await until('the loss to be noticed', () => events.length === 2);
  await queue.runNow('news');
  await until('the next to be taken up', async () => (await mirror(server).getActiveCount()) === 1);
  expect(events).toEqual(['begins', 'is told to stop']);
  slow.open();
  await until('the next to run', () => events.length === 4);
  expect(events).toEqual(['begins', 'is told to stop', 'ends', 'begins']);
  expect(queue.said(/has lost this run/)).toMatchObject([{ job: 'news' }]);
});
