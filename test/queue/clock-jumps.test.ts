import { Queue } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { Snooze } from '../../src/errors.ts';
import { redisServer, type Server, start, until, untilAborted } from './setup.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A clock that is so far ahead of the machine's, by which Redis and BullMQ go. */
function clockAhead(by: number): { clock: Clock; correct(): void } {
  let ahead = by;
  return {
    clock: { ...systemClock, now: () => Date.now() + ahead },
    correct() {
      ahead = 0;
    },
  };
}

function queueOf(server: Server, name: string): Queue {
  const queue = new Queue(name, { connection: { url: server.url }, prefix: 'market-mirror' });
  onTestFinished(() => queue.close());
  return queue;
}

test('a run that was delayed under a clock that was ahead asks again at once', async () => {
  const server = await redisServer();
  const { clock, correct } = clockAhead(3 * DAY);
  let asked = 0;
  const queue = await start({
    redis: { url: server.url },
    schedules: { news: { cron: '0 0 1 1 *' } },
    lastRun: () => null,
    async run() {
      asked += 1;
      if (asked === 1) throw new Snooze(clock.now() + HOUR, 'quota');
    },
    clock,
  });
  const delayed = queueOf(server, 'mirror');
  await until('the run to wait', async () => (await delayed.getDelayedCount()) === 1);
  correct();
  queue.planAnew([]);
  await until('the run to ask again', () => asked === 2);
});

test('a tick that was planned under a clock that was ahead is planned anew, and one that lies well stays', async () => {
  const server = await redisServer();
  const { clock, correct } = clockAhead(3 * DAY);
  const queue = await start({
    redis: { url: server.url },
    schedules: { news: { every: HOUR }, usage: { cron: '0 0 1 1 *' } },
    lastRun: () => clock.now(),
    run: async () => {},
    clock,
  });
  const control = queueOf(server, 'control');
  const ticks = async () =>
    (await control.getDelayed()).map(({ id = '' }) => id).filter((id) => id.includes('news'));
  correct();
  queue.planAnew([]);
  const next = await until('another tick', async () => {
    const { next = 0 } = (await control.getJobScheduler('news')) ?? {};
    return next > Date.now() && next <= Date.now() + HOUR && next;
  });
  expect(await ticks()).toEqual([`repeat:news:${next}`]);
  const mark = `market-mirror:control:repeat:news:${next}`;
  await server.client.hset(mark, 'mark', 'ours');
  queue.planAnew(['usage']);
  await until('the other run', async () => (await queueOf(server, 'mirror').getCompletedCount()) === 1);
  expect(await server.client.hget(mark, 'mark')).toBe('ours');
});

test('runs that are due at once run, each once, also where Redis is away at that moment', async () => {
  const server = await redisServer();
  const runs: string[] = [];
  const queue = await start({
    redis: { url: server.url },
    schedules: { news: { every: HOUR }, usage: { every: HOUR }, other: { every: HOUR } },
    lastRun: () => Date.now(),
    run: async (job) => void runs.push(job),
    timing: { restore: 100 },
  });
  queue.planAnew(['news']);
  await until('the run', () => runs.length === 1);
  await server.kill();
  await until('Redis to be missed', () => queue.said(/./).length > 0);
  queue.planAnew(['usage']);
  queue.planAnew(['news']);
  await server.start();
  await until('both runs', () => runs.length >= 3);
  expect(runs.toSorted()).toEqual(['news', 'news', 'usage']);
});

test('a run that lost its lock as the clock went back is taken up again', async () => {
  const server = await redisServer();
  let runs = 0;
  const queue = await start({
    redis: { url: server.url },
    schedules: { news: { cron: '0 0 1 1 *' } },
    async run(_, signal) {
      runs += 1;
      if (runs === 1) await untilAborted(signal);
    },
    timing: { lock: 300 },
  });
  await until('the run', () => runs === 1);
  const key = (name: string) => `market-mirror:mirror:${name}`;
  const [id] = await server.client.lrange(key('active'), 0, -1);
  // As a clock that was ahead leaves it: BullMQ looks for lost runs only when this key has expired.
  await server.client.set(key('stalled-check'), '1', 'PX', 3 * DAY);
  await server.client.del(key(`${id}:lock`));
  await until('the run to be stopped', () => queue.said(/lost this run/).length > 0);
  queue.planAnew([]);
  await until('it to be taken up', () => runs === 2);
});
