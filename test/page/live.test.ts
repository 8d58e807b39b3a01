/** The page follows the mirror by itself: from when there is nothing, while it is written, and past the end of the service. */

import { createServer } from 'node:http';
import { afterAll, expect, test } from 'vitest';
import { HOUR_MS, isoTime } from '../../src/base/clock.ts';
import { openWindow } from '../helpers/browser.ts';
import { gate } from '../helpers/gate.ts';
import { freePort, listenOnLoopback } from '../helpers/loopback.ts';
import { datasetLine, go, lookAgain, openSight, rowsOf, settled, tableIn } from './support.ts';

const sight = await openSight({ rows: 130, walked: [] });
afterAll(sight.close);
const { bench } = sight;
const linkTo = (sql: string) => `/sql#${new URLSearchParams({ sql })}`;

/** A walk a minute later. */
async function walk(job: string, laterMs = 60_000): Promise<void> {
  bench.clock.advance(laterMs);
  bench.model.data.aiSignals.generatedAt = isoTime(bench.clock.now());
  await bench.mirror(job);
}

// The first one finds an empty mirror, the others what was walked before.
test('a mirror that is empty has nothing to show, and every view says so, and why; then the rows of its first walk', async () => {
  const window = await sight.visit('/');
  const { page } = window;
  for (const [path, said] of [
    ['/', /never/],
    ['/walks', /No walk/],
    ['/calls', /No call/],
    ['/changes', /Nothing changed/],
    ['/quota', /No call was made/],
    ['/problems', /No row is refused/],
    ['/reports', /There are none/],
    ['/datasets/ai-signals', /has not been mirrored yet/],
  ] as const) {
    await go(window, path);
    await expect.poll(() => page.locator('main').innerText(), { message: path }).toMatch(said);
  }
  await bench.mirror('ai-signals');
  await lookAgain(page);
  await page.getByRole('region', { name: 'Rows of ai-signals' }).waitFor();
});

test('the overview follows each commit, and shows a walk page by page, without loading anew', async () => {
  for (const job of ['news', 'meme-signals']) await bench.mirror(job);
  const { page, messages } = await sight.visit('/');
  await page.evaluate(() => Object.assign(globalThis, { wasHere: true }));
  expect(await rowsOf(page, 'news').innerText()).toBe('130');
  await page.getByRole('button', { name: 'Details of news' }).click();
  const { news, memeSignals } = bench.model.data;
  news.rows.unshift(...news.make(25));
  await walk('news', HOUR_MS);
  await lookAgain(page);
  await rowsOf(page, 'news').filter({ hasText: '155' }).waitFor();
  await datasetLine(page, 'news').getByText('155 new').waitFor();

  const line = datasetLine(page, 'meme-signals');
  const held = gate();
  memeSignals.rows.unshift(...memeSignals.make(120));
  let calls = 0;
  bench.model.beforeAnswer = async () => {
    calls += 1;
    if (calls === 2) await held.passed;
  };
  const walked = walk('meme-signals');
  try {
    await expect.poll(() => calls).toBe(2);
    await lookAgain(page);
    await line.getByText('walk running, page 2').waitFor();
    expect(await line.getByRole('progressbar').getAttribute('title')).toMatch(/^100 /);
  } finally {
    held.open();
    await walked;
    bench.model.beforeAnswer = undefined;
  }
  await lookAgain(page);
  await line.getByText('no daemon runs it').waitFor();
  expect(await rowsOf(page, 'meme-signals').innerText()).toBe('250');
  expect([await page.evaluate(() => 'wasHere' in globalThis), messages]).toEqual([true, []]);
});

test('what is being read stays as it is: new rows and changes are counted, and shown when they are asked for', async () => {
  const window = await sight.visit('/datasets/news');
  const { page } = window;
  const { news, aiSignals } = bench.model.data;
  const add = async () => {
    const [added] = news.make(1);
    news.rows.unshift(added as never);
    await walk('news');
    await lookAgain(page);
    return String(added?.['id'] ?? '');
  };
  const link = page.getByRole('link', { name: await add() });
  const button = page.getByRole('button', { name: /^Show 1 new or changed/ });
  await button.waitFor();
  expect(await link.count()).toBe(0);
  await button.click();
  await link.waitFor();
  expect(await button.count()).toBe(0);

  await go(window, '/changes?job=eq.news');
  const rows = page.locator('.walk-changes').getByRole('listitem');
  const before = await rows.count();
  await add();
  await page.getByRole('button', { name: 'Show newer changes' }).waitFor();
  expect(await rows.count()).toBe(before);
  await page.getByRole('button', { name: 'Show newer changes' }).click();
  await expect.poll(() => rows.count()).toBe(before + 1);

  await go(window, `/datasets/ai-signals/rows/${aiSignals.rows[3]?.['id']}`);
  const values = page.getByRole('region', { name: 'Values of version 1' });
  await values.waitFor();
  aiSignals.rows[3] = { ...aiSignals.rows[3], confidence: 0.456 } as never;
  await walk('ai-signals');
  await lookAgain(page);
  await page.getByRole('heading', { name: 'Version 2: changed' }).waitFor();
  expect(await values.isVisible()).toBe(true);
});

test('a link to an answer shows the same once the data are others', async () => {
  const count = 'SELECT count(*) AS n FROM ai_signals';
  const window = await sight.visit(linkTo(count));
  const { page } = window;
  const answer = () => tableIn(page, 'Rows of the answer');
  const first = await answer();
  const link = await page.getByRole('link', { name: 'Link to this answer' }).getAttribute('href');
  const { aiSignals } = bench.model.data;
  aiSignals.rows.unshift(...aiSignals.make(3));
  await walk('ai-signals');
  await go(window, linkTo(`${count} WHERE 1`));
  await expect.poll(answer).not.toEqual(first);
  await page.goto(`${sight.url}${link}`);
  await expect.poll(answer).toEqual(first);
});

test('a list leads on, page by page, and from the second on holds to the calls that there were', async () => {
  const copies = (calls: number) =>
    bench.tamper(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${calls})
      INSERT INTO requests (at, job, walk_id, status, url, ms, bytes, request_id)
      SELECT at, job, walk_id, status, url, ms, bytes, 'copy-' || (id + i) FROM n, (SELECT * FROM requests ORDER BY id DESC LIMIT 1)`);
  const ids = () =>
    bench
      .sql<{ id: string }>('SELECT request_id AS id FROM requests ORDER BY requests.id DESC')
      .map(({ id }) => id);
  copies(200);
  const before = ids();
  const { page } = await sight.visit('/calls');
  const shown = async () => {
    const [heads = [], ...lines] = await tableIn(page, /^Calls, newest first/);
    return lines.map((line) => line[heads.indexOf('X-Request-ID')]);
  };
  await expect.poll(shown).toEqual(before.slice(0, 50));
  const turns: [string, number][] = [
    ['next page', 50],
    ['next page', 100],
    ['page before', 50],
  ];
  for (const [name, from] of turns) {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('button', { name }).click();
    await expect.poll(shown).toEqual(before.slice(from, from + 50));
    copies(3);
  }
});

test('a service that went away is said, what was seen stays, and it comes back by itself', async () => {
  const { handle } = sight.service;
  const first = await listenOnLoopback(createServer(handle), await freePort());
  const { page } = await openWindow(sight.browser, first.url);
  await page.goto(`${first.url}/`);
  await settled(page);
  await first.close();
  await lookAgain(page);
  await page.getByText('The service went away; trying again.').waitFor();
  expect(await page.locator('nav').innerText()).toContain('news');
  const second = await listenOnLoopback(createServer(handle), first.port);
  try {
    await lookAgain(page);
    await page.locator('.connection.live').waitFor();
    expect(await page.getByText('The service went away').count()).toBe(0);
  } finally {
    await second.close();
  }
});
