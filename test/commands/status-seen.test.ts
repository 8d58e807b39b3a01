/** What `status` says of looks at the head: told apart from proofs, and from walks. */

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { isoTime } from '../../src/clock.ts';
import type { PlanJson } from '../../src/plan.ts';
import type { Status } from '../../src/reading/status.ts';
import { isLock, tryLock } from '../../src/store.ts';
import { insert, remove } from '../helpers/edits.ts';
import { noteGlance } from '../helpers/glance-row.ts';
import { runMain } from '../helpers/main.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { live, othersOff } from '../helpers/virtual-life.ts';

const MINUTE = 60_000;

/** Where nothing but news has to be fresh. */
const settings = { ...othersOff, MIRROR_SCHEDULE_AI_SIGNALS: 'off', MIRROR_SCHEDULE_NEWS: 'every 5m' };

let bench: Bench;
beforeEach(async () => {
  bench = await setup({ rows: 250 });
  await bench.mirror('news');
});

const run = (...args: string[]) => runMain(args, { MIRROR_DIR: bench.dir, ...settings }, bench.clock);

async function status() {
  const { code, stdout } = await run('status', '--json');
  const read = JSON.parse(stdout) as Status;
  expect(code).toBe(read.exitCode);
  return { ...read, news: read.datasets.find(({ job }) => job === 'news') };
}

const lineOf = async (job: string) =>
  (await run('status')).stdout.split('\n').find((line) => line.startsWith(`${job} `));

/** A head worth glances: five new rows in front of each of four walks. */
async function learn(): Promise<void> {
  for (let walk = 0; walk < 4; walk += 1) {
    bench.clock.advance(60 * MINUTE);
    insert(0, 5)(bench.upstream('news'));
    await bench.mirror('news');
  }
}

describe('a glance', () => {
  it('shows as seen, beside what is proven, and makes nothing fresh', async () => {
    const proven = isoTime(bench.clock.now());
    bench.clock.advance(8 * MINUTE);
    const seen = isoTime(bench.clock.now());
    insert(0, 2)(bench.upstream('news'));
    expect(await bench.glance('news')).toMatchObject({ kind: 'glance', inserted: 2 });
    bench.clock.advance(MINUTE);
    const well = await status();
    expect(well.news).toMatchObject({
      rows: 252,
      completeAsOf: proven,
      ageSeconds: 540,
      verdict: 'verified',
    });
    expect(well.news).toMatchObject({ seenAsOf: seen, seenAgeSeconds: 60, fresh: true });
    expect(well.news?.doing).toMatchObject({ kind: 'walk', state: 'idle', rows: 250 });
    expect(await lineOf('news')).toMatch(/^news +252 +9m ago +1m ago +verified +idle/);

    bench.clock.advance(2 * MINUTE);
    const { problems, exitCode, news } = await status();
    expect(news).toMatchObject({ fresh: false, seenAgeSeconds: 180 });
    expect(problems).toMatchObject([{ code: 'stale', job: 'news' }]);
    expect(problems[0]?.message).toContain(`last complete ${proven} (limit 10m), last checked ${seen}: `);
    expect(exitCode).toBe(75);
  });

  it('that has not ended well has seen nothing', async () => {
    const { news: before } = await status();
    for (const state of ['running', 'waiting', 'failed'] as const) {
      bench.clock.advance(1_000);
      noteGlance(bench, { job: 'news', status: state });
      expect((await status()).news?.seenAsOf).toBe(before?.seenAsOf);
    }
  });

  it('by a clock that was ahead has no time and no age', async () => {
    noteGlance(bench, { job: 'news', startedAt: bench.clock.now() + 60 * MINUTE });
    const { news, exitCode } = await status();
    expect(news).toMatchObject({ seenAsOf: null, seenAgeSeconds: null, ageSeconds: 0, fresh: true });
    expect(exitCode).toBe(0);
    expect(await lineOf('news')).toMatch(/^news +250 +0s ago +– +verified/);
  });

  it('is shown as one while it runs and while it waits', async () => {
    insert(0, 150)(bench.upstream('news'));
    const stop = new AbortController();
    await bench.glance('news', () => stop.abort(), stop.signal).catch(() => undefined);
    // Once stopped it says nothing of the dataset.
    expect((await status()).news?.doing).toMatchObject({ kind: 'walk', state: 'idle' });
    bench.tamper(`UPDATE walks SET status = 'running' WHERE kind = 'glance'`);
    const lock = tryLock(bench.dir, 'news');
    if (isLock(lock)) onTestFinished(lock.release);
    expect((await status()).news?.doing).toMatchObject({ kind: 'glance', state: 'running', pages: 1 });
    expect(await lineOf('news')).toMatch(/ glance {2,}/);
    // Its end would prove nothing.
    bench.clock.advance(11 * MINUTE);
    expect((await status()).problems[0]?.advice).toMatch(/^run market-mirror start/);
    const until = isoTime(bench.clock.now() + 30 * MINUTE);
    bench.tamper(
      `UPDATE walks SET status = 'waiting', waits_until = '${until}', waits_for = 'quota' WHERE kind = 'glance'`,
    );
    const { news } = await status();
    expect(news?.doing).toMatchObject({ kind: 'glance', state: 'waiting', until, reason: 'quota' });
    expect(news?.nextRun).toBe(until);
    expect(await lineOf('news')).toMatch(/ waits 30m \(quota\) {2,}/);
  });

  it('that met an error is a warning, until a walk has taken its place', async () => {
    bench.model.faults = [when({}, faults.members({ rows: 5 }))];
    await expect(bench.glance('news')).rejects.toMatchObject({ kind: 'contract' });
    const { problems, exitCode } = await status();
    expect(problems).toMatchObject([{ code: 'failed', job: 'news' }]);
    expect(problems[0]?.message).toMatch(/^its last glance failed: .*broke its contract/);
    expect(exitCode).toBe(0);
    expect(await lineOf('news')).toMatch(/ glance failed /);
    bench.model.faults = [];
    await bench.mirror('news');
    expect((await status()).problems).toEqual([]);
  });
});

describe('what a look at the head tells', () => {
  it('of rows that are gone upstream is a hint, which starts nothing', async () => {
    remove(200, 3)(bench.upstream('news'));
    await bench.glance('news');
    const { news, problems } = await status();
    expect(news).toMatchObject({ rows: 250, goneUpstream: 3, fresh: true, held: 0 });
    expect(problems).toEqual([]);
    expect((await run('status', '-v')).stdout).toMatch(/^news: at least 3 rows are gone upstream$/m);
    expect(bench.sql('SELECT * FROM news WHERE _held_since IS NOT NULL')).toEqual([]);
    for (let walk = 0; walk < 2; walk += 1) await bench.mirror('news');
    expect((await status()).news).toMatchObject({ rows: 247, goneUpstream: 0 });
    expect((await run('status', '-v')).stdout).not.toContain('gone upstream');
  });

  it('is not said where the API gives no total', async () => {
    await bench.mirror('usage');
    const { datasets } = await status();
    expect(datasets.find(({ job }) => job === 'usage')?.goneUpstream).toBeNull();
  });

  it('teaches whether glances are worth their calls, and how well they did', async () => {
    await learn();
    insert(0, 2)(bench.upstream('news'));
    await bench.glance('news');
    insert(200)(bench.upstream('news'));
    await bench.mirror('news');
    const { news } = await status();
    expect(news).toMatchObject({ head: { useful: true, why: 'in-head' }, graded: { brought: 2, of: 3 } });
    const { stdout } = await run('status', '-v');
    expect(stdout).toMatch(/^news: worth glances, \d+ of \d+ new rows .*; 2 of 3 rows new at the last walk/m);
    expect(stdout).not.toMatch(/^(ai-signals|usage): /m);
  });
});

describe('a dataset is stale', () => {
  it('when it is older than twice the interval that the plan holds for it, where calls are scarce', async () => {
    const bench = await setupSync({ rows: 220, quota: { limit: 60, periodMs: 60 * MINUTE } });
    const changes = {
      ...settings,
      MIRROR_SCHEDULE_NEWS: 'every 1m',
      MIRROR_SCHEDULE_AI_SIGNALS: 'every 20m',
    };
    await live(bench, changes, 180 * MINUTE);
    const json = async <T>(command: string) =>
      JSON.parse((await bench.run([command, '--json'], changes)).stdout) as T;
    const planned = (await json<PlanJson>('plan')).datasets.find(({ job }) => job === 'news');
    const everySeconds = planned?.everySeconds ?? 0;
    expect(everySeconds).toBeGreaterThan(150);
    const news = async () => (await json<Status>('status')).datasets.find(({ job }) => job === 'news');
    const { ageSeconds, staleAfterSeconds, fresh } = (await news()) ?? {};
    expect([staleAfterSeconds, fresh]).toEqual([2 * everySeconds, true]);
    bench.clock.advance((2 * everySeconds - (ageSeconds ?? 0)) * 1_000 - 5_000);
    expect(await news()).toMatchObject({ fresh: true });
    bench.clock.advance(MINUTE);
    expect(await news()).toMatchObject({ fresh: false });
  });
});
