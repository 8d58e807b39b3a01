import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { applyLooks, obstacles, openWindow, type Window } from '../helpers/browser.ts';
import { openLived } from './lived.ts';
import { faultsToTheEye, outOfPlace, settled, sweep } from './support.ts';

const lived = await openLived();
afterAll(lived.close);

const query = new URLSearchParams({
  sql: 'SELECT date(timestamp) AS day, count(*) AS signals FROM ai_signals GROUP BY 1',
});

test('every view can be read by everybody, on every screen', async () => {
  const views = [
    ...['/', `/?at=${lived.before}`, '/datasets/ai-signals', '/datasets/news'],
    ...['/datasets/ai-signals?show=removed', '/datasets/ai-signals?show=chart&value=confidence'],
    `/datasets/ai-signals/rows/${lived.changed}`,
    // Of a time and a range that are none.
    ...['/changes?kind=update&to=once', '/quota?range=constructor'],
    ...['/walks', '/walks/1', '/walks/999999', '/calls', '/problems', '/sql', `/sql#${query}`],
  ];
  expect(await sweep(lived, views, {}, faultsOnEveryScreen)).toEqual([]);
});

/** Dark on the smallest and light on the others: widths do not depend on colours, and contrasts not on the width. */
async function faultsOnEveryScreen(window: Window): Promise<string[]> {
  const { page } = window;
  await applyLooks(page, { width: 390, colorScheme: 'dark' });
  await settled(page);
  const found = [...(await faultsToTheEye(window)), ...(await obstacles(page, 'color-contrast'))];
  for (const width of [768, 1_920, 1_440]) {
    await applyLooks(page, { width });
    await settled(page);
    found.push(...(await outOfPlace(page)).map((fault) => `${width}: ${fault}`));
  }
  const headings = await page.getByRole('heading', { level: 1 }).count();
  return [...found, ...(await obstacles(page)), ...(headings === 1 ? [] : [`${headings} first headings`])];
}

describe('who asks their system for less motion', () => {
  test('sees none', async () => {
    const paths = ['/datasets/ai-signals?show=chart&value=confidence', '/sql'];
    const found = await sweep(lived, paths, { reducedMotion: 'reduce' }, ({ page }) => motionsOn(page));
    expect(found).toEqual([]);
  });

  test('sees none while an answer is waited for, where others do', async () => {
    for (const [reducedMotion, expected] of [
      ['reduce', []],
      ['no-preference', ['appear']],
    ] as const) {
      const { page } = await openWindow(lived.browser, lived.url, { reducedMotion });
      // It is never answered.
      await page.route('**/page/query', () => undefined);
      await page.goto(`${lived.url}/walks`);
      await page.locator('main .state.loading').first().waitFor({ state: 'attached' });
      expect([...new Set(await motionsOn(page))]).toEqual(expected);
    }
  });
});

/** What moves by itself on the page or would on a change, in shadow trees as well. */
async function motionsOn(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const found: string[] = [];
    const look = (root: Document | ShadowRoot) => {
      for (const element of root.querySelectorAll('*')) {
        const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(element);
        if (animationName !== 'none') found.push(animationName);
        if (/[1-9]/.test(transitionDuration)) found.push(`transition of ${element.className}`);
        if (scrollBehavior === 'smooth') found.push(`smooth scrolling of ${element.className}`);
        if (element.shadowRoot) look(element.shadowRoot);
      }
    };
    look(document);
    return found;
  });
}
