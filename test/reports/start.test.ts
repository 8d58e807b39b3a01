/** Reports of `start`: after commits, by their schedules, with Redis and without; one that fails rests. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { keepReporting } from '../../src/daemon/reporting.ts';
import { listJobs, tablesOf } from '../../src/job/list.ts';
import { loadJobs } from '../../src/job/load.ts';
import { type Report, reportDue } from '../../src/reports.ts';
import { openStore } from '../../src/store.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { insert, publish } from '../helpers/edits.ts';
import { runMain } from '../helpers/main.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { sharedClock } from '../helpers/virtual-clock.ts';
import { othersOff } from '../helpers/virtual-life.ts';
import { setupReports, startWebhook } from './support.ts';

const everyTwoSeconds = { ...othersOff, MIRROR_SCHEDULE_AI_SIGNALS: 'every 2s', MIRROR_SCHEDULE_NEWS: 'off' };

async function setup(files: Record<string, string>) {
  const bench = await setupSync({ rows: 60 }, sharedClock());
  const hook = await startWebhook();
  const folder = join(bench.cwd, 'reports');
  mkdirSync(folder, { mode: 0o755 });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o644 });
  const settings = {
    ...bench.environment,
    ...everyTwoSeconds,
    MIRROR_REPORTS: folder,
    MIRROR_NOTIFY: hook.url,
  };
  return { ...bench, hook, folder, settings: { PATH: process.env['PATH'] ?? '', ...settings } };
}

test('after each commit that changed what they read, and by their schedules, in a queue of their own', async () => {
  const { hook, settings, model, environment, clock } = await setup({
    'signals.sql': '-- watch: id\nSELECT id FROM ai_signals\n',
    'ticks.sql': '-- run: every 1s\n-- tell: always\nSELECT 1 AS one\n',
    'wrong.sql': '-- run: never\nSELECT 1\n',
  });
  const { lines, stop } = daemonHere(settings);
  const told = (name: string) => hook.messages.filter(({ report }) => report === name);
  await expect.poll(() => told('ticks').length).toBeGreaterThan(2);
  await expect.poll(() => told('signals').flatMap(({ rows }) => rows).length).toBeGreaterThanOrEqual(50);
  insert(0, 1)(model.data.aiSignals);
  publish(new Date(clock.now()).toISOString())(model.data.aiSignals);
  const id = model.data.aiSignals.rows[0]?.['id'];
  await expect.poll(() => told('signals').at(-1)?.rows).toEqual([{ id }]);
  expect(lines.flatMap(({ msg, err }) => (msg === 'report failed' ? err : []))).toEqual([
    expect.stringMatching(/^wrong\.sql:1: run:/),
  ]);

  const { prefix, socket } = JSON.parse(readFileSync(join(environment.MIRROR_DIR, 'queue.json'), 'utf8'));
  const queue = new Queue('reports', { prefix, connection: { path: socket }, skipVersionCheck: true });
  expect((await queue.getJobSchedulers()).map(({ key }) => key)).toEqual(['ticks']);
  await queue.close();
  const status = JSON.parse((await runMain(['status', '--json'], settings, systemClock)).stdout);
  expect(status.reports.map(({ report }: { report: string }) => report)).toEqual([
    'signals',
    'ticks',
    'wrong',
  ]);
  await stop();
  expect(new Set(hook.messages.map((message) => message.id)).size).toBe(hook.messages.length);
});

test('a command that hangs holds up no message to others', async () => {
  const { hook, folder, settings } = await setup({
    'hangs.sql': '-- command: touch began && sleep 300\nSELECT 1 AS one\n',
  });
  const { stop } = daemonHere(settings);
  await expect.poll(() => existsSync(join(folder, 'began'))).toBe(true);
  writeFileSync(join(folder, 'told.sql'), '-- tell: always\nSELECT 1 AS one\n', { mode: 0o644 });
  await expect.poll(() => hook.messages.map(({ report }) => report)).toEqual(['told']);
  await stop();
});

test('while Redis is away, the timer of the daemon runs them', async () => {
  const { hook, settings } = await setup({
    'ticks.sql': '-- run: every 1s\n-- tell: always\nSELECT 1 AS one\n',
  });
  const { lines } = daemonHere({ ...settings, REDIS_URL: 'redis://127.0.0.1:9' });
  await expect.poll(() => lines.some(({ msg }) => msg.startsWith('Redis is away'))).toBe(true);
  const before = hook.messages.length;
  await expect.poll(() => hook.messages.length).toBeGreaterThan(before + 1);
});

const failed = {
  ranAt: '2026-11-21T12:00:00.000Z',
  error: 'no',
  failures: 0,
  sql: 'SELECT 1',
  reads: [],
  seq: 1,
  waits: null,
};
const known = failed as unknown as NonNullable<Parameters<typeof reportDue>[1]>;

test.each([
  [1, 1],
  [6, 32],
  [7, 60],
  [70, 60],
])('after %i failures in a row a report rests for %i minutes', (failures, minutes) => {
  const now = Date.parse(failed.ranAt) + 1;
  const facts = { now, latestChanges: new Map<string, number>(), completeAsOf: () => null };
  const report = { run: 'on change', sql: failed.sql } as Report;
  expect(reportDue(report, { ...known, failures }, facts).at).toBe(
    Date.parse(failed.ranAt) + minutes * 60_000,
  );
});

test('one that never could run is due with the next change, since nobody knows what it reads', () => {
  const now = Date.parse(failed.ranAt) + 1;
  const report = { run: 'on change', sql: failed.sql } as Report;
  const dueAt = (reads: string[], error: string | null) => {
    const facts = { now, latestChanges: new Map([['news', 2]]), completeAsOf: () => null };
    return reportDue(report, { ...known, failures: 1, reads, error }, facts).at;
  };
  expect([dueAt([], 'no'), dueAt(['usage'], 'no')]).toEqual([now, now - 1 + 60_000]);
  expect(dueAt([], null)).toBe(Number.POSITIVE_INFINITY);
});

test('one that fails rests twice as long each time, and is run at once when its file changes', async () => {
  const { folder, put, environment } = await setupReports({ wrong: `-- to: wrong.csv\nSELECT json('{')\n` });
  const dir = environment.MIRROR_DIR;
  let now = systemClock.now();
  const clock = {
    ...systemClock,
    now: () => now,
    sleep: () => new Promise<void>((resolve) => setTimeout(resolve, 5)),
  };
  const store = openStore(dir, await loadJobs(), clock.now);
  const { reports } = store;
  let runs = 0;
  let looks = 0;
  const watched = {
    ...reports,
    all() {
      looks += 1;
      return reports.all();
    },
    fail(...of: Parameters<typeof reports.fail>) {
      reports.fail(...of);
      runs += 1;
    },
  };
  const reporting = keepReporting({
    ...{ dir, store: { ...store, reports: watched }, clock, random: () => 0.5, environment: {} },
    ...{ tables: tablesOf(await listJobs()), queue: () => undefined },
    settings: { folder, to: dir, webhook: undefined },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
  onTestFinished(async () => {
    await reporting.end();
    store.close();
  });
  const ran = (times: number) => expect.poll(() => runs).toBe(times);
  const lookedTwice = async () => {
    const before = looks;
    await expect.poll(() => looks).toBeGreaterThan(before + 2);
  };
  await ran(1);
  for (const [at, minutes] of [1, 2, 4].entries()) {
    now += minutes * 60_000 - 1_000;
    await lookedTwice();
    expect([minutes, runs]).toEqual([minutes, at + 1]);
    now += 1_000;
    await ran(at + 2);
  }
  put('wrong', `-- to: wrong.csv\nSELECT json('[')\n`);
  await ran(5);
  now += 60_000;
  await ran(6);
});
