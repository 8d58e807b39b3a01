/** The page in a real browser, over a mirror of the model API: opened once a file, and looked at in a window for each test. */

import type { Browser, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import {
  applyLooks,
  createWindow,
  emptyWindow,
  type Looks,
  launch,
  obstacles,
  type Window,
} from '../helpers/browser.ts';
import { cached } from '../helpers/cached.ts';
import { openServeBench, type ServeBench, type ServeBenchOptions } from '../helpers/serve-bench.ts';

export type Sight = ServeBench & {
  browser: Browser;
  /** A window at this path, once all of it is there. It remembers nothing, though the next test may use it again. */
  visit(path: string, look?: Partial<Looks>): Promise<Window>;
};

/** One a process, which ends with it: its windows know nothing of each other, and a start takes as long as a test. */
const shared = cached(launch);

/** Everybody on this machine may see it, unless the settings say otherwise. Close it when done. */
export async function openSight({ settings, ...options }: ServeBenchOptions = {}): Promise<Sight> {
  const [browser, serve] = await Promise.all([
    shared(),
    openServeBench({ ...options, settings: { page: 'open', ...settings } }),
  ]);
  let spare: Window | undefined;
  return {
    ...serve,
    browser,
    async visit(path, look) {
      const window = spare ?? (await createWindow(browser, serve.url));
      spare = undefined;
      onTestFinished(async ({ task }) => {
        if (spare || task.result?.state === 'fail') return await window.context.close();
        await emptyWindow(window);
        spare = window;
      });
      await applyLooks(window.page, look);
      await window.page.goto(`${serve.url}${path}`);
      await settled(window.page);
      return window;
    },
    async close() {
      await spare?.context.close();
      await serve.close();
    },
  };
}

let waits = 0;

/** Waits until nothing on the page is still to come: no part of it, no answer, no drawing. */
export async function settled(page: Page): Promise<void> {
  waits += 1;
  await page.locator('main h1').waitFor();
  await page.waitForFunction(isSettled, waits, { polling: 50 });
}

/** The page looks for what is new by itself every few seconds; as after a connection came back, it does so at once. */
export const lookAgain = (page: Page) => page.evaluate(() => void dispatchEvent(new Event('online')));

/** Waits until what follows the size of the window, such as a chart, has followed it: it is told of it within a frame. */
async function drawnAnew(page: Page): Promise<void> {
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null)))),
  );
}

/** Runs in the browser: twice in a row in this wait nothing was loading, and nothing was asked in between. */
function isSettled(wait: number): boolean {
  const state = globalThis as unknown as { asked?: number; wait?: number };
  const before = state.wait === wait ? state.asked : -1;
  state.wait = wait;
  const asked = performance.getEntriesByType('resource').length;
  const isLoading = document.querySelector(
    'main [aria-busy="true"], main .state.loading, .connection.connecting',
  );
  state.asked = isLoading ? -1 : asked;
  return !isLoading && before === asked;
}

/** What nobody should find on any view, one line each. */
export async function faultsOf(window: Window): Promise<string[]> {
  return [...(await faultsToTheEye(window)), ...(await obstacles(window.page))];
}

/** The same without what hinders some people alone: to look for that in large tables takes seconds. */
export async function faultsToTheEye({ page, messages, elsewhere }: Window): Promise<string[]> {
  const asked = elsewhere.map((address) => `asked elsewhere: ${address}`);
  return [...messages, ...asked, ...(await outOfPlace(page))];
}

/** What depends on the size of the window, once what follows it, such as a chart, has followed it. */
export async function outOfPlace(page: Page): Promise<string[]> {
  await drawnAnew(page);
  return [...(await tooWide(page)), ...(await cutTexts(page))];
}

/** Goes to a view of the page that is open, as a link would: to load all of it anew takes longer than most views. */
export async function go({ page }: Window, path: string): Promise<void> {
  await page.evaluate((path) => {
    performance.clearResourceTimings();
    history.pushState(null, '', path);
    dispatchEvent(new PopStateEvent('popstate'));
  }, path);
  await drawnAnew(page);
  await settled(page);
}

/** What reaches over the edge of the window, so that all of the page would have to be moved sideways. */
async function tooWide(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const over = [...document.querySelectorAll('main *')].filter(
      (element) =>
        element.getBoundingClientRect().right > clientWidth + 1 && !element.parentElement?.closest('.scroll'),
    );
    return [
      `${scrollWidth} wide in a window of ${clientWidth}`,
      ...over.slice(0, 5).map(({ outerHTML }) => `over the edge: ${outerHTML.slice(0, 120)}`),
    ];
  });
}

/** Texts that are cut, with neither a way to move them nor a title or a button that has all of them. */
async function cutTexts(page: Page): Promise<string[]> {
  return await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('main *, nav *, header *')]
      .filter((element) => {
        const { overflowX, overflowY } = getComputedStyle(element);
        const isCut =
          (overflowX === 'hidden' && element.scrollWidth > element.clientWidth + 1) ||
          (overflowY === 'hidden' && element.scrollHeight > element.clientHeight + 1);
        const isForEars = element.classList.contains('unseen');
        return (
          isCut && !isForEars && !element.title && !element.closest('button, a[aria-label], svg, .uplot')
        );
      })
      .map(({ outerHTML }) => `cut: ${outerHTML.slice(0, 120)}`),
  );
}

/** A dataset of the overview: its line, and its details once they are opened. */
export const datasetLine = (page: Page, job: string) =>
  page.getByRole('rowgroup', { name: job, exact: true });

/** How many rows it is said to have. */
export const rowsOf = (page: Page, job: string) => datasetLine(page, job).locator('.rows > :first-child');

/** The texts of a table's cells, a line a row, heads first. @param name of the part of the page that it stands in. */
export async function tableIn(page: Page, name: string | RegExp): Promise<string[][]> {
  const rows = page.getByRole('region', { name }).getByRole('row');
  await rows.first().waitFor();
  return await rows.evaluateAll((lines) =>
    lines.map((line) =>
      [...line.querySelectorAll('th, td')].map((cell) => (cell as HTMLElement).innerText.trim()),
    ),
  );
}
