/** Hours of a daemon's life in virtual time: its jobs run by their schedules, without a queue. */

import { setImmediate as breath } from 'node:timers/promises';
import { openApp } from '../../src/app.ts';
import { Snooze } from '../../src/base/errors.ts';
import { intervalOf } from '../../src/base/schedule.ts';
import { createTurns } from '../../src/plan/turn.ts';
import type { setupSync } from './sync-bench.ts';

type Bench = Awaited<ReturnType<typeof setupSync>>;

/** Leaves ai-signals and news alone. */
export const othersOff = {
  MIRROR_SCHEDULE_SMART_WALLETS: 'off',
  MIRROR_SCHEDULE_MEME_SIGNALS: 'off',
  MIRROR_SCHEDULE_USAGE: 'off',
};

/** @returns by job, how old its data was, in milliseconds, each time just before it was renewed. */
export async function live(
  { clock, environment }: Bench,
  settings: Record<string, string>,
  ms: number,
  edit: (now: number) => void = () => undefined,
): Promise<Record<string, number[]>> {
  const app = await openApp({ environment: { ...environment, ...settings }, clock, random: () => 0.5 });
  const turns = createTurns(app, clock.now);
  const scheduled = app.jobs.filter(({ name }) => app.config.schedules[name] !== 'off');
  const due = new Map(scheduled.map((job) => [job, clock.now()]));
  const ages: Record<string, number[]> = Object.fromEntries(scheduled.map(({ name }) => [name, []]));
  for (const end = clock.now() + ms; ; ) {
    const [job, at] = [...due].reduce((first, other) => (other[1] < first[1] ? other : first));
    // What is done a moment after a walk is done before the time until the next one has passed.
    await breath();
    clock.advance(Math.max(0, Math.min(at, end) - clock.now()));
    if (at >= end) break;
    edit(clock.now());
    const before = app.store.completeAsOf(job.name);
    due.set(job, await run(job));
    const renewed = app.store.completeAsOf(job.name) !== before;
    if (renewed && before !== null) ages[job.name]?.push(clock.now() - before);
  }
  await app.close();
  return ages;

  /** @returns when to run again. */
  async function run(job: (typeof scheduled)[number]): Promise<number> {
    const turn = turns.of(job);
    if (turn.at > clock.now()) return turn.askAt;
    try {
      const walk = await app.mirror(job, new AbortController().signal, undefined, turn.kind);
      const every = intervalOf(app.config.schedules[job.name] ?? 'off', clock.now());
      return Math.max(clock.now(), Date.parse(walk.startedAt) + every);
    } catch (thrown) {
      if (thrown instanceof Snooze) return Math.max(thrown.until, clock.now() + 1);
      throw thrown;
    }
  }
}
