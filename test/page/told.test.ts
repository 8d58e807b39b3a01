/** What the service says of a daemon, its waits, its sinks and its reports is told in words, wherever it belongs. */

import { expect, test } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import type { Overview } from '../../src/serve/page/wire.ts';
import { sharedLived } from './lived.ts';
import { datasetLine, go, settled } from './support.ts';

const lived = await sharedLived();

/** Said of a mirror at this time, as `status` and `plan` would say it. */
function edit({ at, status, plan }: Overview): void {
  const until = isoTime(Date.parse(at) + 1_800_000);
  const since = isoTime(Date.parse(at) - 600_000);
  const message = 'Postgres db:5432/reports cannot be reached (ECONNREFUSED)';
  const why = 'the endpoint was unavailable 3 times in a row';
  Object.assign(status, {
    daemon: { pid: 4242, queue: null },
    waits: [{ job: 'news', until, reason: 'unavailable', why }],
    ship: { changes: 3, seconds: 7_200, trouble: { message, nextTry: until, since } },
    lake: { changes: 0, seconds: 0, trouble: null },
  });
  for (const dataset of status.datasets) {
    const nextRun = dataset.job === 'news' ? until : isoTime(Date.parse(at) + 7_230_000);
    Object.assign(dataset, { staleAfterSeconds: 7 * 3_600, nextRun });
    if (['news', 'usage'].includes(dataset.job))
      Object.assign(dataset.doing, { state: 'waiting', kind: 'walk', until, reason: 'unavailable' });
  }
  Object.assign(plan, { available: 999, schedules: 'unknown' });
}

test('ages against when they are stale, waits, next runs, sinks, and one thing alone of the plan', async () => {
  const window = await lived.visit('/walks');
  const { page } = window;
  await page.route('**/page/overview*', async (route) => {
    const headers = { ...route.request().headers(), 'if-none-match': '' };
    const response = await route.fetch({ headers });
    const json = await response.json();
    edit(json);
    await route.fulfill({ response, json });
  });
  await page.goto(lived.url);
  await settled(page);
  const line = datasetLine(page, 'ai-signals');
  expect(await line.locator('.age-bar').getAttribute('title')).toMatch(/\d+[smh].* old; stale after 7h/);
  const main = async () => (await page.locator('main').innerText()).replace(/\s+/g, ' ');
  const overview = await main();
  for (const said of [
    /ai-signals .*next run in 2h/,
    /walk waits for the API, which is unavailable, goes on in \d+m/,
    /Next try in \d+m.*: nothing to do\. See the walk/,
    /3 changes behind, the oldest 2h old.*Nothing has arrived since.*db:5432.*→ The daemon tries again .*docs\/ship\.md/,
    /Lake up to date all changes have arrived/,
  ])
    expect(overview).toMatch(said);
  expect(overview).not.toContain('No daemon is running');
  await page.getByRole('button', { name: 'What the words mean' }).click();
  expect(await page.getByRole('dialog').innerText()).toMatch(/glance\s+a quick check of its first pages/);
  await page.keyboard.press('Escape');

  await go(window, '/quota');
  const quota = await main();
  expect(quota).toMatch(/news in \d+m.* unavailable the endpoint was unavailable 3 times in a row/);
  expect(quota).toMatch(/usage: its walk goes on in \d+m.* unavailable/);
  expect(quota).toMatch(/Whether so many may be made is not known yet/);
  expect(quota).not.toContain('Every schedule can be kept');
  await go(window, '/reports');
  expect(await main()).toMatch(/Grades ran.*in \d+m/);
});

test('a dataset is one line, which opens to its proof, its changes and its walks, each with a link', async () => {
  const { page } = await lived.visit('/');
  await page.getByRole('button', { name: 'Details of ai-signals' }).click();
  const [proof] = lived.bench.sql<{ verdict: string; at: string }>(
    `SELECT verdict, replace(substr(complete_as_of, 1, 19), 'T', ' ') AS at FROM freshness WHERE job = 'ai-signals'`,
  );
  const [sum] = lived.bench.sql<{ said: string }>(
    `SELECT sum(inserted) || ' new, ' || sum(updated) || ' changed, ' || sum(deleted) || ' gone' AS said
     FROM walks WHERE job = 'ai-signals'`,
  );
  const line = datasetLine(page, 'ai-signals');
  const text = await line.innerText();
  for (const part of [proof?.verdict, `${proof?.at} UTC`, sum?.said]) expect(text).toContain(part);
  const changes = line.getByRole('link', { name: /changes in 24 hours/ });
  expect(await changes.getAttribute('href')).toBe('/changes?job=eq.ai-signals&since=24h');
  const strip = page.getByRole('list', { name: 'The last walks of ai-signals' }).getByRole('link');
  const walks = lived.bench.sql<{ id: number }>(`SELECT id FROM walks WHERE job = 'ai-signals' ORDER BY id`);
  expect(await strip.count()).toBe(walks.length);
  await strip.last().click();
  await page.waitForURL(`**/walks/${walks.at(-1)?.id}`);
  await page.getByRole('region', { name: 'Evidence' }).waitFor();
});
