/** The overview, what changed, and the quota say what SQL says, and what a daemon, its sinks and its waits are about. */

import type { Page } from 'playwright-core';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import type { SinkNote } from '../../src/reading/status.ts';
import type { Overview } from '../../src/serve/page/wire.ts';
import { isLock, tryLock } from '../../src/store.ts';
import { openWindow } from '../helpers/browser.ts';
import { gate } from '../helpers/gate.ts';
import { openLived } from './lived.ts';
import { datasetLine, faultsOf, go, rowsOf, settled, tableIn } from './support.ts';

const lived = await openLived();
afterAll(lived.close);

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
  expect(await sparkline.getAttribute('href')).toBe('/changes?job=ai-signals&since=24h');

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

test('held rows are said beside the rows, now and in the past', async () => {
  const before = isoTime(lived.bench.clock.now());
  lived.bench.clock.advance(2_000);
  lived.bench.tamper(
    `UPDATE _smart_wallets_rows SET _held_since = '${before}', _held_reason = 'unproven' WHERE number <= 7`,
  );
  onTestFinished(() => {
    lived.bench.tamper('UPDATE _smart_wallets_rows SET _held_since = NULL, _held_reason = NULL');
    lived.bench.clock.advance(2_000);
  });
  for (const path of ['/', `/?at=${isoTime(lived.bench.clock.now())}`]) {
    const { page } = await lived.visit(path);
    expect([path, await rowsOf(page, 'smart-wallets').innerText()]).toEqual([path, '130 (7 held)']);
    expect(await rowsOf(page, 'meme-signals').innerText()).toBe('130');
    expect(await datasetLine(page, 'smart-wallets').innerText()).not.toContain('_held_since');
  }
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

/** A daemon that has noted this of its sinks. */
function daemonWith(notes: { ship?: SinkNote; lake?: SinkNote }): void {
  const lock = tryLock(lived.bench.dir, 'daemon');
  if (!isLock(lock)) throw new Error('a daemon holds the folder');
  onTestFinished(lock.release);
  lock.note(JSON.stringify({ queue: null, serve: null, ...notes }));
  // Longer than an overview is kept.
  lived.bench.clock.advance(2_000);
}

test('each sink says whether all changes have arrived, or how many have not, how old they are and what helps', async () => {
  const now = lived.bench.clock.now();
  const seqs = Object.fromEntries(
    lived.bench
      .sql<{ job: string; seq: number }>(
        'SELECT job, last_seq AS seq FROM _datasets WHERE last_seq IS NOT NULL',
      )
      .map(({ job, seq }) => [job, seq]),
  );
  const trouble = {
    message: 'Postgres db:5432/reports cannot be reached (ECONNREFUSED)',
    nextTry: isoTime(now + 30_000),
    since: isoTime(now - 600_000),
  };
  const { 'ai-signals': _, ...others } = seqs;
  daemonWith({ ship: { seqs: others, trouble }, lake: { seqs, trouble: null } });
  const [missing] = lived.bench.sql<{ changes: number }>(
    `SELECT sum(inserted + updated + deleted) AS changes FROM walks WHERE job = 'ai-signals'`,
  );
  const window = await lived.visit('/', { width: 390 });
  const shown = window.page.getByRole('region', { name: 'Follows the mirror' });
  const [postgres = '', lake = ''] = await shown.getByRole('listitem').allInnerTexts();
  expect(postgres).toContain(`${missing?.changes} changes behind, the oldest 2h`);
  expect(postgres).toContain('Nothing has arrived since');
  expect(postgres).toContain(trouble.message);
  expect(postgres).toMatch(/→ The daemon tries again (in \d+s|now).*docs\/ship\.md/);
  expect(lake).toMatch(/Lake up to date all changes have arrived/);
  const problem = window.page
    .getByRole('listitem')
    .filter({ hasText: 'nothing has arrived in Postgres since' });
  expect(await problem.count()).toBe(1);
  expect(await faultsOf(window)).toEqual([]);
});

test('the quota is drawn from the calls, and calls are counted by dataset and answer, as SQL has them', async () => {
  const { page } = await lived.visit('/quota');
  const [left, made] = await page.getByRole('figure').all();
  if (!left || !made) throw new Error('there are not two charts');
  await left.locator('canvas').waitFor();
  for (const chart of [left, made]) await chart.getByText('Numbers').click();
  const [last] = lived.bench.sql<{ left: number }>(
    'SELECT rate_remaining AS "left" FROM requests WHERE rate_remaining IS NOT NULL ORDER BY id DESC LIMIT 1',
  );
  expect((await left.getByRole('table').innerText()).replaceAll(',', '')).toContain(String(last?.left));
  const [all] = lived.bench.sql<{ calls: number }>('SELECT count(*) AS calls FROM requests');
  const bars = (await tableIn(page, /^Calls made, each ten minutes/)).slice(1);
  expect(bars.reduce((sum, [, calls]) => sum + Number(calls), 0)).toBe(all?.calls);
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
  const title = page.getByRole('heading', { name: 'Calls of the last' });
  expect(await title.innerText()).toBe('Calls of the last 24 hours');
  held.open();
  await page.getByText('Calls made, each minute').waitFor();
  await expect.poll(() => title.innerText()).toBe('Calls of the last 1 hour');
  await page.unroute('**/page/query');
});

test('the quota says what waits and why, the rate with its evidence, and one thing alone of the plan', async () => {
  const page = await overviewWith('/quota', ({ status, plan }) => {
    const [until, reason] = [status.datasets[0]?.completeAsOf ?? '', 'unavailable'];
    Object.assign(status, {
      waits: [{ job: 'news', until, reason, why: 'the endpoint was unavailable 3 times in a row' }],
      rate: { perSecond: 4.5, source: 'learnt', evidence: 'measured at a refusal' },
      concurrency: { allowed: 3, source: null, evidence: 'two were accepted' },
    });
    for (const { job, doing } of status.datasets)
      if (job === 'news' || job === 'usage')
        Object.assign(doing, { state: 'waiting', kind: 'walk', until, reason });
    Object.assign(plan, { available: 999, schedules: 'scarce' });
  });
  const told = await page.locator('.waits > li').allInnerTexts();
  expect(told).toHaveLength(2);
  expect(told[0]).toMatch(/^news .* ago unavailable\s+the endpoint was unavailable 3 times in a row$/);
  expect(told[1]).toMatch(/^usage: its walk goes on .* ago unavailable$/);
  const text = await page.locator('main').innerText();
  expect(text).toMatch(/4\.5 calls a second\. measured at a refusal 3 at once\. two were accepted/);
  expect(text).toMatch(/Calls are scarce: the longer intervals are what the quota allows/);
  expect(text).not.toContain('Every schedule can be kept');
});

/** Changes, the latest first: a line each. */
const changesIn = async (page: Page) => (await tableIn(page, 'Changes, the latest first')).slice(1);

test('what changed is told field by field: of the last hour, of a dataset, of a field and of a walk', async () => {
  const window = await lived.visit('/');
  const { page } = window;
  await page.getByRole('link', { name: 'Changes', exact: true }).click();
  await settled(page);
  await page.getByRole('link', { name: '1 hour' }).click();
  await settled(page);
  const from = isoTime(lived.bench.clock.now() - 3_600_000);
  const expected = lived.bench.sql<{ job: string; key: string; change: string }>(
    'SELECT job, key, change FROM changes WHERE at > ? ORDER BY at DESC, job, key',
    from,
  );
  const lines = await changesIn(page);
  const words = { insert: 'new', update: 'changed', delete: 'gone' } as Record<string, string>;
  expect(lines.map(([, job, change]) => [job, change])).toEqual(
    expected.slice(0, 200).map(({ job, change }) => [job, words[change]]),
  );
  const status = lived.bench.sql<{ status: string; confidence: number }>(
    `SELECT status, confidence FROM ai_signals_history WHERE id = '${lived.changed}' AND _ended_by = 'update'`,
  )[0];
  const changed = lines.find(([, , change, , fields]) => change === 'changed' && fields?.includes('0.123'));
  expect(changed?.[4]).toContain(`confidence ${status?.confidence} → 0.123`);
  expect(changed?.[4]).toContain(`status ${status?.status} → closed`);

  await go(window, '/changes?job=ai-signals&field=confidence&since=7d');
  expect(await changesIn(page)).toHaveLength(1);
  await go(window, '/changes?job=ai-signals&field=rationale');
  await page.getByText('Nothing changed in this time in ai-signals.').waitFor();
  const [walk] = lived.bench.sql<{ id: number; gone: number }>(
    'SELECT id, deleted AS gone FROM walks WHERE deleted > 0',
  );
  await go(window, `/walks/${walk?.id}`);
  await page.getByRole('link', { name: 'field by field' }).click();
  await page.getByText(`, ${walk?.gone} gone`).waitFor();
});

test('changes that come are counted, and shown when they are asked for', async () => {
  const window = await lived.visit('/changes?job=smart-wallets', { width: 390 });
  const { page } = window;
  const before = (await changesIn(page)).length;
  const { smartWallets } = lived.bench.model.data;
  smartWallets.rows.unshift(...smartWallets.make(3));
  lived.bench.clock.advance(60_000);
  await lived.bench.mirror('smart-wallets');
  await page.getByRole('button', { name: '3 new changes' }).waitFor();
  expect(await changesIn(page)).toHaveLength(before);
  await page.getByRole('button', { name: '3 new changes' }).click();
  await expect.poll(async () => (await changesIn(page)).length).toBe(before + 3);
  expect(await faultsOf(window)).toEqual([]);
});

test('other filters of changes begin at the first page, and a time that is chosen takes the place of a span', async () => {
  const window = await lived.visit('/changes?since=24h&page=2');
  const { page } = window;
  await page.getByLabel(/^From/).fill('2026-11-21T14:00');
  await page.waitForURL('**/changes?from=2026-11-21T14:00:00.000Z');
  await settled(page);
  const changes = `SELECT key FROM changes WHERE at > '2026-11-21T14:00:00.000Z'`;
  expect(await changesIn(page)).toHaveLength(lived.bench.sql(changes).length);
  await go(window, '/changes?walk=1&page=2');
  await page.getByRole('link', { name: 'of walk 1 ×' }).click();
  await page.waitForURL('**/changes');
});

test('changes reach to now wherever they end later, from any page, and with every other choice', async () => {
  const { page } = await lived.visit('/changes?since=24h&to=2999-01-01T00:00:00.000Z&page=2');
  const { smartWallets } = lived.bench.model.data;
  const change = async () => {
    smartWallets.rows.unshift(...smartWallets.make(2));
    lived.bench.clock.advance(60_000);
    await lived.bench.mirror('smart-wallets');
    await page.getByRole('button', { name: '2 new changes' }).waitFor();
  };
  const first = async () => (await changesIn(page)).slice(0, 3).map(([, job, kind]) => `${job} ${kind}`);
  const isOfWallets = ['smart-wallets new', 'smart-wallets new'];
  await change();
  await page.getByRole('button', { name: '2 new changes' }).click();
  await page.waitForURL((url) => !url.searchParams.has('page'));
  await expect.poll(async () => (await first()).slice(0, 2)).toEqual(isOfWallets);

  await change();
  await page.getByRole('combobox', { name: 'Dataset' }).selectOption('smart-wallets');
  await settled(page);
  const [counted] = lived.bench.sql<{ n: number }>(
    `SELECT count(*) AS n FROM changes WHERE job = 'smart-wallets'`,
  );
  expect(await changesIn(page)).toHaveLength(counted?.n ?? 0);
  expect(await page.getByRole('button', { name: /new changes?$/ }).count()).toBe(0);
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

test('where no daemon runs and all is stale, that is one problem, and on each dataset, too', async () => {
  lived.bench.clock.advance(24 * 3_600_000);
  const window = await lived.visit('/');
  const { page } = window;
  const problems = page.getByRole('list', { name: 'Problems' }).getByRole('listitem');
  const noDaemon = problems.filter({ hasText: /no daemon is running/i });
  expect(await noDaemon.count()).toBe(1);
  expect(await noDaemon.innerText()).toMatch(
    /no daemon is running: ai-signals, meme-signals, smart-wallets, usage are stale\s+run market-mirror start/,
  );
  expect(await problems.filter({ hasText: 'last complete' }).count()).toBe(1);
  const badge = page
    .getByRole('navigation')
    .getByRole('link', { name: /^Problems/ })
    .locator('.tag');
  expect(await badge.innerText()).toBe(String(await problems.count()));
  await go(window, '/datasets/meme-signals');
  expect(await noDaemon.count()).toBe(1);
  expect(await noDaemon.innerText()).toMatch(/meme-signals last complete .*: no daemon is running/);
});
