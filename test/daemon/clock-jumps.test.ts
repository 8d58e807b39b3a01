import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Status } from '../../src/reading/status.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { runMain } from '../helpers/main.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { sharedClock } from '../helpers/virtual-clock.ts';
import { othersOff } from '../helpers/virtual-life.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

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
  await walked(before, ['ai-signals', 'news']);

  const well = await status();
  expect(well.problems.filter(({ exitCode }) => exitCode > 0)).toEqual([]);
  for (const { job, nextRun } of well.datasets)
    if (job === 'ai-signals') expect(Date.parse(nextRun ?? '')).toBeLessThan(Date.now() + HOUR + 1_000);
});
