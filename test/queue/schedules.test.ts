import type { Queue } from 'bullmq';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { QueueOptions } from '../../src/queue.ts';
import type { Schedule } from '../../src/schedule.ts';
import { HOUR, redisServer, start, until, wakesIn } from './setup.ts';

/** Each run, as it begins. */
function counted(): { runs: string[]; run: QueueOptions['run'] } {
  const runs: string[] = [];
  return { runs, run: async (job) => void runs.push(job) };
}

/** The last run was then. */
const at = (time: number) => () => time;

const declared = async (queue: Queue) => (await queue.getJobSchedulers()).map(({ key }) => key).sort();

describe('a dataset with an interval', () => {
  test('runs again and again', async () => {
    const server = await redisServer();
    const { runs, run } = counted();
    await start({ redis: { url: server.url }, schedules: { news: { every: 100 }, usage: 'off' }, run });
    await until('four runs', () => runs.length >= 4);
    expect(new Set(runs)).toEqual(new Set(['news']));
  });

  test('goes on at once where the process before was killed between a tick and the next', async () => {
    const server = await redisServer();
    const { runs, run } = counted();
    const parts = { redis: { url: server.url }, schedules: { news: { every: 200 } }, run };
    const killed = await start(parts);
    await until('its first run', () => runs.length > 0);
    await killed.close();
    // BullMQ takes the tick first and plans the next one after that.
    const key = (name: string) => `market-mirror:wakes:${name}`;
    const [id = ''] = await server.client.zrange(key('delayed'), '0', '-1');
    await server.client.zrem(key('delayed'), id);
    await server.client.lpush(key('active'), id);
    runs.length = 0;
    await start(parts);
    await until('runs of the process that follows', () => runs.length >= 3, 15_000);
  });

  test('never overlaps itself, however slow its runs are', async () => {
    const server = await redisServer();
    const ended: string[] = [];
    let running = 0;
    let most = 0;
    const run = async (job: string) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 230));
      running -= 1;
      ended.push(job);
    };
    await start({ redis: { url: server.url }, schedules: { news: { every: 50 } }, run });
    await until('three slow runs', () => ended.length >= 3);
    expect(most).toBe(1);
  });

  test('that is due runs at once, and one that is not waits', async () => {
    const server = await redisServer();
    const { runs, run } = counted();
    const schedules: Record<string, Schedule> = {
      due: { every: HOUR },
      fresh: { every: HOUR },
      never: { every: HOUR },
    };
    const lastRun = (job: string) =>
      ({ due: Date.now() - HOUR - 1, fresh: Date.now() - HOUR + 60_000 })[job] ?? null;
    await start({ redis: { url: server.url }, schedules, lastRun, run });
    await until('the due ones', () => runs.length === 2);
    expect(runs.toSorted()).toEqual(['due', 'never']);

    const next = (await wakesIn(server).getJobScheduler('fresh'))?.next ?? 0;
    expect(next - Date.now()).toBeGreaterThan(50_000);
    expect(next - Date.now()).toBeLessThan(61_000);
  });

  test('goes on soon after a clock was a year ahead', async () => {
    const server = await redisServer();
    const { runs, run } = counted();
    const ahead = () => Date.now() + 365 * 24 * HOUR;
    const parts = { redis: { url: server.url }, schedules: { news: { every: 200 } }, run };
    const first = await start({ ...parts, lastRun: at(ahead()), clock: { ...systemClock, now: ahead } });
    await first.close();
    expect(runs).toEqual([]);
    await start({ ...parts, lastRun: at(Date.now()) });
    await until('two runs', () => runs.length >= 2);
  });

  test('keeps its place when the daemon starts again, and takes a new interval when it is changed', async () => {
    const server = await redisServer();
    const { run } = counted();
    const lastRun = at(Date.now());
    const nextAt = async (every: number) => {
      const queue = await start({ redis: { url: server.url }, schedules: { news: { every } }, lastRun, run });
      const next = (await wakesIn(server).getJobScheduler('news'))?.next;
      await queue.close();
      return next;
    };
    const first = await nextAt(HOUR);
    expect(await nextAt(HOUR)).toBe(first);
    expect(await nextAt(2 * HOUR)).toBeGreaterThan(first ?? Number.POSITIVE_INFINITY);
  });
});

describe('a dataset with a cron pattern', () => {
  test('runs at its times, seconds included', async () => {
    const server = await redisServer();
    const { runs, run } = counted();
    await start({
      redis: { url: server.url },
      schedules: { news: { cron: '* * * * * *' } },
      lastRun: at(Date.now()),
      run,
    });
    await until('two runs', () => runs.length >= 2);
  });

  test('whose time passed while the daemon was down runs once at the start, also on an empty Redis', async () => {
    const server = await redisServer();
    const { runs, run } = counted();
    const schedules: Record<string, Schedule> = {
      missed: { cron: '0 0 1 1 *' },
      done: { cron: '0 0 1 1 *' },
    };
    const lastRun = (job: string) => (job === 'done' ? Date.now() : Date.now() - 400 * 24 * HOUR);
    await start({ redis: { url: server.url }, schedules, lastRun, run });
    await until('the missed run', () => runs.length > 0);
    expect(runs).toEqual(['missed']);
    expect(await wakesIn(server).getDelayedCount()).toBe(2);
  });

  test('replaces an interval, and an interval replaces it, once', async () => {
    const server = await redisServer();
    const { run } = counted();
    const seen: unknown[] = [];
    const both: Schedule[] = [{ every: HOUR }, { cron: '0 0 1 1 *' }, { every: HOUR }];
    for (const news of both) {
      const options = { redis: { url: server.url }, schedules: { news }, lastRun: at(Date.now()), run };
      await (await start(options)).close();
      const before = await wakesIn(server).getJobScheduler('news');
      await (await start(options)).close();
      const { every, pattern, next } = (await wakesIn(server).getJobScheduler('news')) ?? {};
      expect(next).toBe(before?.next);
      seen.push({ every, pattern });
    }
    expect(seen).toEqual([
      { every: HOUR, pattern: undefined },
      { every: undefined, pattern: '0 0 1 1 *' },
      { every: HOUR, pattern: undefined },
    ]);
  });
});

describe('what is in Redis', () => {
  const timing = { restore: 100 };

  test('counts for nothing where SQLite says otherwise: a tick that is overdue there is not lost', async () => {
    const server = await redisServer();
    const { runs, run } = counted();
    const options = { redis: { url: server.url }, schedules: { news: { every: HOUR } }, run };
    await (await start({ ...options, lastRun: at(Date.now()) })).close();
    await start({ ...options, lastRun: () => Date.now() - HOUR - 1 });
    await until('the run', () => runs.length === 1);
  });

  test('follows the declarations: schedules that are gone or off are removed', async () => {
    const server = await redisServer();
    const { run } = counted();
    const every = { every: HOUR };
    const first = await start({
      redis: { url: server.url },
      schedules: { a: every, b: every, c: every },
      run,
    });
    expect(await declared(wakesIn(server))).toEqual(['a', 'b', 'c']);
    await first.close();
    const second = await start({ redis: { url: server.url }, schedules: { a: every, b: 'off' }, run });
    expect(await declared(wakesIn(server))).toEqual(['a']);
    expect(second.said(/removed a schedule/).map(({ job }) => job)).toEqual(
      expect.arrayContaining(['b', 'c']),
    );
  });

  test('is restored after FLUSHALL, and runs nothing that is not due', async () => {
    const server = await redisServer();
    const { runs, run } = counted();
    await start({
      redis: { url: server.url },
      schedules: { news: { every: HOUR } },
      lastRun: () => null,
      run,
      timing,
    });
    await until('the first run', () => runs.length === 1);
    await server.client.flushall();
    await until('the schedule', async () => (await declared(wakesIn(server))).includes('news'));
    expect(runs).toHaveLength(1);
  });

  test('is repaired where a schedule is there but its next tick is not', async () => {
    const server = await redisServer();
    const { runs, run } = counted();
    await start({
      redis: { url: server.url },
      schedules: { news: { every: 200 } },
      lastRun: at(Date.now()),
      run,
      timing,
    });
    await until('a run', () => runs.length > 0);
    const queue = wakesIn(server);
    await until('a tick to remove', async () => {
      const { next } = (await queue.getJobScheduler('news')) ?? {};
      return (
        (await server.client.zrem('market-mirror:wakes:delayed', `repeat:news:${next}`)) === 1 &&
        (await server.client.del(`market-mirror:wakes:repeat:news:${next}`)) === 1
      );
    });
    const before = runs.length;
    await until('runs to go on', () => runs.length >= before + 2);
  });

  test('is separate for mirrors with different prefixes', async () => {
    const server = await redisServer();
    const [one, two] = [counted(), counted()];
    const every = { every: 100 };
    await start({ redis: { url: server.url }, schedules: { one: every }, run: one.run, prefix: 'first' });
    await start({ redis: { url: server.url }, schedules: { two: every }, run: two.run, prefix: 'second' });
    await until('runs of both', () => one.runs.length >= 2 && two.runs.length >= 2);
    expect([new Set(one.runs), new Set(two.runs)]).toEqual([new Set(['one']), new Set(['two'])]);
    expect(await declared(wakesIn(server, 'first'))).toEqual(['one']);
    expect((await server.client.keys('*')).filter((key) => !/^(first|second):/.test(key))).toEqual([]);
  });
});
