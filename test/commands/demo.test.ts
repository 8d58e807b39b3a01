/** The demo, as it runs for people at a terminal, and for programs. */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { DAY_MS, isoTime, systemClock } from '../../src/base/clock.ts';
import { isAlive } from '../../src/base/process-name.ts';
import type { Overview } from '../../src/serve/page/wire.ts';
import { livingHolder } from '../../src/store/read.ts';
import { cliFile } from '../helpers/cli.ts';
import { removeFolder, temporaryFolder } from '../helpers/folder.ts';
import { runMain, startMain } from '../helpers/main.ts';
import { startWebhook } from '../reports/support.ts';

function demo(isTTY: boolean, ...options: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'mirror-demo-test-'));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    removeFolder(folder);
  });
  // Others on this machine may run the demo, too.
  vi.stubEnv('TMPDIR', folder);
  const { stdout, stop, ended } = startMain(['demo', ...options], {}, isTTY);
  const left = () => readdirSync(folder).filter((name) => name.startsWith('market-mirror-demo-'));
  return { said: stdout, stop, ended, left };
}

test('at a terminal it makes a past, and stays with a key, a curl line and a link that work; its window closed, it leaves neither folder nor process', async () => {
  const folder = temporaryFolder();
  const environment = { PATH: process.env['PATH'] ?? '', HOME: folder, TMPDIR: folder };
  const command = `"${process.execPath}" "${cliFile()}" demo`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: environment,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += String(chunk);
  });
  await expect.poll(() => said).toContain('Ctrl-C ends it.');
  const left = () => readdirSync(folder).filter((name) => name.startsWith('market-mirror'));
  const dir = join(folder, left().find((name) => name.startsWith('market-mirror-demo-')) ?? '');
  const pids = ['daemon', 'serve'].map((lock) => livingHolder(dir, lock));
  expect(pids).not.toContain(null);

  const [, key, address = ''] =
    /curl -H "Authorization: Bearer (mmkey_\w+)" "(http:\/\/127\.0\.0\.1:\d+\/\S+)"/.exec(said) ?? [];
  const answer = await fetch(address, { headers: { Authorization: `Bearer ${key}` } });
  expect([answer.status, ((await answer.json()) as { rows: unknown[] }).rows.length]).toEqual([200, 3]);
  const [link = ''] = /http:\S+\?token=[\w-]+/.exec(said) ?? [];
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
  const answers = async (sql: string, ...options: string[]) =>
    JSON.parse(
      (await runMain(['query', sql, '--json', ...options], { MIRROR_DIR: dir }, systemClock)).stdout,
    );
  const days = 'SELECT DISTINCT date(started_at) AS day FROM walks WHERE inserted + updated + deleted > 0';
  expect((await answers(days)).length).toBeGreaterThanOrEqual(3);
  const newest = 'SELECT max(timestamp) AS at FROM ai_signals';
  const yesterday = isoTime(Date.now() - DAY_MS);
  const [[then], [now]] = await Promise.all([answers(newest, '--as-of', yesterday), answers(newest)]);
  expect([then.at < yesterday, now.at > yesterday]).toEqual([true, true]);

  child.kill('SIGKILL');
  await expect.poll(left).toEqual([]);
  await expect.poll(() => pids.filter((pid) => pid !== null && isAlive(pid))).toEqual([]);
});

test('elsewhere it ends by itself and shows no key; what --keep keeps is enough for every example of a report, and an alert fires', async () => {
  const { said, ended, left } = demo(false, '--keep');
  expect(await ended).toBe(0);
  const [, dir = ''] = /The sample data stays in (\S+);/.exec(said()) ?? [];
  expect(left()).toEqual([basename(dir)]);
  // No daemon runs any more, so no run is next.
  expect(said()).toContain('no daemon running');
  const [, table = ''] = said().split(/\$ market-mirror (?:status|query)/);
  const lines = table.split('\n');
  const next = lines.find((line) => line.startsWith('dataset'))?.indexOf('next run') ?? 0;
  const told = lines.filter((line) => /^(news|usage|ai-signals) /.test(line));
  expect(told.slice(0, 3).map((line) => line.slice(next, next + 8).trim())).toEqual(['–', '–', '–']);
  expect(said()).not.toMatch(/mmkey_|token=/);

  const hook = await startWebhook();
  const general = { PATH: process.env['PATH'] ?? '' };
  const settings = { ...general, MIRROR_DIR: dir, MIRROR_REPORTS: 'deploy/reports', MIRROR_NOTIFY: hook.url };
  const { code, stdout } = await runMain(['report'], settings, systemClock);
  const examples = readdirSync('deploy/reports').map((name) => name.replace('.sql', ''));
  expect([code, stdout.match(/^[\w-]+(?=: \d)/gm)]).toEqual([0, examples]);
  const alert = hook.messages.find(({ report }) => report === 'grade-a-buys');
  expect(alert?.text).toMatch(/^Grade A buys: \d+ new rows: sig_/);
  expect(alert?.rows[0]).toMatchObject({ asset: expect.any(String), confidence: expect.any(Number) });
  expect(readFileSync(join(dir, 'reports/meme-alerts.html'), 'utf8')).toContain('<h1>Meme alerts');
  expect(readdirSync(join(dir, 'reports')).join()).toMatch(/\bdigest-\d{4}-\d\d-\d\d\.md\b/);
});
