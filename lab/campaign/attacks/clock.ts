/** Attacks on the clock, by libfaketime: the daemon, `status` and the consumer all live in the time that it makes. */

import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { libfaketime } from '../../../test/helpers/tools.ts';
import type { World } from '../world.ts';
import type { Attack, End } from './attack.ts';

/** libfaketime looks at its file once a second. */
const UNTIL_SEEN_MS = 1_500;

const clock = (name: string, about: string, lasts: Attack['lasts'], begin: Attack['begin']): Attack => ({
  name,
  about,
  lasts,
  kills: true,
  impossible: () => undefined,
  begin,
});

export const clockAttacks: readonly Attack[] = [
  clock('clock-ahead', 'the clock jumps three days ahead, and back after a while', [3_000, 8_000], (world) =>
    shift(world, '+3d'),
  ),
  clock(
    'clock-behind',
    'the clock jumps two days back, and ahead again after a while',
    [3_000, 8_000],
    (world) => shift(world, '-2d'),
  ),
  clock(
    'clock-wrong',
    'the daemon starts two days behind, and its clock is set right later',
    [6_000, 10_000],
    (world) => shift(world, '-2d', true),
  ),
];

async function shift(world: World, offset: string, fromTheStart = false): Promise<End> {
  const file = join(world.scratch, 'clock');
  const set = (to: string) => writeFileSync(file, `${to}\n`);
  set(fromTheStart ? offset : '+0');
  Object.assign(world.extra, {
    LD_PRELOAD: libfaketime(),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    FAKETIME_CACHE_DURATION: '1',
  });
  const before = new Set(sharedMemory());
  await world.daemon.restart();
  await world.daemon.walked(10_000);
  set(offset);
  return async () => {
    set('+0');
    await delay(UNTIL_SEEN_MS);
    for (const name of Object.keys(world.extra).filter((name) => /^(LD_PRELOAD|FAKETIME_)/.test(name)))
      delete world.extra[name];
    // The daemon that saw the jump goes on in the right time.
    await world.daemon.walked(5_000);
    sweep(before);
  };
}

/** What libfaketime leaves behind where its process is killed. */
function sharedMemory(): string[] {
  return readdirSync('/dev/shm').filter((name) => /^(sem\.)?faketime_/.test(name));
}

function sweep(before: ReadonlySet<string>): void {
  for (const name of sharedMemory().filter((name) => !before.has(name)))
    rmSync(join('/dev/shm', name), { force: true });
}
