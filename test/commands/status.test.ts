/** `status`, for people and for programs: what is well, what is not, and of which looks it knows. */

import { existsSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { isoTime } from '../../src/base/clock.ts';
import { statusCommand } from '../../src/commands/status.ts';
import { readStatus, type Status } from '../../src/reading/status.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import { insert, remove } from '../helpers/edits.ts';
import { noteGlance } from '../helpers/glance-row.ts';
import { runMain } from '../helpers/main.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { othersOff } from '../helpers/virtual-life.ts';
import { digestOf, onTerminal } from '../reading/support.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const everything = ['ai-signals', 'meme-signals', 'news', 'smart-wallets', 'usage'];
const mirrored = (rows = 30) => setup({ rows, walked: everything });

/** A mirror, wherever its clock and its folder are from. */
type Mirror = Pick<Bench, 'clock'> & ({ dir: string } | { environment: Record<string, string> });

const say = (bench: Mirror, args: string[] = [], settings: Record<string, string> = {}) => {
  const environment = 'dir' in bench ? { MIRROR_DIR: bench.dir } : bench.environment;
  return runMain(['status', ...args], { ...environment, ...settings }, bench.clock);
};

async function statusOf(bench: Mirror, settings: Record<string, string> = {}) {
  const { code, stdout } = await say(bench, ['--json'], settings);
  const status = JSON.parse(stdout) as Status;
  expect(code).toBe(status.exitCode);
  const dataset = (job: string) => status.datasets.find((dataset) => dataset.job === job);
  return { ...status, dataset, found: status.problems.map(({ code, job }) => [code, job]) };
}

it('reads a mirror that is well without key, call or change, and says it to programs in a shape with a version', async () => {
  const bench = await mirrored();
  const [before, calls] = [digestOf(bench.store.file), bench.model.calls.length];
  const status = await statusOf(bench);
  expect([digestOf(bench.store.file), bench.model.calls.length]).toEqual([before, calls]);
  expect(status).toMatchObject({ version: 1, exitCode: 0, problems: [], daemon: null });
  expect(status.dataset('news')).toEqual({
    ...{ job: 'news', table: 'news', rows: 30, verdict: 'verified', fresh: true },
    ...{ completeAsOf: '2026-11-21T12:00:00.000Z', ageSeconds: 0 },
    ...{ seenAsOf: '2026-11-21T12:00:00.000Z', seenAgeSeconds: 0, staleAfterSeconds: 600 },
    doing: expect.objectContaining({
      ...{ kind: 'walk', state: 'idle', until: null, reason: null, message: null },
    }),
    ...{ lastChange: '2026-11-21T12:00:00.005Z', nextRun: null },
    ...{ held: 0, heldBack: 0, heldUnkeyed: 0, goneUpstream: 0, quarantined: 0, drifts: 0 },
    notes: { differences: 0, newKey: null, doubtedKey: null, movedRows: null, ages: [], restless: null },
    head: expect.objectContaining({ useful: false, why: 'few-walks' }),
  });
});

it('a mirror that does not exist yet is not made: 75; what is no database is left alone: 74', async () => {
  const { dir, clock } = await setup({ rows: 1 });
  const elsewhere = join(dir, 'elsewhere');
  expect(await say({ dir: elsewhere, clock })).toMatchObject({
    code: 75,
    stderr: expect.stringMatching(/does not exist yet: run market-mirror sync/),
  });
  expect(existsSync(elsewhere)).toBe(false);
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, 'mirror.db'), 'this is no database, whatever its name says'.repeat(100));
  expect(await say({ dir: elsewhere, clock })).toMatchObject({
    code: 74,
    stderr: expect.stringMatching(/not a database/),
  });
});

describe('a dataset that is behind', () => {
  it('is stale after two intervals of its schedule, also of one that was set, and never where it is off', async () => {
    const bench = await mirrored();
    bench.clock.advance(599_000);
    expect((await statusOf(bench)).dataset('news')).toMatchObject({ fresh: true });
    bench.clock.advance(2_000);
    const status = await statusOf(bench);
    expect(status.found).toContainEqual(['stale', 'news']);
    expect(status.dataset('smart-wallets')).toMatchObject({ fresh: true });
    expect(status.exitCode).toBe(75);
    bench.clock.advance(HOUR);
    const others = await statusOf(bench, {
      MIRROR_SCHEDULE_NEWS: 'every 40m',
      MIRROR_SCHEDULE_USAGE: 'off',
    });
    expect(others.found.map(([, job]) => job)).toEqual(['ai-signals', 'meme-signals', 'smart-wallets']);
    expect(others.dataset('usage')).toMatchObject({ fresh: true, staleAfterSeconds: null });
  });

  it('says that it was never complete, and what to do', async () => {
    const { code, stdout } = await say(await setup({ rows: 5 }));
    expect(code).toBe(75);
    expect(stdout).toMatch(
      /^✗ ai-signals, meme-signals, news, smart-wallets, usage: has never been complete\n {2}→ run market-mirror start, or market-mirror sync\n\n/,
    );
  });

  it('says how far its walk is, and what it waits for until when', async () => {
    const bench = await setup({ rows: 250 });
    const stop = new AbortController();
    await bench.mirror('ai-signals', () => stop.abort(), stop.signal).catch(() => undefined);
    const until = '2026-11-21T12:30:00.000Z';
    bench.tamper(`UPDATE walks SET status = 'waiting', waits_until = '${until}', waits_for = 'quota'`);
    expect((await statusOf(bench)).dataset('ai-signals')).toMatchObject({
      doing: { state: 'waiting', until, reason: 'quota', pages: 1, rows: 100, total: 250 },
      nextRun: until,
    });
    expect((await say(bench)).stdout).toMatch(/waits 30m \(quota\) {2}/);
    expect((await say(bench, ['-v'])).stdout).toMatch(/waits 30m \(quota\), page 1, 100 of 250 rows/);
  });

  it('tells a walk under way from one whose process died', async () => {
    const bench = await setup({ rows: 250 });
    let during: Status | undefined;
    const datasets = bench.jobs.map(({ name, table, rows }) => ({
      ...{ name, table, rows, schedule: 'off' as const, weight: 1 },
    }));
    await bench.mirror('ai-signals', () => {
      during ??= readStatus(bench.dir, datasets, bench.clock.now());
    });
    expect(during?.datasets[0]?.doing).toMatchObject({ state: 'running', pages: 1 });
    bench.tamper(`UPDATE walks SET status = 'running'`);
    // Whoever was killed has left its number, which is another process's by now.
    writeFileSync(join(bench.dir, 'locks', 'ai-signals.pid'), `${process.pid}\n`);
    expect((await statusOf(bench)).dataset('ai-signals')?.doing.state).toBe('stopped');
  });
});

it('of the account it tells what is left of the quota, what is reserved, and what each job called in the last hour and day', async () => {
  const bench = await setupSync({ quota: { limit: 100, periodMs: HOUR } });
  await bench.sync('ai-signals');
  const made = bench.model.calls.length;
  const { quota, rate, waits } = await statusOf(bench);
  expect(quota).toMatchObject({ limit: 100, remaining: 100 - made, resets: { known: 'no' } });
  expect(quota.reserve).toBeGreaterThan(0);
  expect([rate, waits]).toEqual([expect.objectContaining({ perSecond: null, source: null }), []]);
  bench.clock.advance(2 * HOUR);
  await bench.sync('usage');
  const { calls } = await statusOf(bench);
  expect(calls).toMatchObject({ lastHour: 1, lastDay: made + 1 });
  expect(calls.byJob).toEqual({
    'ai-signals': { lastHour: 0, lastDay: made },
    usage: { lastHour: 1, lastDay: 1 },
  });
});

it('warns of rows that are held, refused or differ, and ends with 0', async () => {
  const bench = await mirrored();
  bench.upstream('meme-signals').rows.splice(0, 2);
  bench.upstream('news').rows.splice(0, 15);
  Object.assign(bench.upstream('ai-signals').rows[2] ?? {}, { confidence: 'high' });
  Object.assign(bench.upstream('ai-signals').rows[3] ?? {}, { surprise: 1 });
  for (const job of ['ai-signals', 'news', 'meme-signals']) await bench.mirror(job);
  const { found, problems, dataset, exitCode } = await statusOf(bench);
  expect(found).toEqual([
    ['quarantine', 'ai-signals'],
    ['drift', 'ai-signals'],
    ['removal-held', 'news'],
  ]);
  expect([exitCode, new Set(problems.map(({ level }) => level))]).toEqual([0, new Set(['warning'])]);
  expect(dataset('ai-signals')).toMatchObject({ quarantined: 1 });
  expect(dataset('news')).toMatchObject({ rows: 30, held: 15, heldBack: 15, goneUpstream: 0 });
  expect(dataset('meme-signals')).toMatchObject({ held: 2, heldBack: 0 });
});

describe('--watch', () => {
  const oneMirrored = () => setup({ rows: 5, walked: ['ai-signals'] });

  it('goes on until it is stopped, with one line of JSON a look', async () => {
    const bench = await oneMirrored();
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const watching = onTerminal(statusCommand, ['--watch', '--json'], bench, { signal: stop.signal });
    await expect.poll(() => bench.clock.slept.length).toBeGreaterThan(3);
    stop.abort();
    const { stdout, code } = await Promise.race([watching, delay(60_000, { stdout: '', code: -1 })]);
    const looks = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Status);
    expect(looks.length).toBeGreaterThan(3);
    expect(new Set(looks.map(({ at }) => at)).size).toBe(looks.length);
    expect(code).toBe(looks.at(-1)?.exitCode);
  });
});

it('a write-ahead log that a reader keeps long is named by status and doctor, until it has gone', async () => {
  const { dir, store, clock } = await setup({ rows: 5, walked: ['ai-signals'] });
  const reader = openReadOnly(store.file);
  onTestFinished(() => void reader.close());
  const said = async () => {
    const settings = { MIRROR_DIR: dir };
    const { problems } = JSON.parse((await runMain(['status', '--json'], settings, clock)).stdout);
    const { checks } = JSON.parse((await runMain(['doctor', '--offline', '--json'], settings, clock)).stdout);
    return [
      problems.find(({ code }: { code: string }) => code === 'long-log'),
      checks.find(({ name }: { name: string }) => name === 'write-ahead-log'),
    ];
  };
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM walks').get();
  // What is behind its last page is no page of the log.
  truncateSync(`${store.file}-wal`, 70_000_000);
  const advice = expect.stringContaining('fuser -v');
  const [problem, check] = await said();
  expect(problem).toMatchObject({ level: 'warning', advice, exitCode: 0 });
  expect(problem.message).toMatch(/^the write-ahead log is 7\d MB long: a reader/);
  expect(check).toMatchObject({ level: 'warning', advice });
  reader.exec('COMMIT');
  await store.emptyLog();
  expect(await said()).toMatchObject([undefined, { level: 'ok' }]);
});

/** Where nothing but news has to be fresh. */
const settings = { ...othersOff, MIRROR_SCHEDULE_AI_SIGNALS: 'off', MIRROR_SCHEDULE_NEWS: 'every 5m' };

describe('looks at the head', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await setup({ rows: 250, walked: ['news'] });
  });

  const run = (...args: string[]) => runMain(args, { MIRROR_DIR: bench.dir, ...settings }, bench.clock);

  async function status() {
    const read = await statusOf(bench, settings);
    return { ...read, news: read.dataset('news') };
  }

  const lineOf = async (job: string) =>
    (await run('status')).stdout.split('\n').find((line) => line.startsWith(`${job} `));

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

    it('by a clock that was ahead has no time and no age', async () => {
      noteGlance(bench, { job: 'news', startedAt: bench.clock.now() + 60 * MINUTE });
      const { news, exitCode } = await status();
      expect(news).toMatchObject({ seenAsOf: null, seenAgeSeconds: null, ageSeconds: 0, fresh: true });
      expect(exitCode).toBe(0);
      expect(await lineOf('news')).toMatch(/^news +250 +0s ago +– +verified/);
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

  it('what a look at the head tells of rows that are gone upstream is a hint, which starts nothing', async () => {
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
});
