/** Attacks on the processes themselves, and on their clock by libfaketime: daemon, `status` and consumer all live in the time that it makes. */

import assert from 'node:assert/strict';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { exitCodes } from '../../../src/base/errors.ts';
import { libfaketime } from '../../../test/helpers/tools.ts';
import type { Attack, End } from '../attacks.ts';
import { signal } from '../world/processes.ts';
import type { World } from '../world.ts';

const FULL_WALKS = "SELECT count(*) AS walks FROM walks WHERE job = 'news' AND verdict = 'verified'";

export const processAttacks: readonly Attack[] = [
  {
    name: 'kill',
    about: 'kill -9 of daemon, Redis, both, or `serve`, and nothing else',
    lasts: [2_000, 6_000],
    kills: true,
    begin: async () => () => undefined,
  },
  {
    name: 'pause',
    about: 'SIGSTOP of the daemon, SIGCONT later',
    lasts: [1_000, 6_000],
    kills: true,
    async begin({ daemon }) {
      const pid = daemon.pid();
      signal(pid, 'SIGSTOP');
      return () => void signal(pid, 'SIGCONT');
    },
  },
  {
    name: 'pause-redis',
    about: 'SIGSTOP of Redis, SIGCONT later; the daemon may be killed meanwhile',
    lasts: [1_000, 6_000],
    kills: true,
    async begin({ daemon }) {
      const pid = daemon.redisPid();
      signal(pid, 'SIGSTOP');
      return () => void signal(pid, 'SIGCONT');
    },
  },
  {
    name: 'glances',
    about: 'so low a MARKET_API_RATE that the daemon glances, and is killed meanwhile; then it is as before',
    lasts: [10_000, 20_000],
    kills: true,
    async begin({ daemon, extra, sql }) {
      // Heads are learnt from three walks.
      while ((sql<{ walks: number }>(FULL_WALKS)[0]?.walks ?? 0) < 4 && (await daemon.walked(30_000)));
      extra['MARKET_API_RATE'] = '1/1s';
      await daemon.restart();
      return async () => {
        delete extra['MARKET_API_RATE'];
        await daemon.restart();
      };
    },
  },
  {
    name: 'sync-beside',
    about: '`sync` beside the daemon',
    lasts: [0, 0],
    kills: true,
    async begin({ cli }) {
      const { code, stderr } = await cli('sync');
      const may: (number | null)[] = [exitCodes.done, exitCodes.incomplete];
      assert.ok(
        may.includes(code),
        `sync beside a daemon ends with 0 or 75, not ${code}: ${stderr.slice(-300)}`,
      );
      return () => undefined;
    },
  },
];

/** libfaketime looks at its file once a second. */
const UNTIL_SEEN_MS = 1_500;

const clock = (name: string, about: string, lasts: Attack['lasts'], begin: Attack['begin']): Attack => ({
  name,
  about,
  lasts,
  kills: true,
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

const answers = (name: string, about: string, faults: string, lasts: Attack['lasts']): Attack => ({
  name,
  about,
  lasts,
  kills: true,
  async begin({ upstream }) {
    await upstream.faults(faults);
    return () => upstream.faults('');
  },
});

export const apiAttacks: readonly Attack[] = [
  answers(
    'bad-answers',
    'every third answer is broken: 503, a reset, a cut body, a web page',
    '503:0.1,reset:0.1,reset-mid-body:0.1,truncated:0.05,html:0.05',
    [2_000, 6_000],
  ),
  answers('slow-answers', 'every answer takes half a second', 'slow(500ms)', [3_000, 6_000]),
  {
    name: 'pause-api',
    about: 'the API takes connections, and answers none',
    lasts: [1_000, 6_000],
    kills: true,
    begin: async ({ upstream }) => upstream.pause(),
  },
];
