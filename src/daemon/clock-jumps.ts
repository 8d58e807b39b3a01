/** Plans all runs anew when the clock was set or the machine slept. */

import ms from 'ms';
import type { App } from '../app.ts';
import { CLOCK_TOLERANCE_MS, type Clock } from '../clock.ts';
import { toError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Turns } from '../plan/turn.ts';
import type { MirrorQueue } from '../queue.ts';

type Parts = {
  app: Pick<App, 'config' | 'jobs' | 'store' | 'clockJumped'>;
  queue: Pick<MirrorQueue, 'planAnew'>;
  turns: Pick<Turns, 'nextDue'>;
  clock: Clock;
  log: Log;
};

const LOOK_EVERY_MS = 2_000;

/** Plans all runs now, and after every jump of the clock until `signal` is aborted. Never rejects. */
export async function followClock(parts: Parts, signal: AbortSignal): Promise<void> {
  const { app, clock, log } = parts;
  attempt(log, () => planAnew(parts, app.store.wasAhead));
  await watchClock(
    clock,
    (byMs) => {
      const far = ms(Math.abs(byMs));
      const what = byMs > 0 ? `went forward by ${far}, or the machine slept` : `was set back by ${far}`;
      log.warn({ seconds: Math.round(byMs / 1_000) }, `the clock ${what}: all runs are planned anew`);
      attempt(log, () => {
        app.clockJumped();
        // After a clock was set back, all data is older than it seems.
        planAnew(parts, byMs < 0 ? () => true : app.store.wasAhead);
      });
    },
    signal,
  );
}

/** Calls `jumped` with the milliseconds by which the clock went forward or back (negative), until `signal` is aborted. */
export async function watchClock(
  clock: Clock,
  jumped: (byMs: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const lead = () => clock.now() - clock.monotonic();
  for (let known = lead(); ; ) {
    try {
      await clock.sleep(LOOK_EVERY_MS, signal);
    } catch {
      return;
    }
    const byMs = lead() - known;
    if (Math.abs(byMs) <= CLOCK_TOLERANCE_MS) continue;
    known += byMs;
    jumped(byMs);
  }
}

/** @param runsAnyway whether a job that has a schedule runs at once. */
function planAnew({ app, queue, turns }: Parts, runsAnyway: (job: string) => boolean): void {
  const { config, jobs, store } = app;
  const due: string[] = [];
  for (const job of jobs) {
    const { name } = job;
    if (config.schedules[name] !== 'off' && runsAnyway(name)) due.push(name);
    store.keepNextDue(name, turns.nextDue(job, store.lastRun(name)));
  }
  queue.planAnew(due);
}

/** An error is only logged: the runs will meet it, too. */
function attempt(log: Log, work: () => void): void {
  try {
    work();
  } catch (thrown) {
    log.warn({ err: toError(thrown).message }, 'the runs could not be planned anew');
  }
}
