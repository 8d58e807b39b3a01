import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { openLived } from './lived.ts';
import { settled } from './support.ts';

const lived = await openLived();
afterAll(lived.close);

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
    const { name: here } = await focused(page);
    passed.push(here);
    // The editor says so a moment later.
    await expect.poll(() => focused(page)).toEqual({ name: here, isSeen: true });
    if (name.test(here)) return;
  }
  throw new Error(`Tab never came to ${name}, but to ${passed.join(' | ')}`);
}

test('the first Tab leads past the menu to the content', async () => {
  const { page } = await lived.visit('/');
  await page.keyboard.press('Tab');
  expect((await focused(page)).name).toBe('To the content');
  await page.keyboard.press('Enter');
  await tabTo(page, /^(news|ai-signals)$/);
  expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
});

test('from the overview to a row, its table turned and sorted on the way', async () => {
  const { page } = await lived.visit('/');
  await tabTo(page, /^ai-signals$/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'ai-signals' }).waitFor();
  await settled(page);
  await tabTo(page, /^confidence/);
  await page.keyboard.press('Enter');
  await page.waitForURL('**?sort=-confidence');
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
