/** The overview, opened by a browser that has never seen it: when it can be used, and what its main thread did meanwhile. */

import type { Browser, Page } from 'playwright-core';
import { atMost, median, type Table, targetHeads } from '../../figures.ts';

const USABLE_MS = 500;
const TASK_MS = 50;

export async function measureFirstView(browser: Browser, url: string, runs: number): Promise<Table> {
  const usable: number[] = [];
  const longest: number[] = [];
  for (let run = 0; run <= runs; run += 1) {
    const seen = await openOnce(browser, url);
    // The first one starts processes, of the browser and of the service, that are there from then on.
    if (run === 0) continue;
    usable.push(seen.usableMs);
    longest.push(seen.longestTaskMs);
  }
  const line = (name: string, figures: readonly number[], most: number) => {
    const figure = median(figures);
    return [name, figure.toFixed(0), Math.max(...figures).toFixed(0), ...atMost(figure, most)];
  };
  return {
    about: `the first view, nothing kept from before, in milliseconds, ${runs} times`,
    heads: ['', 'median', 'most', ...targetHeads],
    rows: [
      line('from the address to a line for each dataset', usable, USABLE_MS),
      line('longest task of the main thread', longest, TASK_MS),
    ],
  };
}

export type FirstView = { usableMs: number; longestTaskMs: number };

/** In a window that remembers nothing. */
export async function openOnce(browser: Browser, url: string): Promise<FirstView> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } });
  try {
    const page = await context.newPage();
    await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline'] });
    await page.goto(url);
    const usableMs = await usableAfter(page);
    await page.waitForLoadState('load');
    // What is drawn after the lines, the charts first of all, counts as well.
    await page.waitForTimeout(1_000);
    const trace = await browser.stopTracing();
    return { usableMs, longestTaskMs: longestTask(trace) };
  } finally {
    await context.close();
  }
}

/** By the browser's clock, which begins with the navigation. */
async function usableAfter(page: Page): Promise<number> {
  await page.locator('main a[href^="/datasets/"]').first().waitFor();
  return await page.evaluate(() => performance.now());
}

type TraceEvent = {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  dur?: number;
  args?: { name?: string };
};

/** Of all pages' main threads, in milliseconds. */
function longestTask(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] };
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents.filter(
    ({ name, pid, tid }) => name.endsWith('RunTask') && threads.has(`${pid} ${tid}`),
  );
  if (tasks.length === 0) throw new Error('the trace holds no task of the main thread');
  return Math.max(...tasks.map(({ dur = 0 }) => dur)) / 1_000;
}
