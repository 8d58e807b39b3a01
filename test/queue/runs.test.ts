/** When datasets run: by their schedules, when a wait is over, and when the clock was set, whatever Redis has kept. */

import { Worker } from 'bullmq';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { Failure, Snooze } from '../../src/errors.ts';
import type { Schedule } from '../../src/schedule.ts';
import { gate } from '../helpers/gate.ts';
import { HOUR, redisServer, running, until, untilAborted, wakesIn } from './setup.ts';

const DAY = 24 * HOUR;
const hourly = { every: HOUR };
const yearly = { cron: '0 0 1 1 *' };

describe('a dataset with an interval', () => {
  test('runs again and again; one that is off does not', async () => {
    const { runs } = await running({ schedules: { news: { every: 100 }, usage: 'off' } });
    await until('four runs', () => runs.length >= 4);
    expect(new Set(runs)).toEqual(new Set(['news']));
  });

  test('goes on at once where the process before was killed between a tick and the next', async () => {
    const schedules = { news: { every: 200 } };
    const { server, runs, close } = await running({ schedules });
    await until('its first run', () => runs.length > 0);
    await close();
    // BullMQ takes the tick first and plans the next one after that.
    const key = (name: string) => `market-mirror:wakes:${name}`;
    const [id = ''] = await server.client.zrange(key('delayed'), '0', '-1');
    await server.client.zrem(key('delayed'), id);
    await server.client.lpush(key('active'), id);
    const next = await running({ schedules }, server);
    await until('runs of the process that follows', () => next.runs.length >= 3, 25_000);
  });

  test('never overlaps itself, however slow its runs are', async () => {
    let [ended, atOnce, most] = [0, 0, 0];
    await running({
      schedules: { news: { every: 50 } },
      async run() {
        most = Math.max(most, ++atOnce);
        await new Promise((resolve) => setTimeout(resolve, 230));
        [atOnce, ended] = [atOnce - 1, ended + 1];
      },
    });
    await until('three slow runs', () => ended >= 3);
    expect(most).toBe(1);
  });

  test('that is due runs at once, and one that is not waits', async () => {
    const last: Record<string, number> = { due: Date.now() - HOUR - 1, fresh: Date.now() - HOUR + 60_000 };
    const { runs, wakes } = await running({
      schedules: { due: hourly, fresh: hourly, never: hourly },
      lastRun: (job) => last[job] ?? null,
    });
    await until('the due ones', () => runs.length === 2);
    expect(runs.toSorted()).toEqual(['due', 'never']);
    const next = (await wakes.getJobScheduler('fresh'))?.next ?? 0;
    expect(next - Date.now()).toBeGreaterThan(50_000);
    expect(next - Date.now()).toBeLessThan(61_000);
  });

  test('keeps its place when the daemon starts again, and takes a new interval when it is changed', async () => {
    const server = await redisServer();
    const last = Date.now();
    const nextAt = async (every: number) => {
      const { wakes, close } = await running({ schedules: { news: { every } }, lastRun: () => last }, server);
      const { next = 0 } = (await wakes.getJobScheduler('news')) ?? {};
      await close();
      return next;
    };
    const first = await nextAt(HOUR);
    expect(await nextAt(HOUR)).toBe(first);
    expect(await nextAt(2 * HOUR)).toBeGreaterThan(first);
  });
});

describe('a dataset with a cron pattern', () => {
  test('runs at its times, seconds included', async () => {
    const { runs } = await running({ schedules: { news: { cron: '* * * * * *' } } });
    await until('two runs', () => runs.length >= 2);
  });

  test('whose time passed while the daemon was down runs once at the start, also on an empty Redis', async () => {
    const { runs, wakes } = await running({
      schedules: { missed: yearly, done: yearly },
      lastRun: (job) => (job === 'done' ? Date.now() : Date.now() - 400 * DAY),
    });
    await until('the missed run', () => runs.length > 0);
    expect(runs).toEqual(['missed']);
    expect(await wakes.getDelayedCount()).toBe(2);
  });

  test('replaces an interval, and an interval replaces it, once', async () => {
    const server = await redisServer();
    const wakes = wakesIn(server);
    const last = Date.now();
    for (const news of [hourly, yearly, hourly] satisfies Schedule[]) {
      const options = { schedules: { news }, lastRun: () => last };
      await (await running(options, server)).close();
      const before = await wakes.getJobScheduler('news');
      await (await running(options, server)).close();
      const { every, pattern, next } = (await wakes.getJobScheduler('news')) ?? {};
      expect(next).toBe(before?.next);
      expect('cron' in news ? pattern : every).toBe('cron' in news ? news.cron : news.every);
    }
  });
});

describe('a run that waits', () => {
  test('keeps nobody else waiting, and is not woken by its schedule', async () => {
    const { runs, said } = await running({
      schedules: { news: { every: 20 }, usage: { every: 40 } },
      async run(job) {
        if (job === 'news') throw new Snooze(Date.now() + HOUR, 'quota');
      },
    });
    await until('runs of the other', () => runs.filter((job) => job === 'usage').length >= 5);
    expect(runs.filter((job) => job === 'news')).toEqual(['news']);
    expect(said(/^waiting$/)).toMatchObject([{ job: 'news', reason: 'quota' }]);
  });

  test.each([false, true])('goes on at its time, though Redis has lost its wake: %s', async (isFlushed) => {
    const began: number[] = [];
    let resumeAt = 0;
    const { server, said } = await running({
      lastRun: () => null,
      timing: { restore: isFlushed ? 100 : HOUR },
      async run() {
        if (began.push(Date.now()) > 1) return;
        resumeAt = Date.now() + (isFlushed ? 1_500 : 300);
        throw new Snooze(resumeAt, 'quota');
      },
    });
    await until('it to wait', () => said(/^waiting$/).length === 1);
    if (isFlushed) await server.client.flushall();
    await until('it to go on', () => began.length === 2);
    expect(began[1]).toBeGreaterThanOrEqual(resumeAt);
  });

  test('when the last process ended asks again at once: clock, quota or schedules may have changed', async () => {
    const waits = () => Promise.reject(new Snooze(Date.now() + HOUR, 'quota'));
    const { server, said, close } = await running({ lastRun: () => null, run: waits });
    await until('the run to wait', () => said(/^waiting$/).length === 1);
    await close();
    const { runs } = await running({ lastRun: () => null }, server);
    await until('it to ask', () => runs.length === 1);
  });
});

describe('a run that ends', () => {
  test('in a failure is left to its schedule, and is named in the log', async () => {
    const thrown = [new Failure('contract', 'news: rows is not an array'), new TypeError('oops')];
    const run = () => Promise.reject(thrown.shift());
    const queue = await running({ lastRun: () => null, timing: { restore: 20 }, run });
    await until('the failure', () => queue.said(/^failed$/).length === 1);
    await until('its next tick to lie far ahead', async () => {
      const { next = 0 } = (await queue.wakes.getJobScheduler('news')) ?? {};
      return next > Date.now() + HOUR / 2;
    });
    expect(queue.runs).toHaveLength(1);
    queue.runNow('news');
    await until('the bug', () => queue.said(/^failed$/).length === 2);
    expect(queue.said(/^failed$/)).toMatchObject([
      { job: 'news', reason: 'contract', err: 'news: rows is not an array' },
      { job: 'news', reason: 'bug', err: 'oops', stack: expect.stringContaining('TypeError') },
    ]);
  });

  test('at its page boundary, since the queue is closed, is resumed at once by the next start', async () => {
    const first = await running({ lastRun: () => null, run: (_, signal) => untilAborted(signal) });
    await until('a run', () => first.runs.length === 1);
    const closedAt = Date.now();
    await first.close();
    expect(Date.now() - closedAt).toBeLessThan(5_000);
    expect(first.said(/failed|waiting/)).toEqual([]);
    const { runs } = await running({ lastRun: () => null }, first.server);
    await until('it to be resumed', () => runs.length === 1);
  });

  test('in a failure while it is being stopped has failed', async () => {
    const full = new Failure('disk', 'the disk is full');
    const run = (_: string, signal: AbortSignal) => untilAborted(signal).catch(() => Promise.reject(full));
    const { runs, close, said } = await running({ lastRun: () => null, run });
    await until('a run', () => runs.length === 1);
    await close();
    expect(said(/^failed$/)).toMatchObject([{ reason: 'disk', err: 'the disk is full' }]);
  });

  test('with its process, which was killed, is resumed at once by the next start', async () => {
    const server = await redisServer();
    await wakesIn(server).add('news', {});
    const dead = new Worker('wakes', null, { connection: { url: server.url }, prefix: 'market-mirror' });
    onTestFinished(() => dead.close());
    await dead.getNextJob('a token of the dead');
    const { runs } = await running({ lastRun: () => null }, server);
    await until('it to be resumed', () => runs.length === 1);
  });
});

test.each([
  ['disk', new Failure('disk', 'mirror.db: the disk reports an error')],
  ['bug', new TypeError('The database connection is not open')],
])(
  'an error of SQLite is no outage of Redis: it is in the log, and the next plan finds what is due: %s',
  async (reason, damaged) => {
    const state = { isDamaged: false, isDue: false };
    const { runs, said, wakes } = await running({
      timing: { restore: 50 },
      lastRun() {
        if (state.isDamaged) throw damaged;
        return state.isDue ? null : Date.now();
      },
    });
    state.isDamaged = true;
    await until('a plan that fails', () => said(/cannot be read/).length > 0);
    await wakes.add('news', {});
    await until('a wake that fails', () => said(/^failed$/).length > 0);
    expect(said(/^failed$/)).toMatchObject([
      { job: 'news', reason, err: expect.stringContaining(damaged.message) },
    ]);
    Object.assign(state, { isDamaged: false, isDue: true });
    await until('the run', () => runs.length > 0);
    expect(said(/Redis/)).toEqual([]);
  },
);

test('a start that takes long is no outage of Redis', async () => {
  const { runs, said } = await running({ timing: { restore: 1 }, lastRun: () => null });
  await until('the run', () => runs.length > 0);
  expect(said(/Redis/)).toEqual([]);
});

describe('what is in Redis', () => {
  const timing = { restore: 100 };

  test('counts for nothing where SQLite says otherwise: a tick that is overdue there is not lost', async () => {
    const { server, close } = await running();
    await close();
    const { runs } = await running({ lastRun: () => Date.now() - HOUR - 1 }, server);
    await until('the run', () => runs.length === 1);
  });

  test('follows the declarations: schedules that are gone or off are removed', async () => {
    const { server, wakes, close } = await running({ schedules: { a: hourly, b: hourly, c: hourly } });
    const declared = async () => (await wakes.getJobSchedulers()).map(({ key }) => key).sort();
    expect(await declared()).toEqual(['a', 'b', 'c']);
    await close();
    const { said } = await running({ schedules: { a: hourly, b: 'off' } }, server);
    expect(await declared()).toEqual(['a']);
    expect(said(/removed a schedule/).map(({ job }) => job)).toEqual(expect.arrayContaining(['b', 'c']));
  });

  test('is repaired where a schedule is there but its next tick is not', async () => {
    const { server, runs, wakes } = await running({ schedules: { news: { every: 200 } }, timing });
    await until('a run', () => runs.length > 0);
    await until('a tick to remove', async () => {
      const { next } = (await wakes.getJobScheduler('news')) ?? {};
      return (
        (await server.client.zrem('market-mirror:wakes:delayed', `repeat:news:${next}`)) === 1 &&
        (await server.client.del(`market-mirror:wakes:repeat:news:${next}`)) === 1
      );
    });
    const before = runs.length;
    await until('runs to go on', () => runs.length >= before + 2);
  });

  test('is restored after FLUSHALL: a run goes on, is not begun twice, and the next follows it', async () => {
    const page = gate();
    let ended = 0;
    const schedules = { news: hourly, usage: hourly };
    const { server, runs, wakes, runNow, lines } = await running({
      schedules,
      lastRun: () => null,
      timing,
      async run() {
        await page.passed;
        ended += 1;
      },
    });
    await until('both runs', () => runs.length === 2);
    await server.client.flushall();
    for (const job of ['news', 'usage']) await wakes.add(job, {});
    await until('the wakes to go', async () => (await wakes.getWaitingCount()) === 0);
    expect(runs).toHaveLength(2);
    page.open();
    await until('their ends', () => ended === 2);
    await until('the schedules', async () => (await wakes.getJobSchedulers()).length === 2);
    expect(runs).toHaveLength(2);
    runNow('news');
    await until('the next run', () => runs.length === 3);
    expect(lines).toEqual([]);
  });

  test('is separate for mirrors with different prefixes', async () => {
    const server = await redisServer();
    const open = (name: string) => running({ prefix: name, schedules: { [name]: { every: 100 } } }, server);
    const [one, two] = [await open('first'), await open('second')];
    await until('runs of both', () => one.runs.length >= 2 && two.runs.length >= 2);
    expect([new Set(one.runs), new Set(two.runs)]).toEqual([new Set(['first']), new Set(['second'])]);
    expect((await server.client.keys('*')).filter((key) => !/^(first|second):/.test(key))).toEqual([]);
  });

  test('wakes nothing that has no schedule, and names it in the log; one wake too many runs nothing', async () => {
    const { runs, wakes, said } = await running({ schedules: { news: hourly, usage: 'off' } });
    for (const name of ['news', 'usage', 'constructor', '../../etc/passwd', 'x'.repeat(5_000)])
      await wakes.add(name, { job: 'news' });
    await until('the refusals', () => said(/dropped/).length === 4);
    await until('nothing to be left', async () => (await wakes.getJobCountByTypes('wait', 'active')) === 0);
    expect(runs).toEqual([]);
    const lengths = said(/dropped/).map(({ job = '' }) => job.length);
    expect(lengths.sort((one, other) => one - other)).toEqual([5, 11, 16, 100]);
  });
});

describe('under a clock that was days ahead, by which neither Redis nor BullMQ goes,', () => {
  /** Right again from the call of `correct` on. */
  function clockAhead() {
    let ahead = 3 * DAY;
    const correct = () => {
      ahead = 0;
    };
    return { clock: { ...systemClock, now: () => Date.now() + ahead }, correct };
  }

  test('a run that was delayed asks again at once', async () => {
    const { clock, correct } = clockAhead();
    let asked = 0;
    const { said, planAnew } = await running({
      schedules: { news: yearly },
      lastRun: () => null,
      clock,
      async run() {
        if (++asked === 1) throw new Snooze(clock.now() + HOUR, 'quota');
      },
    });
    await until('the run to wait', () => said(/^waiting$/).length === 1);
    correct();
    planAnew([]);
    await until('the run to ask again', () => asked === 2);
  });

  test('a tick that was planned is planned anew, also by the next process', async () => {
    const { clock, correct } = clockAhead();
    const schedules = { news: hourly, usage: yearly };
    const { server, runs, wakes, planAnew, close } = await running({
      schedules,
      lastRun: () => clock.now(),
      clock,
    });
    correct();
    planAnew(['usage']);
    const next = await until('another tick', async () => {
      const { next = 0 } = (await wakes.getJobScheduler('news')) ?? {};
      return next > Date.now() && next <= Date.now() + HOUR && next;
    });
    const ticks = (await wakes.getDelayed()).map(({ id = '' }) => id).filter((id) => id.includes('news'));
    expect(ticks).toEqual([`repeat:news:${next}`]);
    await until('the run that is due', () => runs.length === 1);
    expect(runs).toEqual(['usage']);
    await close();
    const second = await running({ schedules: { news: { every: 200 } } }, server);
    await until('two runs', () => second.runs.length >= 2);
  });
});

test('a run that is due is woken at once, however often the clock is looked at meanwhile', async () => {
  let looks = 0;
  const { runs } = await running({
    schedules: { news: yearly },
    lastRun: () => null,
    // A look takes a millisecond, as on a machine with other work.
    clock: { ...systemClock, now: () => Date.now() + ++looks },
    timing: { restore: HOUR },
  });
  await until('the run', () => runs.length === 1);
});

test('runs that are due at once run, each once, also where Redis is away at that moment', async () => {
  const schedules = { news: hourly, usage: hourly, other: hourly };
  const { server, runs, said, planAnew } = await running({ schedules, timing: { restore: 100 } });
  planAnew(['news']);
  await until('the run', () => runs.length === 1);
  await server.kill();
  await until('Redis to be missed', () => said(/./).length > 0);
  planAnew(['usage']);
  planAnew(['news']);
  await server.start();
  await until('both runs', () => runs.length >= 3);
  expect(runs.toSorted()).toEqual(['news', 'news', 'usage']);
});
