/** The demo, as it runs for people at a terminal, and for programs. */

import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { livePast, PAST_MS, startModel, steppedClock } from '../../src/commands/demo-past.ts';
import { listJobs } from '../../src/job-list.ts';
import { main } from '../../src/main.ts';
import type { Overview } from '../../src/serve/ui/wire.ts';
import { runMain } from '../helpers/main.ts';

/** It waits for the quota of its model as anybody would. */
const within = { timeout: 220_000, interval: 100 };

function demo(isTTY: boolean) {
  let said = '';
  const stdout = {
    isTTY,
    write(text: string | Uint8Array) {
      said += String(text);
      return true;
    },
  };
  const stop = new AbortController();
  const ended = main(['demo'], {
    environment: {},
    clock: systemClock,
    random: Math.random,
    stdout,
    stderr: { write: () => true },
    signal: stop.signal,
  });
  const dir = () => /MIRROR_DIR=(\S+)/.exec(said)?.[1];
  onTestFinished(async () => {
    stop.abort();
    await ended;
    const folder = dir();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });
  return { said: () => said, stop: () => stop.abort(), ended, dir };
}

test('at a terminal it stays, with a key, a curl line and a link that work, until Ctrl-C', async () => {
  const { said, stop, ended, dir } = demo(true);
  await expect.poll(said, within).toContain('Ctrl-C ends it.');
  const [, key, address] =
    /curl -H "Authorization: Bearer (mmkey_\w+)" "(http:\/\/127\.0\.0\.1:\d+\/\S+)"/.exec(said()) ?? [];
  const answer = await fetch(address ?? '', { headers: { Authorization: `Bearer ${key}` } });
  expect([answer.status, ((await answer.json()) as { rows: unknown[] }).rows.length]).toEqual([200, 3]);
  const [link = ''] = /http:\S+\?token=\S+/.exec(said()) ?? [];
  const opened = await fetch(link);
  const cookie = opened.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  const asked = await fetch(new URL('/page/overview', link), { headers: { cookie } });
  expect([opened.status, asked.status]).toEqual([200, 200]);
  const overview = (await asked.json()) as Overview;
  expect(overview.status.datasets.filter(({ fresh }) => !fresh).map(({ job }) => job)).toEqual([
    'meme-signals',
  ]);
  for (const { walks, changes } of overview.datasets) {
    expect(walks.length).toBeGreaterThan(5);
    expect(changes.filter(({ inserted }) => inserted > 0).length).toBeGreaterThan(2);
  }
  stop();
  expect(await ended).toBe(0);
  await expect(fetch(address ?? '')).rejects.toThrow();
  expect(said()).toMatch(/\nStopped\. The sample data stays in (\S+); when you are done: rm -r \1\n$/);
  expect(existsSync(dir() ?? '')).toBe(true);
});

test('what was yesterday can be looked back to from the first look on', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'market-mirror-past-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const now = Date.parse('2026-03-04T16:00:00Z');
  const clock = steppedClock(now - PAST_MS);
  const model = await startModel(clock.now);
  onTestFinished(() => model.close());
  const jobs = (await listJobs()).map(({ name }) => name);
  await livePast(model, { dir, jobs, clock, signal: new AbortController().signal });
  expect(clock.now()).toBe(now);
  const answer = (sql: string, asOf?: string) =>
    runMain(
      ['query', sql, '--format', 'json', ...(asOf ? ['--as-of', asOf] : [])],
      { MIRROR_DIR: dir },
      clock,
    );
  const days = 'SELECT DISTINCT date(started_at) AS day FROM walks WHERE inserted + updated + deleted > 0';
  expect(JSON.parse((await answer(days)).stdout)).toEqual([
    { day: '2026-03-02' },
    { day: '2026-03-03' },
    { day: '2026-03-04' },
  ]);
  const newest = 'SELECT max(timestamp) AS newest FROM ai_signals';
  const yesterday = JSON.parse((await answer(newest, '2026-03-03T16:00:00Z')).stdout);
  expect(yesterday[0].newest < '2026-03-03T16').toBe(true);
  expect(JSON.parse((await answer(newest)).stdout)[0].newest > '2026-03-04T12').toBe(true);
});

test('told to end while it lives its past, it ends, says so and leaves no folder', async () => {
  const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('market-mirror-demo-'));
  const before = new Set(folders());
  const { said, stop, ended } = demo(true);
  await expect.poll(said, within).toContain('a past to look at');
  const [own] = folders().filter((name) => !before.has(name));
  stop();
  expect(await ended).toBe(75);
  expect(said()).toMatch(/\nStopped; nothing is left of it\.\n$/);
  expect(folders()).not.toContain(own);
});

test('elsewhere it ends by itself, and shows no key', async () => {
  const { said, ended } = demo(false);
  expect(await ended).toBe(0);
  expect(said()).toMatch(/All of it is sample data\. It stays in (\S+); when you are done: rm -r \1\n/);
  // No daemon runs any more, so no run is next.
  expect(said()).toContain('no daemon running');
  const [, table = ''] = said().split(/\$ market-mirror (?:status|query)/);
  const next =
    table
      .split('\n')
      .find((line) => line.startsWith('dataset'))
      ?.indexOf('next run') ?? 0;
  const told = table.split('\n').filter((line) => /^(news|usage|ai-signals) /.test(line));
  expect(told.slice(0, 3).map((line) => line.slice(next, next + 8).trim())).toEqual(['–', '–', '–']);
  expect(said()).not.toMatch(/mmkey_|token=/);
});
