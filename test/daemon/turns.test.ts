import { expect, it, onTestFinished } from 'vitest';
import { mean } from '../../lab/figures.ts';
import { type App, openApp } from '../../src/app.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { State } from '../../src/governor/state.ts';
import { createTurns } from '../../src/plan/turn.ts';
import type { PlanJson } from '../../src/plan.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { read, setupSync } from '../helpers/sync-bench.ts';
import { sharedClock } from '../helpers/virtual-clock.ts';
import { live, othersOff } from '../helpers/virtual-life.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Twice as many calls as there are. */
const settings = { MIRROR_SCHEDULE_AI_SIGNALS: 'every 3m', MIRROR_SCHEDULE_NEWS: 'every 10m', ...othersOff };

const longest = (ages: number[] = []) => Math.max(...ages);

it('where the schedules ask for more calls than there are, each dataset is held to the age that the plan says, and the calls are all used', async () => {
  const limit = 22;
  const bench = await setupSync({ rows: 101, quota: { limit, periodMs: HOUR } });
  const untaught = await live(bench, settings, 3 * HOUR);
  // Before the period is known, the calls are gone well before the hour is over, and the rest of it passes without.
  expect(longest(untaught['ai-signals'])).toBeGreaterThan(15 * MINUTE);

  const plan = JSON.parse((await bench.run(['plan', '--json'], settings)).stdout) as PlanJson;
  expect(plan.schedules).toBe('scarce');
  const held = (job: string) =>
    (plan.datasets.find((dataset) => dataset.job === job)?.heldToSeconds ?? 0) * 1_000;
  expect(held('ai-signals')).toBeLessThan(10 * MINUTE);
  const before = bench.model.calls.length;
  const ages = await live(bench, settings, 3 * HOUR);
  for (const job of ['ai-signals', 'news']) {
    const age = mean(ages[job] ?? []);
    expect(age / held(job)).toBeGreaterThan(0.8);
    expect(age / held(job)).toBeLessThan(1.2);
    expect(longest(ages[job])).toBeLessThan(3.5 * held(job));
  }
  expect(bench.model.calls.length - before).toBeGreaterThanOrEqual(3 * (limit - 2));
});

it('of a quota that is nearly gone for weeks, every dataset still gets a walk a day', async () => {
  const bench = await setupSync({ rows: 30 });
  await live(bench, settings, 15 * MINUTE);
  const { clock, environment } = bench;
  const app = await openApp({ environment: { ...environment, ...settings }, clock, random: () => 0.5 });
  onTestFinished(() => app.close());
  const waitWith = (left: number) => {
    leave(app, left, clock.now());
    return createTurns(app, clock.now).of(app.job('news')).at - (app.store.lastRun('news') ?? 0);
  };
  expect(waitWith(60)).toBe(DAY);
  // With nothing left to share, it is the governor that knows when to look.
  expect(waitWith(1)).toBeLessThan(HOUR);
});

it('a daemon that starts says when a dataset that waits for its turn is next due, not when its schedule has it', async () => {
  const { environment, file, sync } = await setupSync({ rows: 30 }, sharedClock());
  await sync('news');
  const scarce = { ...environment, ...settings, MIRROR_SCHEDULE_AI_SIGNALS: 'off' };
  const app = await openApp({ environment: scarce, clock: systemClock, random: () => 0.5 });
  leave(app, 25, Date.now());
  const last = app.store.lastRun('news') ?? 0;
  await app.close();
  const { lines } = daemonHere(scarce);
  await expect.poll(() => lines.some(({ msg }) => msg.startsWith('mirroring'))).toBe(true);
  const nextDue = () =>
    read<{ at: string }>(file, "SELECT next_due_at AS at FROM _datasets WHERE job = 'news'")[0]?.at;
  // 24 walks of one call in twenty days.
  await expect.poll(() => Date.parse(nextDue() ?? '') - last).toBeGreaterThan(19 * HOUR);
});

/** Leaves so many of ten thousand calls a month, for certain; more come in twenty days. */
function leave({ store }: App, left: number, now: number): void {
  store.governor.transact((kept) => {
    const state = kept as State;
    const reset = { afterAt: now - 10 * DAY, beforeAt: now - 10 * DAY };
    const known = {
      limit: 10_000,
      hasHeader: true,
      left,
      knownAt: now,
      reset,
      leastMs: 30 * DAY,
      mostMs: 30 * DAY,
    };
    const ledger = { ...(state.pools[''] as State['pools'][string]), ...known, resets: 2 };
    return { state: { ...state, pools: { '': ledger } }, result: undefined };
  });
}
