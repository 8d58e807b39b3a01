import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { watchClock } from '../../src/daemon/clock-jumps.ts';
import type { Status } from '../../src/reading/status.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { runMain } from '../helpers/main.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { sharedClock, virtualClock } from '../helpers/virtual-clock.ts';
import { othersOff } from '../helpers/virtual-life.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** What is noticed where the clock is set by so much, each time before the next look. */
async function noticed(jumps: number[]): Promise<number[]> {
  const clock = virtualClock();
  const stop = new AbortController();
  const seen: number[] = [];
  const sleep: typeof clock.sleep = async (ms, signal) => {
    await clock.sleep(ms, signal);
    const by = jumps.shift();
    if (by === undefined) stop.abort();
    else clock.jump(by);
  };
  await watchClock({ ...clock, sleep }, (by) => void seen.push(by), stop.signal);
  return seen;
}

describe('a watch on the clock', () => {
  it.each([
    ['set forward and back', [0, 3 * DAY, 0, 0, -3 * DAY, 0], [3 * DAY, -3 * DAY]],
    ['set back and forward', [-2 * DAY, 0, 2 * DAY], [-2 * DAY, 2 * DAY]],
    ['set twice in a row', [HOUR, HOUR], [HOUR, HOUR]],
    ['left behind by a machine that slept: its other clock stood still', [0, 8 * HOUR, 0], [8 * HOUR]],
    ['set by no more than what may be rounding', [1_000, -1_000, 2_000], []],
    ['set little by little', [1_500, 1_500, 1_500, 0], [3_000]],
    ['never set', Array<number>(1_000).fill(0), []],
  ])('that is %s', async (_, jumps, expected) => {
    expect(await noticed(jumps)).toEqual(expected);
  });
});

it('a daemon whose clock was days ahead mirrors at once when it is set right, and then all is well', async () => {
  const { environment } = await setupSync({ rows: 5 }, sharedClock());
  let ahead = 3 * DAY;
  const clock = { ...systemClock, now: () => Date.now() + ahead };
  const settings = {
    ...environment,
    ...othersOff,
    MIRROR_SCHEDULE_AI_SIGNALS: 'every 1h',
    MIRROR_SCHEDULE_NEWS: '0 0 1 1 *',
  };
  const { lines } = daemonHere(settings, { clock });
  const walks = () => lines.filter(({ msg }) => msg === 'walk complete').map(({ job }) => job);
  const status = async () =>
    JSON.parse((await runMain(['status', '--json'], settings, clock)).stdout) as Status;

  const walked = (from: number, jobs: string[]) =>
    expect.poll(() => new Set(walks().slice(from))).toEqual(new Set(jobs));
  await walked(0, ['ai-signals', 'news']);
  await expect.poll(() => lines.some(({ msg }) => msg.startsWith('mirroring'))).toBe(true);
  const before = walks().length;
  ahead = 0;
  await expect.poll(() => lines.some(({ msg }) => /clock/.test(msg))).toBe(true);
  await walked(before, ['ai-signals', 'news']);

  expect(lines.filter(({ msg }) => /clock/.test(msg))).toEqual([
    expect.objectContaining({
      msg: 'the clock was set back by 3d',
      seconds: -259_200,
    }),
  ]);
  const well = await status();
  expect(well.problems.filter(({ exitCode }) => exitCode > 0)).toEqual([]);
  for (const { job, nextRun } of well.datasets)
    if (job === 'ai-signals') expect(Date.parse(nextRun ?? '')).toBeLessThan(Date.now() + HOUR + 1_000);
});
