import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DAY_MS } from '../../src/clock.ts';
import { readStatus, type Status } from '../../src/reading/status.ts';
import { Database } from '../../src/store/sqlite.ts';
import { runMain } from '../helpers/main.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { digestOf } from '../reading/support.ts';

const jobs = ['ai-signals', 'news', 'smart-wallets', 'meme-signals', 'usage'];

async function mirrored(rows = 30): Promise<Bench> {
  const bench = await setup({ rows });
  for (const job of jobs) await bench.mirror(job);
  return bench;
}

const environmentOf = ({ dir }: Bench) => ({ MIRROR_DIR: dir });

async function statusOf(bench: Bench, environment: Record<string, string> = {}) {
  const args = ['status', '--json'];
  const { code, stdout } = await runMain(args, { ...environmentOf(bench), ...environment }, bench.clock);
  const status = JSON.parse(stdout) as Status;
  expect(code).toBe(status.exitCode);
  const dataset = (job: string) => status.datasets.find((dataset) => dataset.job === job);
  return { ...status, dataset, found: status.problems.map(({ code, job }) => [code, job]) };
}

/** Changes what the mirror says of itself, as its engine would have. */
function edit(bench: Bench, sql: string): void {
  const connection = new Database(bench.store.file);
  connection.exec(sql);
  connection.close();
}

describe('a mirror that is well', () => {
  it('is read without the key, without a call and without a change', async () => {
    const bench = await mirrored();
    const [before, calls] = [digestOf(bench.store.file), bench.model.calls.length];
    await statusOf(bench);
    expect(digestOf(bench.store.file)).toBe(before);
    expect(bench.model.calls.length).toBe(calls);
  });

  it('says the same to programs, in a shape with a version', async () => {
    const status = await statusOf(await mirrored());
    expect(status).toMatchObject({ version: 1, exitCode: 0, problems: [], daemon: null });
    expect(status.dataset('news')).toEqual({
      job: 'news',
      table: 'news',
      rows: 30,
      completeAsOf: '2026-11-21T12:00:00.000Z',
      ageSeconds: 0,
      verdict: 'verified',
      seenAsOf: '2026-11-21T12:00:00.000Z',
      seenAgeSeconds: 0,
      staleAfterSeconds: 600,
      fresh: true,
      doing: expect.objectContaining({
        kind: 'walk',
        state: 'idle',
        until: null,
        reason: null,
        message: null,
      }),
      lastChange: '2026-11-21T12:00:00.002Z',
      nextRun: null,
      held: 0,
      heldBack: 0,
      goneUpstream: 0,
      quarantined: 0,
      drifts: 0,
      head: expect.objectContaining({ useful: false, why: 'few-walks' }),
      graded: null,
    });
  });
});

describe('a dataset that is behind', () => {
  it('is stale after two intervals of its schedule', async () => {
    const bench = await mirrored();
    bench.clock.advance(599_000);
    expect((await statusOf(bench)).dataset('news')).toMatchObject({ fresh: true });
    bench.clock.advance(2_000);
    const status = await statusOf(bench);
    expect(status.found).toContainEqual(['stale', 'news']);
    expect(status.dataset('smart-wallets')).toMatchObject({ fresh: true });
    expect(status.exitCode).toBe(75);
  });

  it('is stale after two intervals of the schedule that was set, and never where it is off', async () => {
    const bench = await mirrored();
    bench.clock.advance(3_600_000);
    const status = await statusOf(bench, {
      MIRROR_SCHEDULE_NEWS: 'every 40m',
      MIRROR_SCHEDULE_USAGE: 'off',
    });
    expect(status.found.map(([, job]) => job)).toEqual(['ai-signals', 'meme-signals', 'smart-wallets']);
    expect(status.dataset('usage')).toMatchObject({ fresh: true, staleAfterSeconds: null });
  });

  it('says that it was never complete, and what to do', async () => {
    const bench = await setup({ rows: 5 });
    const { code, stdout } = await runMain(['status'], environmentOf(bench), bench.clock);
    expect(code).toBe(75);
    expect(stdout).toMatch(
      /^✗ ai-signals: has never been complete\n {2}→ run market-mirror start, or market-mirror sync ai-signals/,
    );
  });

  it('says how far its walk is, and what it waits for until when', async () => {
    const bench = await setup({ rows: 250 });
    const stop = new AbortController();
    await bench.mirror('ai-signals', () => stop.abort(), stop.signal).catch(() => undefined);
    const until = '2026-11-21T12:30:00.000Z';
    edit(bench, `UPDATE walks SET status = 'waiting', waits_until = '${until}', waits_for = 'quota'`);
    const status = await statusOf(bench);
    expect(status.dataset('ai-signals')?.doing).toMatchObject({
      state: 'waiting',
      until: '2026-11-21T12:30:00.000Z',
      reason: 'quota',
      pages: 1,
      rows: 100,
      total: 250,
    });
    expect(status.dataset('ai-signals')?.nextRun).toBe('2026-11-21T12:30:00.000Z');
    const run = async (...args: string[]) =>
      (await runMain(['status', ...args], environmentOf(bench), bench.clock)).stdout;
    expect(await run()).toMatch(/waits 30m \(quota\) {2}/);
    expect(await run('-v')).toMatch(/waits 30m \(quota\), page 1, 100 of 250 rows/);
  });

  it('tells a walk under way from one whose process died', async () => {
    const bench = await setup({ rows: 250 });
    let during: Status | undefined;
    const datasets = bench.jobs.map((job) => ({
      name: job.name,
      table: job.table,
      rows: job.rows,
      schedule: 'off' as const,
      weight: 1,
    }));
    await bench.mirror('ai-signals', () => {
      during ??= readStatus(bench.dir, datasets, 'full', bench.clock.now());
    });
    expect(during?.datasets[0]?.doing).toMatchObject({ state: 'running', pages: 1 });
    edit(bench, `UPDATE walks SET status = 'running'`);
    // Whoever was killed has left its number, which is another process's by now.
    writeFileSync(join(bench.dir, 'locks', 'ai-signals.pid'), `${process.pid}\n`);
    expect((await statusOf(bench)).dataset('ai-signals')?.doing.state).toBe('stopped');
  });
});

describe('what the API said', () => {
  it('of the key makes the exit code 77', async () => {
    const bench = await mirrored();
    bench.clock.advance(1_000);
    edit(
      bench,
      `INSERT INTO requests (at, job, url, status, ms, bytes) VALUES ('2026-11-21T12:00:01.000Z', 'news', '/api/v1/news', 401, 1, 1)`,
    );
    const status = await statusOf(bench);
    expect(status.problems[0]).toMatchObject({
      level: 'error',
      code: 'key-refused',
      job: null,
      exitCode: 77,
    });
    expect(status.exitCode).toBe(77);
  });

  it('of one scope concerns that dataset alone, with the request to ask about', async () => {
    const bench = await mirrored();
    edit(
      bench,
      `INSERT INTO requests (at, job, url, status, ms, bytes, request_id, error_code) VALUES ('2026-11-21T12:00:00.000Z', 'news', '/api/v1/news', 403, 1, 1, 'r-7', 'missing_scope')`,
    );
    const status = await statusOf(bench);
    expect(status.found).toEqual([['scope-missing', 'news']]);
    expect(status.problems[0]?.advice).toContain('X-Request-ID r-7');
    expect(status.exitCode).toBe(77);
  });

  it('is forgotten once a later call succeeds', async () => {
    const bench = await mirrored();
    edit(
      bench,
      `INSERT INTO requests (at, job, url, status, ms, bytes) VALUES ('2026-11-21T12:00:00.000Z', 'news', '/', 401, 1, 1), ('2026-11-21T12:00:00.000Z', 'news', '/', 200, 1, 1)`,
    );
    expect((await statusOf(bench)).exitCode).toBe(0);
  });

  it('of too many calls is counted for a day', async () => {
    const bench = await mirrored();
    edit(
      bench,
      `INSERT INTO requests (at, job, url, status, ms, bytes) VALUES ('2026-11-20T11:59:59.000Z', 'news', '/', 429, 1, 1), ('2026-11-20T12:00:01.000Z', 'news', '/', 429, 1, 1), ('2026-11-21T12:00:00.000Z', 'news', '/', 200, 1, 1)`,
    );
    const { calls } = await statusOf(bench);
    expect(calls.limitedLastDay).toBe(1);
    expect(calls.todayByJob['news']).toBe(
      bench.model.calls.filter(({ path }) => path.includes('news')).length + 1,
    );
  });
});

describe('a proof that one call renewed', () => {
  it('shows in the calls that it saved, today and in all', async () => {
    const bench = await mirrored(450);
    for (const hours of [1, 12]) {
      bench.clock.advance(hours * 3_600_000);
      await bench.mirror('ai-signals');
    }
    const { calls } = await statusOf(bench);
    expect(calls).toMatchObject({ savedToday: 4, savedInAll: 8 });
    const { stdout } = await runMain(['status', '-v'], environmentOf(bench), bench.clock);
    expect(stdout).toContain('; saved by one-call proofs today / in all: 4 / 8');
  });
});

describe('the growth of the mirror', () => {
  it('is told once it is a day old, by what came after the first walks', async () => {
    const bench = await mirrored(100);
    const growth = async () =>
      (await runMain(['status', '-v'], environmentOf(bench), bench.clock)).stdout.match(
        /^Growth: (.*)$/m,
      )?.[1];
    expect(await growth()).toBe('not known before the mirror is a day old');
    bench.clock.advance(2 * DAY_MS);
    expect(await growth()).toMatch(
      /^about [\d.]+ kB a day; the \d.* free on the disk last more than 10 years$/,
    );
    const { rows } = bench.upstream('news');
    rows.push(
      ...rows.slice(0, 90).map((row, at) => ({ ...row, id: `new-${at}`, text: 'x'.repeat(100_000) })),
    );
    await bench.mirror('news');
    // 90 of some 500 rows, at the mean size of all, in two days.
    expect(await growth()).toMatch(/^about (9\d\d kB|1(\.\d)? MB) a day; .* free on the disk last /);
  });
});

describe('warnings leave the exit code at 0', () => {
  it('of rows that are gone upstream, too many to remove at once', async () => {
    const bench = await mirrored();
    bench.upstream('meme-signals').rows.splice(0, 2);
    bench.upstream('news').rows.splice(0, 15);
    for (const job of ['news', 'meme-signals']) await bench.mirror(job);
    const status = await statusOf(bench);
    expect(status.found).toEqual([['removal-held', 'news']]);
    expect(status.dataset('news')).toMatchObject({ rows: 30, held: 15, heldBack: 15, goneUpstream: 0 });
    expect(status.dataset('meme-signals')).toMatchObject({ held: 2, heldBack: 0 });
    expect(status.exitCode).toBe(0);
  });

  it('of refused rows and of fields that differ', async () => {
    const bench = await mirrored();
    Object.assign(bench.upstream('ai-signals').rows[2] ?? {}, { confidence: 'high' });
    Object.assign(bench.upstream('ai-signals').rows[3] ?? {}, { surprise: 1 });
    await bench.mirror('ai-signals');
    const status = await statusOf(bench);
    expect(status.found).toEqual([
      ['quarantine', 'ai-signals'],
      ['drift', 'ai-signals'],
    ]);
    expect(status.problems.map(({ level }) => level)).toEqual(['warning', 'warning']);
    expect(status.dataset('ai-signals')).toMatchObject({ quarantined: 1 });
    expect(status.exitCode).toBe(0);
  });
});

describe('a run that failed while the copy is still fresh', () => {
  it('makes the exit code that of its failure', async () => {
    const bench = await mirrored();
    edit(
      bench,
      `INSERT INTO walks (job, status, started_at, error, error_kind) VALUES ('news', 'failed', '2026-11-21T12:00:00.000Z', 'the API broke \u001b[31mits contract', 'contract')`,
    );
    const status = await statusOf(bench);
    expect(status.found).toEqual([['failed', 'news']]);
    expect(status.exitCode).toBe(65);
    const { stdout } = await runMain(['status'], environmentOf(bench), bench.clock);
    expect(stdout).toContain('the API broke \\u{1b}[31mits contract');
  });
});
