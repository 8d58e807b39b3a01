/** What wakes a dataset, what happens while it waits, and how the queue is closed; over a real Redis. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Failure, Snooze } from '../../src/base/errors.ts';
import type { Schedule } from '../../src/base/schedule.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { gate } from '../helpers/gate.ts';
import { compiledFolder } from '../helpers/program-file.ts';
import { HOUR, jobsIn, redisServer, running, until, untilAborted } from './setup.ts';

const DAY = 24 * HOUR;
const hourly = { every: HOUR };
const yearly = { cron: '0 0 1 1 *' };
/** BullMQ alone wakes datasets: the timer looks once, at the start. */
const withoutTimer = { look: HOUR };

describe('a dataset', () => {
  test('is woken by its scheduler again and again; one that is off is not', async () => {
    const { runs } = await running({
      schedules: { news: { every: 100 }, usage: 'off' },
      timing: withoutTimer,
    });
    await until('five runs', () => runs.length >= 5);
    expect(new Set(runs)).toEqual(new Set(['news']));
  });

  test('is woken by the timer where Redis has lost its ticks', async () => {
    const { runs, jobs } = await running({ schedules: { news: { every: 300 } } });
    await until('a run', () => runs.length > 0);
    await jobs.removeJobScheduler('news');
    await until('runs to go on', () => runs.length >= 4);
    expect(await jobs.getJobSchedulers()).toEqual([]);
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

  test('that is due runs at the start, and one that is not waits for its time', async () => {
    const last: Record<string, number> = { due: Date.now() - HOUR - 1, fresh: Date.now() - HOUR + 60_000 };
    const { runs, jobs } = await running({
      schedules: { due: hourly, fresh: hourly, never: hourly, missed: yearly, done: yearly },
      lastRun: (job) =>
        job === 'done' ? Date.now() : job === 'missed' ? Date.now() - 400 * DAY : (last[job] ?? null),
    });
    await until('the due ones', () => runs.length === 3);
    expect(runs.toSorted()).toEqual(['due', 'missed', 'never']);
    const next = (await jobs.getJobScheduler('fresh'))?.next ?? 0;
    expect(next - Date.now()).toBeGreaterThan(50_000);
    expect(next - Date.now()).toBeLessThan(61_000);
  });

  test('whose clock was ahead when it ran, or when it began to wait, is due as soon as the clock is right', async () => {
    const { runs, setClock, said } = await running({
      schedules: { ran: hourly, waits: hourly },
      lastRun: () => null,
      async run(job) {
        if (job === 'waits') throw new Snooze(Date.now() + 4 * DAY, 'quota');
      },
    });
    await until('both runs', () => runs.length === 2);
    setClock(3 * DAY);
    await until('the next', () => runs.filter((job) => job === 'ran').length === 2);
    setClock(5 * DAY);
    await until('the wait to be over', () => runs.filter((job) => job === 'waits').length === 2);
    await until('the one after', () => runs.filter((job) => job === 'ran').length === 3);
    setClock(0);
    await until('both again', () => runs.length >= 7);
    expect(runs.slice(-2).toSorted()).toEqual(['ran', 'waits']);
    expect(said(/Redis/)).toEqual([]);
  });
});

describe('a run that waits', () => {
  test('is the one delayed job of its dataset, beside the next tick, however many ticks come; others go on', async () => {
    const until_ = Date.now() + HOUR;
    const { runs, said, jobs } = await running({
      schedules: { news: { every: 20 }, usage: { every: 40 } },
      async run(job) {
        if (job === 'news') throw new Snooze(until_, 'quota');
      },
    });
    await until('runs of the other', () => runs.filter((job) => job === 'usage').length >= 10);
    expect(runs.filter((job) => job === 'news')).toEqual(['news']);
    expect(said(/^waiting$/)).toMatchObject([{ job: 'news', reason: 'quota' }]);
    const delayed = (await jobs.getDelayed()).filter(({ name }) => name === 'news');
    const waits = delayed.filter(({ timestamp, delay }) => timestamp + delay > Date.now() + HOUR / 2);
    expect(waits).toHaveLength(1);
    expect(delayed.length).toBeLessThanOrEqual(2);
  });

  test.each([
    ['BullMQ alone', { timing: withoutTimer }],
    ['the timer, since Redis was flushed', {}],
  ])('goes on at its time by %s', async (by, options) => {
    const began: number[] = [];
    let resumeAt = 0;
    const { server, said } = await running({
      lastRun: () => null,
      ...options,
      async run() {
        if (began.push(Date.now()) > 1) return;
        resumeAt = Date.now() + 700;
        throw new Snooze(resumeAt, 'quota');
      },
    });
    await until('it to wait', () => said(/^waiting$/).length === 1);
    if (by !== 'BullMQ alone') await server.client.flushall();
    await until('it to go on', () => began.length === 2);
    expect(began[1]).toBeGreaterThanOrEqual(resumeAt);
  });

  test('when the last process ended asks again at once: clock, quota or schedules may have changed', async () => {
    const waits = () => Promise.reject(new Snooze(Date.now() + HOUR, 'quota'));
    const first = await running({ lastRun: () => null, run: waits });
    await until('the run to wait', () => first.said(/^waiting$/).length === 1);
    await first.close();
    const { runs } = await running({ lastRun: () => null }, first.server);
    await until('it to ask', () => runs.length > 0);
    // What BullMQ and the timer found due at once is run once.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(runs).toHaveLength(1);
  });
});

describe('a run that ends', () => {
  test('in a failure is a failed job, is named in the log, and is left to its schedule', async () => {
    const thrown = [new Failure('contract', 'news: rows is not an array'), new TypeError('oops')];
    const run = () => Promise.reject(thrown.shift());
    const { jobs, runs, said, setClock } = await running({ lastRun: () => null, run });
    await until('the failure', () => said(/^failed$/).length === 1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(runs).toHaveLength(1);
    setClock(HOUR + 1_000);
    await until('the bug', () => said(/^failed$/).length === 2);
    expect(said(/^failed$/)).toMatchObject([
      { job: 'news', reason: 'contract', err: 'news: rows is not an array' },
      { job: 'news', reason: 'bug', err: 'oops', stack: expect.stringContaining('TypeError') },
    ]);
    // What the timer had found due is not kept.
    expect((await jobs.getFailed()).length).toBeLessThanOrEqual(1);
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
});

describe('what a dashboard sees', () => {
  test('is one scheduler a dataset, by its name; those that are gone or off are removed', async () => {
    const server = await redisServer();
    const schedulers = async () =>
      (await jobsIn(server).getJobSchedulers()).map(({ key, every, pattern, tz }) => [
        key,
        every ?? `${pattern} ${tz}`,
      ]);
    const open = async (schedules: Record<string, Schedule>) => {
      const queue = await running({ schedules }, server);
      const expected = Object.entries(schedules).flatMap(([job, schedule]) =>
        schedule === 'off' ? [] : [[job, 'every' in schedule ? schedule.every : `${schedule.cron} UTC`]],
      );
      await expect.poll(async () => (await schedulers()).sort()).toEqual(expected.sort());
      await queue.close();
    };
    await open({ a: hourly, b: hourly, c: yearly });
    await open({ a: { every: 2 * HOUR }, b: 'off', c: hourly });
    await open({ a: yearly });
  });

  test('may add jobs: those without a schedule are dropped and named, one too many runs nothing', async () => {
    const { runs, jobs, said } = await running({ schedules: { news: hourly, usage: 'off' } });
    for (const name of ['news', 'usage', 'constructor', '../../etc/passwd', 'x'.repeat(5_000)])
      await jobs.add(name, { job: 'news' });
    await until('the refusals', () => said(/dropped/).length === 4);
    await until('nothing to be left', async () => (await jobs.getJobCountByTypes('wait', 'active')) === 0);
    expect(runs).toEqual([]);
    const lengths = said(/dropped/).map(({ job = '' }) => job.length);
    expect(lengths.sort((one, other) => one - other)).toEqual([5, 11, 16, 100]);
  });
});

describe('close', () => {
  test('ends in time where Redis goes while the run is being stopped', async () => {
    const { server, runs, close } = await running({
      timing: { close: 4_000 },
      lastRun: () => null,
      async run(_, signal) {
        await untilAborted(signal).catch(() => {});
        await server.kill();
        throw signal.reason;
      },
    });
    await until('a run', () => runs.length === 1);
    expect(await timeOf(close)).toBeLessThan(IN_TIME_MS);
  });

  test('does not wait for ever for a run that does not stop, and says so', async () => {
    const never = gate();
    onTestFinished(never.open);
    const run = () => never.passed;
    const { runs, said, close } = await running({ timing: { close: 800 }, lastRun: () => null, run });
    await until('a run', () => runs.length === 1);
    expect(await timeOf(close)).toBeLessThan(IN_TIME_MS);
    expect(said(/did not reach its next page/)).toHaveLength(1);
  });

  test('ends in time, and leaves nothing that keeps the process alive, wherever Redis is', async () => {
    const script = join(compiledFolder(), 'dist/test/queue/daemon.js');
    const closeWhere = async (where: string) => {
      const child = spawn(process.execPath, [script, where, temporaryFolder()], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      const exited = once(child, 'exit');
      const said = (await child.stdout.setEncoding('utf8').toArray()).join('');
      expect(said).toMatch(/^closed at the page boundary in \d+\n$/);
      expect(Number(/\d+/.exec(said))).toBeLessThan(IN_TIME_MS);
      expect(await exited).toEqual([0, null]);
    };
    await Promise.all(['all is well', 'Redis never came'].map(closeWhere));
  });
});

/** Within which a queue is closed, unless told otherwise. */
const IN_TIME_MS = 8_000;

/** Milliseconds. */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const from = Date.now();
  await work();
  return Date.now() - from;
}
