/** `npm run pictures`: makes the pictures of the documentation: the built page over a mirror of sample data, in a browser. */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import type { Browser } from 'playwright-core';
import {
  livePast,
  PAST_MS,
  pastSchedule,
  type SteppedClock,
  startModel,
  steppedClock,
} from '../src/commands/demo-past.ts';
import { readServeConfig, settingOf } from '../src/config.ts';
import { listJobs, ownSchedules } from '../src/job/list.ts';
import { openService } from '../src/serve.ts';
import { tryLock } from '../src/store.ts';
import { launch } from '../test/helpers/browser.ts';
import { listenOnLoopback } from '../test/helpers/loopback.ts';

const folder = fileURLToPath(new URL('../docs/pictures', import.meta.url));
const END = Date.parse('2026-03-04T16:00:00Z');

const signalsByHour = `SELECT strftime('%Y-%m-%dT%H:00Z', timestamp) AS hour, count(*) AS signals
FROM ai_signals GROUP BY hour ORDER BY hour`;

type Picture = {
  name: string;
  path: string;
  width?: number;
  height: number;
  colorScheme?: 'dark';
};

const pictures: readonly Picture[] = [
  { name: 'overview', path: '/', height: 760 },
  { name: 'overview-dark-small', path: '/', width: 390, height: 844, colorScheme: 'dark' },
  { name: 'sql', path: `/sql#${new URLSearchParams({ sql: signalsByHour, show: 'chart' })}`, height: 920 },
];

const jobs = await listJobs();
const names = jobs.map(({ name }) => name);
/** As it was mirrored. */
const schedules = Object.fromEntries(names.map((name) => [settingOf(name), pastSchedule(name)]));

const dir = mkdtempSync(join(tmpdir(), 'market-mirror-pictures-'));
try {
  const clock = steppedClock(END - PAST_MS);
  const model = await startModel(clock.now);
  await livePast(model, { dir, jobs: names, clock, signal: new AbortController().signal });
  await model.close();
  await withService(dir, clock, async (url) => {
    const browser = await launch();
    try {
      for (const picture of pictures) await take(browser, url, picture);
    } finally {
      await browser.close();
    }
  });
} finally {
  rmSync(dir, { recursive: true });
}

async function withService(
  dir: string,
  clock: SteppedClock,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const { serve, schedules: read } = readServeConfig(
    { MIRROR_DIR: dir, MIRROR_SERVE_PAGE: 'open', ...schedules },
    ownSchedules(jobs),
  );
  const settings = { ...serve, host: '127.0.0.1', schedules: read };
  const log = pino({ level: 'silent' });
  const service = openService({ dir, jobs, settings, clock, log });
  // As if a daemon were at work on the folder.
  const daemon = tryLock(dir, 'daemon');
  const listening = await listenOnLoopback(createServer(service.handle));
  try {
    await use(listening.url);
  } finally {
    await listening.close();
    await service.close();
    if (daemon && 'release' in daemon) daemon.release();
  }
}

async function take(
  browser: Browser,
  url: string,
  { name, path, width = 1_280, height, colorScheme }: Picture,
): Promise<void> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: colorScheme ?? 'light',
    reducedMotion: 'reduce',
  });
  try {
    const page = await context.newPage();
    await page.goto(`${url}${path}`);
    await page.locator('.connection.live').waitFor();
    await page.locator('main .state.loading').waitFor({ state: 'hidden' });
    // Until charts are drawn.
    await page.waitForTimeout(1_500);
    const file = join(folder, `${name}.png`);
    await page.screenshot({ path: file });
    process.stdout.write(`${basename(file)} ${Math.round(statSync(file).size / 1_000)} kB\n`);
  } finally {
    await context.close();
  }
}
