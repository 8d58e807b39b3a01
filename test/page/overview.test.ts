/** The overview, what changed, and the quota say what SQL says, and what a daemon, its sinks and its waits are about. */

import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import type { Overview } from '../../src/serve/page/wire.ts';
import { openWindow } from '../helpers/browser.ts';
import { gate } from '../helpers/gate.ts';
import { sharedLived } from './lived.ts';
import { datasetLine, go, rowsOf, settled, tableIn } from './support.ts';

const lived = await sharedLived();

const jobs = { 'ai-signals': 'ai_signals', news: 'news', 'meme-signals': 'meme_signals' };

test('each dataset is one line, which opens to its proof, its changes and its walks, as SQL has them', async () => {
  const { page } = await lived.visit('/');
  expect(await page.getByRole('table', { name: 'Datasets' }).getByRole('row').count()).toBe(6);
  for (const [job, table] of Object.entries(jobs)) {
    const [counted] = lived.bench.sql<{ rows: number }>(`SELECT count(*) AS "rows" FROM ${table}`);
    expect(await rowsOf(page, job).innerText()).toBe(String(counted?.rows));
    await page.getByRole('button', { name: `Details of ${job}` }).click();
    const [proof] = lived.bench.sql<{ verdict: string; complete_as_of: string }>(
      'SELECT verdict, complete_as_of FROM freshness WHERE job = ?',
      job,
    );
    const [sum] = lived.bench.sql<{ inserted: number; updated: number; deleted: number }>(
      'SELECT sum(inserted) AS inserted, sum(updated) AS updated, sum(deleted) AS deleted FROM walks WHERE job = ?',
      job,
    );
    const text = await datasetLine(page, job).innerText();
    expect(text).toContain(proof?.verdict);
    expect(text).toContain(`${proof?.complete_as_of.slice(0, 19).replace('T', ' ')} UTC`);
    expect(text).toContain(`${sum?.inserted} new, ${sum?.updated} changed, ${sum?.deleted} gone`);
  }
  expect(await datasetLine(page, 'news').getByText('stale', { exact: true }).count()).toBe(1);
  expect(await page.getByText('stale', { exact: true }).count()).toBe(2);
  // Its bar says how many changed, and leads to them.
  const sparkline = datasetLine(page, 'ai-signals').getByRole('link', { name: /changes in 24 hours/ });
  expect(await sparkline.getAttribute('href')).toBe('/changes?job=eq.ai-signals&since=24h');

  const strip = page.getByRole('list', { name: 'The last walks of ai-signals' }).getByRole('link');
  const walks = lived.bench.sql<{ id: number }>(`SELECT id FROM walks WHERE job = 'ai-signals' ORDER BY id`);
  expect(await strip.count()).toBe(walks.length);
  await strip.first().focus();
  await page.keyboard.press('ArrowRight');
  expect(await datasetLine(page, 'ai-signals').locator('.strip .readout').innerText()).toBe(
    await strip.nth(1).getAttribute('aria-label'),
  );
  await strip.last().click();
  await page.waitForURL(`**/walks/${walks.at(-1)?.id}`);
});

test('a daemon that is down and a dataset that is not fresh are problems: why, what happens next, and the walk', async () => {
  const { page } = await lived.visit('/');
  const problems = page.getByRole('list', { name: 'Problems' });
  expect(await problems.innerText()).toMatch(/No daemon is running: .*market-mirror start/s);
  expect(await page.locator('.connection').innerText()).toMatch(/connected\s+no daemon/);
  const count = await problems.getByRole('listitem').count();
  const link = page.getByRole('navigation').getByRole('link', { name: `Problems ${count}` });
  expect(await link.count()).toBe(1);
  const heading = page.getByRole('heading', { level: 1 }).locator('..');
  expect(await heading.innerText()).toContain(`${count} problems`);
  expect(await datasetLine(page, 'news').innerText()).toMatch(/stale[\s\S]*no daemon runs it/);
  for (const job of ['ai-signals', 'meme-signals', 'smart-wallets'])
    expect(await datasetLine(page, job).innerText()).toContain('fresh');

  await page.getByRole('button', { name: 'What the words mean' }).click();
  expect(await page.getByRole('dialog').innerText()).toMatch(/glance\s+a quick check of its first pages/);
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: /^news/ }).first().click();
  await page.getByRole('heading', { level: 1, name: 'news' }).waitFor();
  expect(await problems.innerText()).toMatch(/last complete.*temporarily unavailable.*market-mirror start/s);
  await page.getByRole('link', { name: 'See the walk' }).click();
  await page.getByRole('heading', { level: 1, name: /^Walk \d+$/ }).waitFor();
  await page.locator('main').getByText('temporarily unavailable').first().waitFor();
});

test('a dataset is told with its age against when it is stale, what it waits for, and its next run', async () => {
  const page = await overviewWith('/', ({ at, status }) => {
    status.daemon = { pid: 4242, queue: null } as typeof status.daemon;
    const until = isoTime(Date.parse(at) + 18_000);
    for (const dataset of status.datasets) {
      dataset.staleAfterSeconds = 7 * 3_600;
      dataset.nextRun = isoTime(Date.parse(at) + 7_230_000);
      if (dataset.job !== 'news') continue;
      dataset.nextRun = until;
      Object.assign(dataset.doing, { state: 'waiting', kind: 'walk', until, reason: 'unavailable' });
    }
  });
  const line = datasetLine(page, 'ai-signals');
  expect(await line.locator('.age-bar').getAttribute('title')).toMatch(/\d+[smh].* old; stale after 7h/);
  expect(await line.innerText()).toMatch(/next run in 2h/);
  expect(await datasetLine(page, 'news').innerText()).toMatch(
    /walk waits for the API, which is unavailable, goes on in 1\ds/,
  );
  expect(await page.getByText('No daemon is running').count()).toBe(0);
  const problem = page.getByRole('list', { name: 'Problems' }).getByRole('listitem').first();
  expect(await problem.innerText()).toMatch(/Next try in 1\ds: nothing to do\. See the walk/);
});

test('times are in UTC and say so; on demand they are those of this place', async () => {
  const { page } = await lived.visit('/');
  await page.getByRole('button', { name: 'Details of news' }).click();
  const time = datasetLine(page, 'news').locator('.details time').first();
  expect(await time.innerText()).toBe('2026-11-21 12:00:00 UTC');
  await page.getByLabel('Times').selectOption({ label: 'Local time' });
  expect(await time.innerText()).toBe('2026-11-21 13:00:00 +01:00');
  await page.reload();
  await page.getByRole('button', { name: 'Details of news' }).click();
  expect(await time.innerText()).toBe('2026-11-21 13:00:00 +01:00');
});

test('the quota is drawn from the calls, and calls are counted by dataset and answer, as SQL has them', async () => {
  const { page } = await lived.visit('/quota');
  const strip = page.getByRole('figure');
  await strip.locator('canvas').waitFor();
  await strip.getByText('Numbers').click();
  const [last] = lived.bench.sql<{ left: number }>(
    'SELECT rate_remaining AS "left" FROM requests WHERE rate_remaining IS NOT NULL ORDER BY id DESC LIMIT 1',
  );
  const steps = (await tableIn(page, /^Calls made and left, each ten minutes/)).slice(1);
  expect(steps.findLast(([, , left]) => left !== '–')?.[2]?.replace(',', '')).toBe(String(last?.left));
  const [all] = lived.bench.sql<{ calls: number }>('SELECT count(*) AS calls FROM requests');
  const made = steps.reduce((sum, [, calls]) => sum + (calls === '–' ? 0 : Number(calls)), 0);
  expect(made).toBe(all?.calls);
  // Nothing is claimed of a time of which nothing is known.
  expect(await page.locator('main').innerText()).toMatch(/Calls are known from 2026-11-21 12:00:00 UTC on/);

  const [heads = [], ...lines] = await tableIn(page, /Calls of the last 24 hours/);
  const counted = lived.bench.sql<{ job: string; status: number; calls: number }>(
    'SELECT job, status, count(*) AS calls FROM requests GROUP BY 1, 2',
  );
  for (const { job, status, calls } of counted) {
    const line = lines.find(([name]) => name === job);
    expect([job, status, line?.[heads.indexOf(String(status))]]).toEqual([job, status, String(calls)]);
  }
  expect(counted.some(({ status }) => status === 503)).toBe(true);
  // Until the calls of another time are counted, the table says of which time it is.
  const held = gate();
  await page.route('**/page/query', async (route) => {
    await held.passed;
    await route.continue();
  });
  await page.getByRole('link', { name: '1 hour' }).click();
  await page.locator('.card.old').first().waitFor();
  expect(await page.getByRole('region', { name: /^Calls of the last 24 hours/ }).count()).toBe(1);
  held.open();
  await page.getByText('Calls made and left, each minute').waitFor();
  await page.getByRole('region', { name: /^Calls of the last 1 hour/ }).waitFor();
  await page.unroute('**/page/query');
});

test('the quota says what waits and why, and one thing alone of the plan', async () => {
  const page = await overviewWith('/quota', ({ status, plan }) => {
    const [until, reason] = [status.datasets[0]?.completeAsOf ?? '', 'unavailable'];
    Object.assign(status, {
      waits: [{ job: 'news', until, reason, why: 'the endpoint was unavailable 3 times in a row' }],
    });
    for (const { job, doing } of status.datasets)
      if (job === 'news' || job === 'usage')
        Object.assign(doing, { state: 'waiting', kind: 'walk', until, reason });
    Object.assign(plan, { available: 999, schedules: 'unknown' });
  });
  const told = await page.locator('.waits > li').allInnerTexts();
  expect(told).toHaveLength(2);
  expect(told[0]).toMatch(/^news .* ago unavailable\s+the endpoint was unavailable 3 times in a row$/);
  expect(told[1]).toMatch(/^usage: its walk goes on .* ago unavailable$/);
  const text = await page.locator('main').innerText();
  expect(text).toMatch(/Whether so many may be made is not known yet/);
  expect(text).not.toContain('Every schedule can be kept');
});

test('reports are told with their last run and what is wrong with them', async () => {
  const page = await overviewWith('/reports', ({ at, status }) => {
    const report = { rows: 3, newRows: 1, file: 'a.csv', waits: null, error: null, unsent: null };
    const ran = { lastRun: at, durationSeconds: 2, ...report };
    Object.assign(status, {
      reports: [
        { report: 'a', title: 'Grade A', ...ran },
        { report: 'b', title: 'Wrong', ...ran, file: null, error: 'b.sql, line 2: no such word' },
      ],
    });
  });
  const [, good, wrong] = await tableIn(page, 'Reports');
  expect(good?.slice(0, 3)).toEqual(['a', 'Grade A', 'ran']);
  expect(wrong?.[2]).toBe('b.sql, line 2: no such word');
  expect(await page.getByRole('navigation').getByRole('link', { name: 'Reports' }).count()).toBe(1);
});

test('what changed is told walk by walk, field by field, with names as in SQL; what a first walk brought is no change', async () => {
  const window = await lived.visit('/');
  const { page } = window;
  await page.getByRole('link', { name: 'Changes', exact: true }).click();
  await settled(page);
  await page.getByRole('link', { name: '1 hour' }).click();
  await settled(page);
  const walks = page.locator('.walk-changes');
  const changed = lived.bench.sql<{ id: number; said: string }>(
    `SELECT id, trim(iif(inserted > 0, ', ' || inserted || ' new', '') || iif(updated > 0, ', ' || updated || ' changed', '')
       || iif(deleted > 0, ', ' || deleted || ' gone', ''), ', ') AS said
     FROM walks WHERE last_seq IS NOT NULL AND id IN (SELECT walk_id FROM ai_signals_changes WHERE kind <> 'first')
     ORDER BY id DESC`,
  );
  expect(changed.length).toBeGreaterThan(0);
  const heads = await walks.locator('h2').filter({ hasText: 'ai-signals' }).allInnerTexts();
  expect(heads).toHaveLength(changed.length);
  changed.forEach(({ id, said }, at) => {
    expect(heads[at]?.replace(/\s+/g, ' ')).toContain(`ai-signals · ${said} walk ${id}`);
  });
  const rows = (text: string) => walks.getByRole('listitem').filter({ hasText: text }).innerText();
  const [before] = lived.bench.sql<{ status: string; confidence: number }>(
    `SELECT status, confidence FROM ai_signals_history WHERE id = '${lived.changed}' AND _ended_by = 'update'`,
  );
  const fields = (await rows(lived.changed)).replace(/\s+/g, ' ');
  expect(fields).toContain(`confidence ${before?.confidence} → 0.123`);
  expect(fields).toContain(`status ${before?.status} → closed`);
  const [gone] = lived.bench.sql<{ asset: string; action: string }>(
    `SELECT asset, action FROM ai_signals_history WHERE id = '${lived.removed}'`,
  );
  expect(await rows(lived.removed)).toContain(`${gone?.asset} · ${gone?.action}`);

  await go(window, '/changes?job=eq.ai-signals&column=eq.confidence&since=7d');
  expect(await walks.getByRole('listitem').count()).toBe(1);
  await go(window, '/changes?job=eq.ai-signals&column=eq.rationale');
  await page.getByText('Nothing changed in this time in ai-signals.').waitFor();
  await go(window, '/changes?walk_id=eq.1');
  await page.getByText('What a first full read brings is no change.').waitFor();
  await page.getByRole('link', { name: 'of walk 1' }).click();
  await page.waitForURL('**/changes');
  const [walk] = lived.bench.sql<{ id: number; gone: number }>(
    'SELECT id, deleted AS gone FROM walks WHERE deleted > 0',
  );
  await go(window, `/walks/${walk?.id}`);
  await page.getByRole('link', { name: 'field by field' }).click();
  await walks.getByText(`${walk?.gone} gone`).waitFor();
  await go(window, '/changes?since=banana');
  await page.getByRole('alert').getByText('There is no time “banana”').waitFor();
  await page.getByLabel(/^From/).fill('2026-11-21T14:00');
  await page.waitForURL('**/changes?from=2026-11-21T14:00:00.000Z');
});

/** The overview, told something else than is so. */
async function overviewWith(path: string, edit: (overview: Overview) => void): Promise<Page> {
  const { page } = await openWindow(lived.browser, lived.url);
  // One that is under way when the test ends has no reader.
  onTestFinished(() => page.unrouteAll({ behavior: 'ignoreErrors' }));
  await page.route('**/page/overview*', async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    edit(json);
    await route.fulfill({ response, json });
  });
  await page.goto(`${lived.url}${path}`);
  await settled(page);
  return page;
}
