import { expect, it } from 'vitest';
import type { PlanJson } from '../../src/plan.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { insert } from '../helpers/edits.ts';
import { read, setupSync } from '../helpers/sync-bench.ts';
import { hastyClock, sharedClock } from '../helpers/virtual-clock.ts';
import { live, othersOff } from '../helpers/virtual-life.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** News, whose walk takes eleven calls; the quota is told with the signals alone. */
const settings = { ...othersOff, MIRROR_SCHEDULE_AI_SIGNALS: 'every 1h', MIRROR_SCHEDULE_NEWS: 'every 5m' };

type Look = { kind: 'walk' | 'glance'; inserted: number; startedAt: string };

/** A mirror of news, of which a new one comes every six minutes. */
async function setup(limit: number, others: Record<string, string> = {}) {
  const bench = await setupSync({ rows: 900, quota: { limit, periodMs: HOUR } });
  const changes = { ...settings, MARKET_API_QUOTA: `${limit}/1h@00:00`, ...others };
  const { news } = bench.model.data;
  let [published, place] = [bench.clock.now(), 0];
  const publish = (now: number) => {
    for (; published + 6 * MINUTE < now; published += 6 * MINUTE) insert(place)(news);
  };
  return {
    liveFor: async (ms: number) => {
      const [since, before] = [bench.clock.now(), bench.model.calls.length];
      await live(bench, changes, ms, publish);
      const looks = read<Look>(
        bench.file,
        `SELECT kind, inserted, started_at AS startedAt FROM walks WHERE job = 'news' AND status = 'complete'
         AND started_at >= '${new Date(since).toISOString()}' ORDER BY id`,
      );
      const times = looks.map(({ startedAt }) => Date.parse(startedAt));
      return {
        calls: bench.model.calls.length - before,
        walks: looks.filter(({ kind }) => kind === 'walk'),
        glances: looks.filter(({ kind }) => kind === 'glance'),
        /** Between a look and the next. */
        longestMs: Math.max(...times.slice(1).map((at, before) => at - (times[before] ?? 0))),
      };
    },
    turnOrder: () => {
      place = -1;
    },
    planned: async () => {
      const { stdout } = await bench.run(['plan', '--json'], changes);
      return (JSON.parse(stdout) as PlanJson).datasets.find(({ job }) => job === 'news');
    },
    told: async () => (await bench.run(['plan'], changes)).stdout,
  };
}

const rowsOf = (looks: readonly Look[]) => looks.reduce((sum, { inserted }) => sum + inserted, 0);

it('scarce calls bring new rows by glances between walks, until those show that they stand elsewhere', async () => {
  const bench = await setup(40);
  await bench.liveFor(3 * HOUR);
  const plan = await bench.planned();
  expect(plan).toMatchObject({
    callsIfChanged: 11,
    callsIfGlanced: 1,
    head: { useful: true, why: 'in-head' },
  });
  expect(plan?.glanceEverySeconds).toBeGreaterThanOrEqual(5 * 60);
  expect(plan?.glanceEverySeconds).toBeLessThan(20 * 60);
  const text = await bench.told();
  expect(text).toMatch(/^dataset .* every +walks +glances +every +calls +max age$/m);
  expect(text).toMatch(/^news .* \d+m, not 5m /m);
  expect(text).toMatch(/^Head of news: glances used, (\d+) of \1 new rows were on the first pages$/m);

  const life = await bench.liveFor(2 * HOUR);
  expect(life.calls).toBeGreaterThan(0.8 * 2 * 36);
  expect(life.glances.length).toBeGreaterThan(1.5 * life.walks.length);
  expect(rowsOf(life.glances)).toBeGreaterThan(rowsOf(life.walks));
  expect(life.longestMs).toBeLessThan((plan?.everySeconds ?? 0) * 1_000);

  bench.turnOrder();
  await bench.liveFor(6 * HOUR);
  expect(await bench.planned()).toMatchObject({
    glances: 0,
    glanceEverySeconds: null,
    callsIfGlanced: null,
    head: { useful: false, why: 'elsewhere' },
  });
});

it('the daemon passes the kind on, and its log tells glances from walks', async () => {
  const { environment, model, sync, file } = await setupSync({ rows: 450 }, sharedClock());
  for (let walks = 0; walks < 3; walks += 1) {
    await sync('news');
    insert(0, 5)(model.data.news);
  }
  const scarce = {
    ...othersOff,
    MIRROR_SCHEDULE_AI_SIGNALS: 'off',
    MIRROR_SCHEDULE_NEWS: 'every 1s',
    MARKET_API_RATE: '1/2s',
  };
  const { lines } = daemonHere({ ...environment, ...scarce }, { clock: hastyClock(10) });
  const glance = () => lines.find(({ msg }) => msg === 'glance complete');
  await expect.poll(glance).toMatchObject({ job: 'news', apiCalls: 1 });
  expect(glance()).not.toHaveProperty('verdict');
  expect(read(file, "SELECT next_due_at IS NOT NULL AS isKnown FROM freshness WHERE job = 'news'")).toEqual([
    { isKnown: 1 },
  ]);
});
