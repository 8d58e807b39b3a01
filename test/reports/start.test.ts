/** Reports of `start`: after commits, by their schedules, with Redis and without; those of deploy/reports; and the tour. */

import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { insert, publish } from '../helpers/edits.ts';
import { removeFolder } from '../helpers/folder.ts';
import { runMain } from '../helpers/main.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { sharedClock } from '../helpers/virtual-clock.ts';
import { othersOff } from '../helpers/virtual-life.ts';
import { startWebhook } from './support.ts';

const everyTwoSeconds = { ...othersOff, MIRROR_SCHEDULE_AI_SIGNALS: 'every 2s', MIRROR_SCHEDULE_NEWS: 'off' };

async function setup(files: Record<string, string>) {
  const bench = await setupSync({ rows: 60 }, sharedClock());
  const hook = await startWebhook();
  const { writeFileSync } = await import('node:fs');
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
  expect(lines.filter(({ err }) => err?.startsWith('wrong.sql:1: run:'))).toHaveLength(1);

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

test('while Redis is away, the timer of the daemon runs them', async () => {
  const { hook, settings } = await setup({
    'ticks.sql': '-- run: every 1s\n-- tell: always\nSELECT 1 AS one\n',
  });
  const { lines } = daemonHere({ ...settings, REDIS_URL: 'redis://127.0.0.1:9' });
  await expect.poll(() => lines.some(({ msg }) => msg.startsWith('Redis is away'))).toBe(true);
  const before = hook.messages.length;
  await expect.poll(() => hook.messages.length).toBeGreaterThan(before + 1);
});

const examples = readdirSync('deploy/reports');

test('every example runs on the sample data, and the tour ends with an alert that fires', async () => {
  const hook = await startWebhook();
  const folder = mkdtempSync(join(tmpdir(), 'mm-tour-'));
  onTestFinished(() => removeFolder(folder));
  for (const name of examples) copyFileSync(join('deploy/reports', name), join(folder, name));
  const general = { PATH: process.env['PATH'] ?? '' };
  const demo = await runMain(['demo', '--keep'], general, systemClock);
  const [, dir = ''] = /The sample data stays in (\S+);/.exec(demo.stdout) ?? [];
  onTestFinished(() => removeFolder(dir));
  const settings = { ...general, MIRROR_DIR: dir, MIRROR_REPORTS: folder, MIRROR_NOTIFY: hook.url };
  const checked = await runMain(['report', '--check'], settings, systemClock);
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  const { code, stdout } = await runMain(['report'], settings, systemClock);
  expect([code, stdout.match(/^[\w-]+(?=: \d)/gm)]).toEqual([
    0,
    examples.map((name) => name.replace('.sql', '')),
  ]);
  const alert = hook.messages.find(({ report }) => report === 'grade-a-buys');
  expect(alert?.text).toMatch(/^Grade A buys: \d+ new rows: sig_/);
  expect(alert?.rows[0]).toMatchObject({ asset: expect.any(String), confidence: expect.any(Number) });
  expect(readFileSync(join(dir, 'reports/meme-alerts.html'), 'utf8')).toContain('<h1>Meme alerts');
  expect(readdirSync(join(dir, 'reports')).some((name) => /^digest-\d{4}-\d\d-\d\d\.md$/.test(name))).toBe(
    true,
  );
});
