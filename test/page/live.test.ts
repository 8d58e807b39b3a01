/** The page follows the mirror by itself: from when there is nothing, while it is written, and past the end of the service. */

import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../src/base/clock.ts';
import { openWindow } from '../helpers/browser.ts';
import { gate } from '../helpers/gate.ts';
import { freePort, listenOnLoopback } from '../helpers/loopback.ts';
import { datasetLine, faultsOf, lookAgain, openSight, rowsOf, settled, sweep } from './support.ts';

const sight = await openSight({ rows: 130, walked: [] });
afterAll(sight.close);
const { bench } = sight;

describe('a mirror that is empty', () => {
  const views: Record<string, RegExp> = {
    '/': /never/,
    '/datasets/ai-signals': /has not been mirrored yet/,
    '/datasets/news': /has not been mirrored yet/,
    '/datasets/nothing': /no dataset of this name/,
    '/datasets/news/rows/none': /No row of this key/,
    '/walks': /No walk/,
    '/calls': /No call/,
    '/changes': /Nothing changed/,
    '/quota': /No call was made/,
    '/problems': /No row is refused/,
    '/sql': /SQL/,
  };

  test('has nothing to show, and every view says so, and why', async () => {
    const found = await sweep(sight, Object.keys(views), { width: 390 }, async (window, path) => {
      expect([path, await window.page.locator('main').innerText()]).toEqual([
        path,
        expect.stringMatching(views[path] ?? ''),
      ]);
      return await faultsOf(window);
    });
    expect(found).toEqual([]);
  });

  test('shows the rows of a dataset, and values to choose from, after its first walk', async () => {
    const { page } = await sight.visit('/datasets/ai-signals');
    await bench.mirror('ai-signals');
    await lookAgain(page);
    await page.getByRole('region', { name: 'Rows of ai-signals' }).waitFor();
    await page.getByRole('region', { name: 'Values of quality_grade' }).waitFor();
  });
});

describe('a mirror that is written', () => {
  beforeAll(async () => {
    for (const job of ['news', 'meme-signals']) await bench.mirror(job);
  });

  test('changes the numbers of the overview and of what is open there, without loading the page anew', async () => {
    const { page, messages } = await sight.visit('/');
    await page.evaluate(() => Object.assign(globalThis, { wasHere: true }));
    expect(await rowsOf(page, 'news').innerText()).toBe('130');
    await page.getByRole('button', { name: 'Details of news' }).click();
    const { news } = bench.model.data;
    news.rows.unshift(...news.make(25));
    bench.clock.advance(HOUR_MS);
    await bench.mirror('news');
    await lookAgain(page);
    await rowsOf(page, 'news').filter({ hasText: '155' }).waitFor();
    await datasetLine(page, 'news').getByText('155 new').waitFor();
    expect(await page.evaluate(() => 'wasHere' in globalThis)).toBe(true);
    expect(messages).toEqual([]);
  });

  test('shows a walk as it goes, page by page', async () => {
    const { page } = await sight.visit('/');
    const line = datasetLine(page, 'meme-signals');
    const held = gate();
    const { memeSignals } = bench.model.data;
    memeSignals.rows.unshift(...memeSignals.make(120));
    bench.clock.advance(HOUR_MS);
    let calls = 0;
    bench.model.beforeAnswer = async () => {
      calls += 1;
      if (calls === 2) await held.passed;
    };
    const walked = bench.mirror('meme-signals');
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
  });

  test('counts what is new of the rows of a dataset, and shows it when it is asked for', async () => {
    const { page } = await sight.visit('/datasets/news');
    const { news } = bench.model.data;
    const [added] = news.make(1);
    news.rows.unshift(added as never);
    bench.clock.advance(HOUR_MS);
    await bench.mirror('news');
    await lookAgain(page);
    const link = page.getByRole('link', { name: String(added?.['id'] ?? '') });
    const button = page.getByRole('button', { name: /^Show 1 new or changed/ });
    await button.waitFor();
    expect(await link.count()).toBe(0);
    await button.click();
    await link.waitFor();
    expect(await button.count()).toBe(0);
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
