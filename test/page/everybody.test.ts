/** Everybody can use the page: on every screen, in both colours, without a mouse, and without motion. */

import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { applyLooks, obstacles, openWindow, type Window } from '../helpers/browser.ts';
import { sharedLived } from './lived.ts';
import { faultsToTheEye, outOfPlace, settled, sweep } from './support.ts';

const lived = await sharedLived();

const query = new URLSearchParams({
  sql: 'SELECT date(timestamp) AS day, count(*) AS signals FROM ai_signals GROUP BY 1',
});

test('every view can be read by everybody, on every screen', async () => {
  const views = [
    ...['/', `/?at=${lived.before}`, '/datasets/ai-signals', '/datasets/news'],
    ...['/datasets/ai-signals?show=removed', '/datasets/news?show=fields'],
    `/datasets/ai-signals/rows/${lived.changed}`,
    // Of a time and a range that are none.
    ...['/changes?kind=eq.changed&to=once', '/quota?range=constructor'],
    ...['/walks', '/walks/1', '/walks/999999', '/calls', '/problems', '/sql', `/sql#${query}&show=chart`],
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
    found.push(...(await outOfPlace(page)).map((fault) => `${width}: ${fault}`));
  }
  const headings = await page.getByRole('heading', { level: 1 }).count();
  return [...found, ...(await obstacles(page)), ...(headings === 1 ? [] : [`${headings} first headings`])];
}

test('who asks their system for less motion sees none, where others do while an answer is waited for', async () => {
  const paths = ['/datasets/ai-signals', `/sql#${query}&show=chart`];
  expect(await sweep(lived, paths, { reducedMotion: 'reduce' }, ({ page }) => motionsOn(page))).toEqual([]);
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

describe('by the keyboard,', () => {
  test('the first Tab leads past the menu, and others from the overview to a row, its table turned and sorted on the way', async () => {
    const { page } = await lived.visit('/');
    await page.keyboard.press('Tab');
    expect((await focused(page)).name).toBe('To the content');
    await page.keyboard.press('Enter');
    await tabTo(page, /^ai-signals$/);
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'ai-signals' }).waitFor();
    await settled(page);
    await tabTo(page, /^confidence/);
    await page.keyboard.press('Enter');
    await page.waitForURL('**order=confidence.desc*');
    await settled(page);
    await tabTo(page, /^next page$/);
    await page.keyboard.press('Enter');
    await page.getByText('51–100 of 130').waitFor();
    await settled(page);
    await page.getByRole('searchbox').focus();
    await tabTo(page, /^sig_/);
    const name = (await focused(page)).name;
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name }).waitFor();
  });

  test('SQL is written and run, and its answer drawn', async () => {
    const { page } = await lived.visit('/sql');
    await tabTo(page, /^SQL$/);
    const editor = page.getByRole('textbox', { name: 'SQL' });
    if (!(await editor.evaluate((box) => box.matches(':focus')))) await tabTo(page, /^SQL$/);
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('SELECT action, count(*) AS signals FROM ai_signals GROUP BY action');
    await page.keyboard.press('Escape');
    await tabTo(page, /^Run$/);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Rows of the answer' }).waitFor();
    await tabTo(page, /^Chart$/);
    await page.keyboard.press('Enter');
    await page.getByRole('figure').waitFor();
  });

  test('on a small screen the menu opens, and closes behind who chose', async () => {
    const { page } = await lived.visit('/', { width: 390, height: 844 });
    await tabTo(page, /^Menu$/);
    await page.keyboard.press('Enter');
    await tabTo(page, /^Walks$/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Walks' }).waitFor();
    expect(await page.getByRole('button', { name: 'Menu' }).getAttribute('aria-expanded')).toBe('false');
  });
});

describe('on a phone', () => {
  const phone = { width: 390, height: 844 };
  const views = ['Overview', 'Changes', 'Problems', 'SQL', 'ai-signals', 'usage', 'Walks', 'Calls', 'Quota'];

  test.each(['light', 'dark'] as const)('a finger opens the menu and each view, %s', async (colorScheme) => {
    const { page } = await openWindow(lived.browser, lived.url, { ...phone, colorScheme }, true);
    for (const [search, names] of [
      ['', views],
      [`?at=${lived.before}`, ['Walks']],
    ] as const) {
      await page.goto(`${lived.url}/datasets/ai-signals${search}`);
      await settled(page);
      for (const name of names) {
        // Wherever one is on the page, and above all far down.
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
        await page.getByRole('button', { name: 'Menu' }).tap();
        expect([name, await hiddenInMenu(page)]).toEqual([name, []]);
        await page.getByRole('navigation', { name: 'Page' }).getByRole('link', { name }).tap();
        await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
        await settled(page);
        expect(await page.getByRole('heading', { level: 1 }).evaluate(isOnScreen), name).toBe(true);
      }
    }
    await page.getByRole('button', { name: 'Menu' }).tap();
    await page.getByLabel('Colours').tap();
    await page.getByLabel('Colours').selectOption('dark');
    await page.getByRole('button', { name: 'Menu' }).tap();
    expect(await page.locator('main').evaluate(isOnScreen)).toBe(true);
  });
});

/** Entries of the open menu that something else lies upon, or that are off the screen when it opens. */
async function hiddenInMenu(page: Page): Promise<string[]> {
  const entries = page.locator('nav.side :is(a, select, .version)');
  return await entries.evaluateAll((all) =>
    all.flatMap((entry) => {
      const { left, right, top, bottom } = entry.getBoundingClientRect();
      const [x, y] = [(left + right) / 2, (top + bottom) / 2];
      const isOn = entry.contains(document.elementFromPoint(x, y));
      return isOn || entry.closest('.brand') ? [] : [`${entry.textContent} at ${x}, ${y}`];
    }),
  );
}

/** Runs in the browser: whether its top is to be seen, below the bar. */
function isOnScreen(element: Element): boolean {
  const { top, left } = element.getBoundingClientRect();
  return element.contains(document.elementFromPoint(left + 20, top + 4));
}

/** What has the focus, within the editor, too: its name for people, and whether it can be seen to have it. */
async function focused(page: Page): Promise<{ name: string; isSeen: boolean }> {
  return await page.evaluate(() => {
    let element = document.activeElement as HTMLElement | null;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement as HTMLElement;
    if (!element || element === document.body) return { name: '', isSeen: true };
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const editor = element.closest('.cm-editor');
    const isOutlined =
      (outlineStyle !== 'none' && outlineWidth !== '0px') ||
      (editor !== null && getComputedStyle(editor).outlineStyle !== 'none');
    return {
      name: element.getAttribute('aria-label') ?? element.innerText ?? '',
      isSeen: isOutlined && box.width > 0 && box.height > 0,
    };
  });
}

/** Presses Tab until what has that name has the focus; all that had it on the way must show it. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  const passed: string[] = [];
  for (let turn = 0; turn < 120; turn += 1) {
    await page.keyboard.press('Tab');
    const here = await focused(page);
    passed.push(here.name);
    // The editor says so a moment later.
    if (!here.isSeen) await expect.poll(() => focused(page)).toEqual({ ...here, isSeen: true });
    if (name.test(here.name)) return;
  }
  throw new Error(`Tab never came to ${name}, but to ${passed.join(' | ')}`);
}
