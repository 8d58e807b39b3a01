/** The page without a mouse, by a finger, and without motion. */

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { openWindow } from '../helpers/browser.ts';
import { sharedLived } from './lived.ts';
import { settled } from './support.ts';

const lived = await sharedLived();

test('who asks their system for less motion sees none, where others do while an answer is waited for', async () => {
  const { page } = await openWindow(lived.browser, lived.url, { reducedMotion: 'reduce' });
  // It is never answered.
  await page.route('**/page/query', () => undefined);
  await page.goto(`${lived.url}/walks`);
  await page.locator('main .state.loading').first().waitFor({ state: 'attached' });
  for (const [reducedMotion, expected] of [
    ['reduce', []],
    ['no-preference', ['appear']],
  ] as const) {
    await page.emulateMedia({ reducedMotion });
    const motions = await page.evaluate(() =>
      [...document.querySelectorAll('*')].flatMap((element) => {
        const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(element);
        const moves = [
          /[1-9]/.test(transitionDuration) && 'transition',
          scrollBehavior === 'smooth' && 'scroll',
        ];
        return [animationName !== 'none' && animationName, ...moves].filter(Boolean);
      }),
    );
    expect([...new Set(motions)]).toEqual(expected);
  }
});

test('Tab leads past the menu, and on to a row, its table sorted on the way, and out of the editor; all that has it shows it', async () => {
  const { page } = await lived.visit('/');
  await page.keyboard.press('Tab');
  expect((await focused(page)).name).toBe('To the content');
  await page.keyboard.press('Enter');
  await tabTo(page, /^ai-signals$/);
  expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'ai-signals' }).waitFor();
  await settled(page);
  await page.getByRole('searchbox').focus();
  await tabTo(page, /^confidence/);
  await page.keyboard.press('Enter');
  await page.waitForURL('**order=confidence.desc*');
  await settled(page);
  await tabTo(page, /^sig_/);
  const { name } = await focused(page);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name }).waitFor();

  await page.goto(`${lived.url}/sql`);
  await page.getByRole('textbox', { name: 'SQL' }).focus();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('SELECT 42 AS answer');
  await page.keyboard.press('Escape');
  await tabTo(page, /^Run$/);
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: '42' }).waitFor();
});

test('on a phone a finger opens the menu and each view, wherever one is on the page; the keyboard as well', async () => {
  const { page } = await openWindow(lived.browser, lived.url, { width: 390, height: 844 }, true);
  const menu = page.getByRole('button', { name: 'Menu' });
  const views = page.getByRole('navigation', { name: 'Page' });
  const choose = async (name: string) => {
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await menu.tap();
    expect([name, await hiddenInMenu(page)]).toEqual([name, []]);
    await views.getByRole('link', { name }).tap();
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
    expect(await page.getByRole('heading', { level: 1 }).evaluate(isOnScreen), name).toBe(true);
  };
  await page.goto(`${lived.url}/datasets/ai-signals?at=${lived.before}`);
  await settled(page);
  await choose('Walks');
  await page.goto(`${lived.url}/datasets/ai-signals`);
  await settled(page);
  for (const name of ['Overview', 'usage', 'Quota']) await choose(name);
  await menu.focus();
  await page.keyboard.press('Enter');
  await tabTo(page, /^Walks$/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Walks' }).waitFor();
  expect(await menu.getAttribute('aria-expanded')).toBe('false');
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
