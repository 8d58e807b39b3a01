import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import type { Overview } from '../../src/serve/ui/wire.ts';
import { openWindow } from '../helpers/browser.ts';
import { type Lived, openLived } from './lived.ts';
import { settled, tableIn } from './support.ts';

let lived: Lived;
beforeAll(async () => {
  lived = await openLived();
});
afterAll(() => lived.close());

const jobs = { 'ai-signals': 'ai_signals', news: 'news', 'meme-signals': 'meme_signals' };
const rowsIn = (table: string) =>
  lived.bench.sql<{ rows: number }>(`SELECT count(*) AS "rows" FROM ${table}`)[0]?.rows;

test('each dataset is told with its rows, its verdict and how old that is, as SQL tells them', async () => {
  const { page } = await lived.visit('/');
  for (const [job, table] of Object.entries(jobs)) {
    const card = page.getByRole('article', { name: job });
    expect(await card.locator('.figure').innerText()).toBe(`${rowsIn(table)} rows`);
    const [proof] = lived.bench.sql<{ verdict: string; complete_as_of: string }>(
      'SELECT verdict, complete_as_of FROM freshness WHERE job = ?',
      job,
    );
    const text = await card.innerText();
    expect(text).toContain(proof?.verdict);
    expect(text).toContain(`${proof?.complete_as_of.slice(0, 19).replace('T', ' ')} UTC`);
  }
});

test('who looks sees at once which dataset is stale, why, and what to do', async () => {
  const { page } = await lived.visit('/');
  const stale = page.getByRole('article').filter({ has: page.getByText('stale', { exact: true }) });
  expect(await stale.getByRole('heading').allInnerTexts()).toEqual(['news']);
  expect(await page.getByRole('navigation').getByText('stale').count()).toBe(1);
  const [problem = ''] = await page
    .getByRole('listitem')
    .filter({ hasText: 'last complete' })
    .allInnerTexts();
  expect(problem).toMatch(/news last complete 2026-11-21 12:00:00 UTC \(limit 10m\)/);
  expect(problem).toMatch(
    /its last run failed before its first page: news: the API is temporarily unavailable/,
  );
  expect(problem).toMatch(/→ .*(market-mirror|wait)/);
  expect(problem).not.toMatch(/\dT\d\d:/);
});

test('what changed within the day is said in numbers, and hour by hour', async () => {
  const { page } = await lived.visit('/');
  const card = page.getByRole('article', { name: 'ai-signals' });
  const [sum] = lived.bench.sql<{ inserted: number; updated: number; deleted: number }>(
    `SELECT sum(inserted) AS inserted, sum(updated) AS updated, sum(deleted) AS deleted FROM walks WHERE job = 'ai-signals'`,
  );
  expect(await card.innerText()).toContain(
    `${sum?.inserted} new, ${sum?.updated} changed, ${sum?.deleted} gone`,
  );
  await card.getByText('changes in 24 hours').click();
  const [heads, ...hours] = await tableIn(page, 'Changes by the hour');
  expect(heads?.slice(1)).toEqual(['new', 'changed', 'gone']);
  expect(hours).toHaveLength(24);
  const all = [1, 2, 3].map((at) => hours.reduce((total, hour) => total + Number(hour[at]), 0));
  expect(all).toEqual([sum?.inserted, sum?.updated, sum?.deleted]);
});

test('each of the last walks leads to itself', async () => {
  const { page } = await lived.visit('/');
  const strip = page.getByRole('list', { name: 'The last walks of ai-signals' });
  const walks = lived.bench.sql<{ id: number }>(`SELECT id FROM walks WHERE job = 'ai-signals' ORDER BY id`);
  expect(await strip.getByRole('link').count()).toBe(walks.length);
  await strip.getByRole('link').last().click();
  await page.waitForURL(`**/walks/${walks.at(-1)?.id}`);
});

test('calls are counted by dataset and by answer, as SQL counts them', async () => {
  const { page } = await lived.visit('/');
  const [heads = [], ...lines] = await tableIn(page, /Calls of the last 24 hours/);
  const counted = lived.bench.sql<{ job: string; status: number; calls: number }>(
    'SELECT job, status, count(*) AS calls FROM requests GROUP BY 1, 2',
  );
  for (const { job, status, calls } of counted) {
    const line = lines.find(([name]) => name === job);
    expect([job, status, line?.[heads.indexOf(String(status))]]).toEqual([job, status, String(calls)]);
  }
  expect(counted.some(({ status }) => status === 503)).toBe(true);
});

test('the quota is drawn, and its numbers stand beside it', async () => {
  const { page } = await lived.visit('/');
  const chart = page.getByRole('figure').first();
  await chart.locator('canvas').waitFor();
  await chart.getByText('Numbers').click();
  const left = lived.bench.sql<{ left: number }>(
    'SELECT rate_remaining AS "left" FROM requests WHERE rate_remaining IS NOT NULL ORDER BY id DESC LIMIT 1',
  )[0]?.left;
  expect((await chart.getByRole('table').innerText()).replaceAll(',', '')).toContain(String(left));
});

test('a daemon that is down is said, with what starts it', async () => {
  const { page } = await lived.visit('/');
  const said = page.getByRole('region', { name: 'The daemon is down' });
  expect(await said.innerText()).toContain('market-mirror start');
  expect(await page.getByRole('article', { name: 'news' }).innerText()).toContain('no daemon runs it');
});

test('each dataset is told with its age against when it is stale, and its next run', async () => {
  const page = await overviewWith(({ at, status }) => {
    status.daemon = { pid: 4242 } as typeof status.daemon;
    for (const dataset of status.datasets) {
      dataset.staleAfterSeconds = 7 * 3_600;
      dataset.nextRun = new Date(Date.parse(at) + 7_230_000).toISOString();
    }
  });
  const card = await page.getByRole('article', { name: 'ai-signals' }).innerText();
  expect(card).toMatch(/\d+[smh].* old, stale after 7h/);
  expect(card).toMatch(/next run in 2h/);
  expect(await page.getByRole('region', { name: 'The daemon is down' }).count()).toBe(0);
});

test('what waits is told once, with its reason and until when', async () => {
  const page = await overviewWith(({ status }) => {
    const [until, reason] = [status.datasets[0].completeAsOf, 'unavailable'];
    status.waits = [{ job: 'news', until, reason, why: 'the endpoint was unavailable 3 times in a row' }];
    for (const { job, doing } of status.datasets)
      if (job === 'news' || job === 'usage')
        Object.assign(doing, { state: 'waiting', kind: 'walk', until, reason });
  });
  const told = await page.locator('.waits > li').allInnerTexts();
  expect(told).toHaveLength(2);
  expect(told[0]).toMatch(/^news .* ago unavailable\s+the endpoint was unavailable 3 times in a row$/);
  expect(told[1]).toMatch(/^usage: its walk goes on .* ago unavailable$/);
});

test('resets of the quota are marked and counted, and the pace is told with its evidence', async () => {
  const { page } = await openWindow(lived.browser, lived.url);
  const rate = { perSecond: 4.5, confidence: 'likely', evidence: 'one throttle' };
  const concurrency = { allowed: 3, evidence: 'two were accepted' };
  await page.route('**/page/overview*', async (route) => {
    const response = await route.fetch();
    const overview = await response.json();
    const quotaAt = (minutes: number, remaining: number) => ({
      ...overview.quota[0],
      at: isoTime(Date.parse(overview.at) - minutes * 60_000),
      remaining,
    });
    const quota = [quotaAt(50, 3), quotaAt(30, 990)];
    const status = { ...overview.status, rate, concurrency };
    await route.fulfill({ response, json: { ...overview, status, quota } });
  });
  await page.goto(lived.url);
  await page.getByText(/^1 reset seen in 24 hours/).waitFor();
  await page.getByText('4.5 calls a second. likely: one throttle').waitFor();
  await page.getByText('3 at once. two were accepted').waitFor();
});

test('times are in UTC and say so; on demand they are those of this place', async () => {
  const { page } = await lived.visit('/');
  const time = page.getByRole('article', { name: 'news' }).locator('time').first();
  expect(await time.innerText()).toBe('2026-11-21 12:00:00 UTC');
  await page.getByLabel('Times').selectOption({ label: 'Local time' });
  expect(await time.innerText()).toBe('2026-11-21 13:00:00 +01:00');
  await page.reload();
  await time.waitFor();
  expect(await time.innerText()).toBe('2026-11-21 13:00:00 +01:00');
});

test.each([
  [{ schedules: 'kept', stretch: 1, stretchNow: 1 }, /Every schedule can be kept/],
  [
    { schedules: 'tight', stretch: 1, stretchNow: 1 },
    /enough in the mean of the day; at times walks will wait/,
  ],
  [
    { schedules: 'kept', stretch: 1, stretchNow: 2.5 },
    /what is left until more come is not: until then .* 2.5 times as long/,
  ],
  [{ schedules: 'scarce', stretch: 3, stretchNow: 2.5 }, /Calls are scarce: .* 3 times as long/],
])('the plan says of intervals %j what that means', async (stretches, words) => {
  const page = await overviewWith(({ plan }) => Object.assign(plan, { available: 999, ...stretches }));
  await page.getByRole('heading', { name: 'Plan of the next 24 hours', exact: true }).waitFor();
  await page.getByText(words).waitFor({ state: 'attached' });
});

/** The overview, told something else than is so. */
async function overviewWith(edit: (overview: Overview) => void): Promise<Page> {
  const { page } = await openWindow(lived.browser, lived.url);
  await page.route('**/page/overview*', async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    edit(json);
    await route.fulfill({ response, json });
  });
  await page.goto(lived.url);
  await settled(page);
  return page;
}
