/** The page follows the mirror by itself: from when there is nothing, while it is written, and past the end of the service. */

import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOUR_MS, isoTime } from '../../src/base/clock.ts';
import { openWindow } from '../helpers/browser.ts';
import { gate } from '../helpers/gate.ts';
import { freePort, listenOnLoopback } from '../helpers/loopback.ts';
import { datasetLine, faultsOf, go, lookAgain, openSight, rowsOf, settled, tableIn } from './support.ts';

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

test('a mirror that is empty has nothing to show, and every view says so, and why; then the rows of its first walk', async () => {
  const views: Record<string, RegExp> = {
    '/': /never/,
    '/datasets/news': /has not been mirrored yet/,
    '/datasets/news/rows/none': /No row of this key/,
    '/walks': /No walk/,
    '/calls': /No call/,
    '/changes': /Nothing changed/,
    '/quota': /No call was made/,
    '/problems': /No row is refused/,
    '/reports': /There are none/,
    '/sql': /SQL/,
    '/datasets/ai-signals': /has not been mirrored yet/,
  };
  const window = await sight.visit('/', { width: 390 });
  const { page } = window;
  for (const [path, said] of Object.entries(views)) {
    await go(window, path);
    await expect.poll(() => page.locator('main').innerText(), { message: path }).toMatch(said);
  }
  expect(await faultsOf(window)).toEqual([]);
  await bench.mirror('ai-signals');
  await lookAgain(page);
  await page.getByRole('region', { name: 'Rows of ai-signals' }).waitFor();
  await page.locator('.facets').getByText('quality_grade').waitFor({ state: 'attached' });
});

describe('a mirror that is written', () => {
  beforeAll(async () => {
    for (const job of ['news', 'meme-signals']) await bench.mirror(job);
  });

  test('changes the numbers of the overview and what is open there, and shows a walk page by page, without loading anew', async () => {
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
    expect(await page.evaluate(() => 'wasHere' in globalThis)).toBe(true);
    expect(messages).toEqual([]);
  });

  test('counts what is new of rows and of changes, and shows it when it is asked for', async () => {
    const window = await sight.visit('/datasets/news');
    const { page } = window;
    const { news } = bench.model.data;
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
    const newer = page.getByRole('button', { name: 'Show newer changes' });
    await newer.waitFor();
    expect(await rows.count()).toBe(before);
    await newer.click();
    await expect.poll(() => rows.count()).toBe(before + 1);
    expect(await newer.count()).toBe(0);
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

  test('a version that is being read stays open when a newer one comes; of very many the number of each is true', async () => {
    const { aiSignals } = bench.model.data;
    const key = String(aiSignals.rows[3]?.['id']);
    const window = await sight.visit(`/datasets/ai-signals/rows/${key}`);
    const { page } = window;
    const values = page.getByRole('region', { name: 'Values of version 1' });
    await values.waitFor();
    aiSignals.rows[3] = { ...aiSignals.rows[3], confidence: 0.456 } as never;
    await walk('ai-signals');
    await lookAgain(page);
    await page.getByRole('heading', { name: 'Version 2: changed' }).waitFor();
    expect(await values.isVisible()).toBe(true);

    // The trigger keeps each version.
    const begun = bench.clock.now();
    const changes = Array.from({ length: 210 }, (_, at) => isoTime(begun + (at + 1) * 1_000));
    bench.tamper(
      changes
        .map((at) => `UPDATE _ai_signals_rows SET _changed_at = '${at}' WHERE _key = '${key}';`)
        .join(''),
    );
    bench.clock.advance(HOUR_MS);
    await page.reload();
    await page.getByText('Current version: 212, since').waitFor();
    const titles = page.getByRole('heading', { name: /^Version/ });
    expect(await titles.first().innerText()).toBe('Version 212: changed');
    expect(await titles.last().innerText()).toBe('Version 12: oldest that is shown');
    await go(window, `/datasets/ai-signals/rows/${key}?at=${isoTime(begun + 4_500)}`);
    await page.getByText('of its 212 versions all came after that moment').waitFor();
  });

  test('a walk that waits says once for what, and until when', async () => {
    bench.tamper(
      `UPDATE walks SET status = 'waiting', finished_at = NULL, waits_for = 'unavailable',
         waits_until = '2026-11-21T15:04:05.678Z', error = 'waiting until 2026-11-21T15:04:05.678Z: the API does not serve it at present'
       WHERE id = 1`,
    );
    const { page } = await sight.visit('/walks');
    const told = (await tableIn(page, 'Walks, newest first')).find(([id]) => id === '1')?.join(' ');
    expect(told).toContain('waits until 2026-11-21 15:04:05 UTC for the API, which is unavailable');
    expect(told?.match(/until/g)).toHaveLength(1);
  });

  test('a value that is being read stays the same while rows come above it', async () => {
    const insert = (key: string) =>
      bench.tamper(`INSERT INTO quarantine (job, key, identity, body, problems, walk_id, first_seen_at, last_seen_at, times)
        SELECT 'ai-signals', '${key}', '${key}', '{"of": "${key}", "text": "${'long '.repeat(40)}"}', '[]', id, started_at, started_at, 1 FROM walks LIMIT 1`);
    insert('first');
    const { page } = await sight.visit('/problems');
    const refused = page.locator('section[aria-label="Refused rows, newest first"] tbody tr');
    await refused.getByRole('button', { name: /show all of Body/ }).click();
    const whole = page.getByRole('dialog').locator('pre');
    const before = await whole.innerText();
    insert('second');
    await walk('news');
    await lookAgain(page);
    await expect.poll(() => refused.count()).toBe(2);
    expect(await whole.innerText()).toBe(before);
    expect(JSON.parse(before)).toMatchObject({ of: 'first' });
  });

  test('a page of a list leads on, and from the second on holds to the calls that there were', async () => {
    const copies = (calls: number) =>
      bench.tamper(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${calls})
        INSERT INTO requests (at, job, walk_id, status, url, ms, bytes, request_id)
        SELECT at, job, walk_id, status, url, ms, bytes, 'copy-' || (id + i) FROM n, (SELECT * FROM requests ORDER BY id DESC LIMIT 1)`);
    copies(200);
    const ids = () =>
      bench
        .sql<{ id: string }>('SELECT request_id AS id FROM requests ORDER BY requests.id DESC')
        .map(({ id }) => id);
    const before = ids();
    const { page } = await sight.visit('/calls');
    const turn = (name: string) =>
      page.getByRole('navigation', { name: 'Pages' }).getByRole('button', { name }).click();
    const shown = async () => {
      const [heads = [], ...lines] = await tableIn(page, /^Calls, newest first/);
      return lines.map((line) => line[heads.indexOf('X-Request-ID')]);
    };
    await expect.poll(shown).toEqual(before.slice(0, 50));
    await turn('next page');
    await expect.poll(shown).toEqual(before.slice(50, 100));
    copies(3);
    await turn('next page');
    await expect.poll(shown).toEqual(before.slice(100, 150));
    await turn('page before');
    await expect.poll(shown).toEqual(before.slice(50, 100));
    await turn('first page');
    await expect.poll(shown).toEqual(ids().slice(0, 50));
  });

  test('where no daemon runs and all is stale, that is one problem, and on each dataset, too', async () => {
    bench.clock.advance(24 * HOUR_MS);
    const window = await sight.visit('/');
    const { page } = window;
    const problems = page.getByRole('list', { name: 'Problems' }).getByRole('listitem');
    const noDaemon = problems.filter({ hasText: /no daemon is running/i });
    await expect
      .poll(() => noDaemon.innerText())
      .toMatch(/no daemon is running: .*meme-signals.* are stale.*\s+run market-mirror start/);
    expect(await noDaemon.count()).toBe(1);
    const badge = page
      .getByRole('navigation')
      .getByRole('link', { name: /^Problems/ })
      .locator('.tag');
    expect(await badge.innerText()).toBe(String(await problems.count()));
    await go(window, '/datasets/meme-signals');
    expect(await noDaemon.innerText()).toMatch(/meme-signals last complete .*: no daemon is running/);
  });
});

test('a service that went away is said, what was seen stays, and it comes back by itself', async () => {
  const { handle } = sight.service;
  const first = await listenOnLoopback(createServer(handle), await freePort());
  const { page } = await openWindow(sight.browser, first.url);
  await page.goto(`${first.url}/`);
  await settled(page);
  await first.close();
  await page.getByText('The service went away; trying again.').waitFor();
  expect(await page.locator('nav').innerText()).toContain('news');
  const second = await listenOnLoopback(createServer(handle), first.port);
  try {
    await page.locator('.connection.live').waitFor();
    expect(await page.getByText('The service went away').count()).toBe(0);
  } finally {
    await second.close();
  }
});
