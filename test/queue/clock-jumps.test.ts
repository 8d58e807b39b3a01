import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { Snooze } from '../../src/errors.ts';
import { HOUR, redisServer, start, until, wakesIn } from './setup.ts';

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
  await until('the run to wait', () => queue.said(/^waiting$/).length === 1);
  correct();
  queue.planAnew([]);
  await until('the run to ask again', () => asked === 2);
});

test('a run that is due is woken at once, however often the clock is looked at meanwhile', async () => {
  const server = await redisServer();
  let looks = 0;
  const runs: string[] = [];
  await start({
    redis: { url: server.url },
    schedules: { news: { cron: '0 0 1 1 *' } },
    lastRun: () => null,
    run: async (job) => void runs.push(job),
    // A look takes a millisecond, as on a machine with other work.
    clock: { ...systemClock, now: () => Date.now() + ++looks },
    timing: { restore: HOUR },
  });
  await until('the run', () => runs.length === 1);
});

test('a tick that was planned under a clock that was ahead is planned anew', async () => {
  const server = await redisServer();
  const { clock, correct } = clockAhead(3 * DAY);
  const runs: string[] = [];
  const queue = await start({
    redis: { url: server.url },
    schedules: { news: { every: HOUR }, usage: { cron: '0 0 1 1 *' } },
    lastRun: () => clock.now(),
    run: async (job) => void runs.push(job),
    clock,
  });
  const wakes = wakesIn(server);
  correct();
  queue.planAnew(['usage']);
  const next = await until('another tick', async () => {
    const { next = 0 } = (await wakes.getJobScheduler('news')) ?? {};
    return next > Date.now() && next <= Date.now() + HOUR && next;
  });
  const ticks = (await wakes.getDelayed()).map(({ id = '' }) => id).filter((id) => id.includes('news'));
  expect(ticks).toEqual([`repeat:news:${next}`]);
  await until('the run that is due', () => runs.length === 1);
  expect(runs).toEqual(['usage']);
});

test('runs that are due at once run, each once, also where Redis is away at that moment', async () => {
  const server = await redisServer();
  const runs: string[] = [];
  const queue = await start({
    redis: { url: server.url },
    schedules: { news: { every: HOUR }, usage: { every: HOUR }, other: { every: HOUR } },
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
