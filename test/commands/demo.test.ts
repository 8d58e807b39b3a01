/** The demo, as it runs for people at a terminal, and for programs. */

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { DAY_MS, isoTime, systemClock } from '../../src/base/clock.ts';
import { isAlive } from '../../src/base/process-name.ts';
import type { Overview } from '../../src/serve/page/wire.ts';
import { livingHolder } from '../../src/store/read.ts';
import { cliFile } from '../helpers/cli.ts';
import { removeFolder, temporaryFolder } from '../helpers/folder.ts';
import { runMain, startMain } from '../helpers/main.ts';

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

test('at a terminal it makes a past, and stays with a key, a curl line and a link that work, until Ctrl-C', async () => {
  const { said, stop, ended } = demo(true, '--keep');
  await expect.poll(said).toContain('Ctrl-C ends it.');
  const [, dir = ''] = /MIRROR_DIR=(\S+)/.exec(said()) ?? [];
  onTestFinished(() => removeFolder(dir));
  const [, key, address = ''] =
    /curl -H "Authorization: Bearer (mmkey_\w+)" "(http:\/\/127\.0\.0\.1:\d+\/\S+)"/.exec(said()) ?? [];
  const answer = await fetch(address, { headers: { Authorization: `Bearer ${key}` } });
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

  stop();
  expect(await ended).toBe(0);
  await expect(fetch(address)).rejects.toThrow();
  expect(said()).toContain(`\nStopped. The sample data stays in ${dir}; when you are done: rm -r ${dir}\n`);
  expect(existsSync(dir)).toBe(true);
});

test('told to end while it makes its past, it ends, says so and leaves no folder', async () => {
  const { said, stop, ended, left } = demo(true);
  await expect.poll(said).toContain('sample history');
  expect(left()).toHaveLength(1);
  stop();
  expect(await ended).toBe(75);
  expect(said()).toMatch(/\nStopped\. Nothing is left of it; demo --keep keeps its database\.\n$/);
  expect(left()).toEqual([]);
});

test('elsewhere it ends by itself, shows no key and leaves no folder', async () => {
  const { said, ended, left } = demo(false);
  expect(await ended).toBe(0);
  expect(said()).toMatch(/\nThe demo has ended\. Nothing is left of it; demo --keep keeps its database\.\n$/);
  expect(left()).toEqual([]);
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

test('its window closed, it leaves neither folder nor process', async () => {
  const folder = temporaryFolder();
  const environment = { PATH: process.env['PATH'] ?? '', HOME: folder, TMPDIR: folder };
  const command = `"${process.execPath}" "${cliFile()}" demo`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: environment,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  child.stdout.on('data', (chunk) => {
    shown += String(chunk);
  });
  await expect.poll(() => shown).toContain('Ctrl-C ends it.');
  const [name = ''] = readdirSync(folder).filter((entry) => entry.startsWith('market-mirror-demo-'));
  const pids = ['daemon', 'serve'].map((lock) => livingHolder(join(folder, name), lock));
  expect(pids).not.toContain(null);
  child.kill('SIGKILL');
  await expect
    .poll(() => readdirSync(folder).filter((entry) => entry.startsWith('market-mirror')))
    .toEqual([]);
  await expect.poll(() => pids.filter((pid) => pid !== null && isAlive(pid))).toEqual([]);
});
