import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWindow } from '../helpers/browser.ts';
import { type Lived, openLived } from './lived.ts';
import { expectNoFaults } from './support.ts';

let lived: Lived;
beforeAll(async () => {
  lived = await openLived();
});
afterAll(() => lived.close());

const query = new URLSearchParams({
  sql: 'SELECT date(timestamp) AS day, count(*) AS signals FROM ai_signals GROUP BY 1',
});

test.each([
  ['the overview', () => '/'],
  ['the overview of a past', () => `/?at=${lived.before}`],
  ['a specified dataset', () => '/datasets/ai-signals'],
  ['a discovered dataset', () => '/datasets/news'],
  ['what was removed', () => '/datasets/ai-signals?show=removed'],
  ['a chart', () => '/datasets/ai-signals?show=chart&value=confidence'],
  ['the life of a row', () => `/datasets/ai-signals/rows/${lived.changed}`],
  ['changes, to a time that is none', () => '/changes?kind=update&to=once'],
  ['the quota, of a range that is none', () => '/quota?range=constructor'],
  ['walks', () => '/walks'],
  ['a walk', () => '/walks/1'],
  ['calls', () => '/calls'],
  ['problems', () => '/problems'],
  ['the editor of SQL', () => '/sql'],
  ['an answer', () => `/sql#${query}`],
  ['an address of nothing', () => '/walks/999999'],
])('%s can be read by everybody, on every screen', async (_, path) => {
  await expectNoFaults(lived, path());
});

describe('who asks their system for less motion', () => {
  test('sees none', async () => {
    for (const path of ['/datasets/ai-signals?show=chart&value=confidence', '/sql']) {
      const { page } = await lived.visit(path, { reducedMotion: 'reduce' });
      expect(await motionsOn(page)).toEqual([]);
    }
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
