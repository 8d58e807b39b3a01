/** `npm run bench -- page`: how soon the first view of the built page is usable, the longest task of the main thread, and how long rows take. */

import type { Browser, Page } from 'playwright-core';
import { launch } from '../../test/helpers/browser.ts';
import { atMost, judgeTable, median, type Table, targetHeads } from '../figures.ts';
import { withMirror } from '../passes.ts';
import { readBenchOptions } from './lines.ts';
import { startServe } from './load.ts';

async function bench(): Promise<void> {
  const { runs, rows } = readBenchOptions();
  await withMirror(rows, async ({ folder }) => {
    const serve = await startServe(folder, { MIRROR_SERVE_PAGE: 'open' });
    const browser = await launch();
    try {
      process.stdout.write(`${rows.toLocaleString('en-US')} rows each of ai-signals and news\n`);
      judgeTable(await measureFirstView(browser, serve.url, runs));
      judgeTable(await measureTable(browser, serve.url, rows, runs));
    } finally {
      await browser.close();
      await serve.end();
    }
  });
}

/** Above so many rows another bound holds. */
const MANY = 100_000;
const MANY_MS = 5_000;

/** How long a dataset's table takes to show rows after turning, sorting or searching. */
async function measureTable(browser: Browser, url: string, rows: number, runs: number): Promise<Table> {
  const asked: Record<string, Look> = {
    'the first rows': { search: '', ...ofRows },
    'rows in the middle': { search: `?offset=${Math.floor(rows / 2)}`, ...ofRows },
    'sorted by a number': { search: '?order=confidence.desc.nullslast', ...ofRows },
    'found by a text in any column': { search: '?q=gold', ...ofRows },
    'filtered by a column': { search: '?action=eq.SELL', ...ofRows },
  };
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } });
  try {
    const page = await context.newPage();
    const lines: string[][] = [];
    for (const [name, look] of Object.entries(asked)) {
      const took: number[] = [];
      for (let run = 0; run < runs; run += 1)
        took.push(await answered(page, `${url}/datasets/ai-signals`, look));
      const figure = median(took);
      const bound = rows > MANY ? MANY_MS : look.boundMs;
      lines.push([name, figure.toFixed(0), Math.max(...took).toFixed(0), ...atMost(figure, bound)]);
    }
    return {
      about: `50 rows of ai-signals, from asking to seeing, in milliseconds, ${runs} times`,
      heads: ['', 'median', 'most', ...targetHeads],
      rows: lines,
    };
  } finally {
    await context.close();
  }
}

/** What is looked at, the question that it begins with, and where it is seen: a selector. */
type Look = { search: string; isAsked(body: string): boolean; seen: string; boundMs: number };

/** The rows are asked for with whether they are held; a sample of them and their number are not. */
const ofRows: Omit<Look, 'search'> = {
  isAsked: (body) => body.includes('_held_since') && body.includes('order='),
  seen: '[aria-label="Rows of ai-signals"] tbody tr',
  boundMs: 300,
};

/** From asking to seeing, on a page that is opened anew. */
async function answered(page: Page, address: string, { search, isAsked, seen }: Look): Promise<number> {
  await page.goto('about:blank');
  const asked = page
    .waitForRequest((request) => isAsked(request.postData() ?? ''))
    .then(() => performance.now());
  await page.goto(`${address}${search}`);
  await untilSeen(page, seen);
  return performance.now() - (await asked);
}

/** Looked for with each frame: a locator is looked for every half second once it was not there at first. */
async function untilSeen(page: Page, selector: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => document.querySelector(${JSON.stringify(selector)})?.checkVisibility() ? resolve() : requestAnimationFrame(look);
    look();
  })`);
}

const USABLE_MS = 500;
const TASK_MS = 50;

async function measureFirstView(browser: Browser, url: string, runs: number): Promise<Table> {
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

type FirstView = { usableMs: number; longestTaskMs: number };

/** In a window that remembers nothing. */
async function openOnce(browser: Browser, url: string): Promise<FirstView> {
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
  await untilSeen(page, 'main a[href^="/datasets/"]');
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

await bench();
