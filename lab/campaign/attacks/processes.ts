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
    about: 'kill -9 of daemon, Redis, or both, and nothing else',
    lasts: [5_000, 10_000],
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
    name: 'pause-redis-60s',
    about: 'the same for a minute, with the daemon alive',
    lasts: [60_000, 60_000],
    kills: false,
    async begin({ daemon }) {
      const pid = daemon.redisPid();
      assert.ok(signal(pid, 'SIGSTOP'), 'the daemon runs a Redis');
      return () => void signal(pid, 'SIGCONT');
    },
  },
  {
    name: 'end',
    about: 'SIGTERM: the daemon ends well, within 10 seconds',
    lasts: [0, 0],
    kills: false,
    async begin({ daemon }) {
      await daemon.walked(10_000);
      const began = performance.now();
      const code = await daemon.end();
      daemon.start();
      assert.ok(code === exitCodes.done, `SIGTERM ends the daemon with 0, not ${code}`);
      assert.ok(performance.now() - began < 10_000, 'SIGTERM ends the daemon within 10 seconds');
      return () => undefined;
    },
  },
  {
    name: 'abort',
    about: 'SIGABRT, which would dump core: forbidden by ulimit, so that no file holds the key',
    lasts: [500, 1_500],
    kills: false,
    async begin({ daemon, work }) {
      await daemon.walked(10_000);
      daemon.kill('SIGABRT');
      return () => {
        const dumped = readdirSync(work).filter((name) => name.startsWith('core'));
        assert.ok(dumped.length === 0, `no core is dumped, but ${dumped}`);
      };
    },
  },
  {
    name: 'second-daemon',
    about: 'another `start` on the same folder',
    lasts: [0, 0],
    kills: false,
    async begin({ daemon, cli }) {
      await daemon.walked(10_000);
      const { code } = await cli('start');
      assert.ok(code === exitCodes.incomplete, `a second daemon ends with 75, not ${code}`);
      return () => undefined;
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

const answers = (
  name: string,
  about: string,
  faults: string,
  lasts: Attack['lasts'],
  kills = true,
): Attack => ({
  name,
  about,
  lasts,
  kills,
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
  // Longer than the minute after which a call is given up.
  answers('drip', 'bodies that come a kilobyte a second', 'drip(1s)', [65_000, 70_000], false),
  {
    name: 'pause-api',
    about: 'SIGSTOP of the API: connections open, no answer',
    lasts: [1_000, 6_000],
    kills: true,
    async begin({ upstream }) {
      signal(upstream.pid, 'SIGSTOP');
      return () => void signal(upstream.pid, 'SIGCONT');
    },
  },
];
