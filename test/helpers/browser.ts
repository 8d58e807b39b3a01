/** A real browser without a screen, and what it has to say of a page. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, chromium as chromiumType, type Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { chromium } from './tools.ts';

export type Looks = {
  width: number;
  height: number;
  colorScheme: 'light' | 'dark';
  reducedMotion: 'reduce' | 'no-preference';
};

/** Every view has to be fit for these. */
export const looks: readonly (readonly [string, Partial<Looks>])[] = [
  ['1280 light', { width: 1280, colorScheme: 'light' }],
  ['1280 dark', { width: 1280, colorScheme: 'dark' }],
  ['390 light', { width: 390, colorScheme: 'light' }],
  ['390 dark', { width: 390, colorScheme: 'dark' }],
];

export type Looker = {
  page: Page;
  /** Messages of the console, errors of scripts and of the page's policy. */
  messages: string[];
  /** Addresses of other places that it asked for; none of them is reached. */
  elsewhere: string[];
};

export type Window = Looker & { context: BrowserContext };

/** @throws where there is no browser, with what installs one. */
export async function launch(): Promise<Browser> {
  return await chromiumType.launch({
    executablePath: chromium(),
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Nothing else is reached, whatever a page asks for.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
    ],
  });
}

const usual: Looks = { width: 1280, height: 800, colorScheme: 'light', reducedMotion: 'no-preference' };

/** A window of its own, which remembers nothing; closed when the test ends. */
export async function openWindow(
  browser: Browser,
  origin: string,
  look: Partial<Looks> = {},
): Promise<Window> {
  const window = await newWindow(browser, look);
  onTestFinished(() => window.context.close());
  return listenTo(window, origin);
}

/** Windows that a test has left as they were when they were new. A start takes half as long again as a view of the page. */
const unused = new WeakMap<Browser, BareWindow[]>();

/** As `openWindow`, for a test that does nothing to it but look at pages of `origin` and use them. */
export async function borrowWindow(
  browser: Browser,
  origin: string,
  look: Partial<Looks> = {},
): Promise<Window> {
  const windows = unused.get(browser) ?? [];
  unused.set(browser, windows);
  const used = windows.pop();
  const { width, height, ...media } = { ...usual, ...look };
  await used?.page.setViewportSize({ width, height });
  await used?.page.emulateMedia(media);
  const window = used ?? (await newWindow(browser, look));
  onTestFinished(async ({ task }) => {
    const isAlone = window.context.pages().length === 1 && !window.page.isClosed();
    if (task.result?.state === 'fail' || !isAlone) return await window.context.close();
    await forget(window, origin);
    windows.push(window);
  });
  return listenTo(window, origin);
}

type BareWindow = Pick<Window, 'context' | 'page'>;

async function newWindow(browser: Browser, look: Partial<Looks>): Promise<BareWindow> {
  const { width, height, ...media } = { ...usual, ...look };
  const context = await browser.newContext({
    ...media,
    viewport: { width, height },
    timezoneId: 'Europe/Zurich',
    locale: 'en-GB',
  });
  // As all deadlines of tests: for what hangs.
  context.setDefaultTimeout(60_000);
  return { context, page: await context.newPage() };
}

function listenTo({ context, page }: BareWindow, origin: string): Window {
  const messages: string[] = [];
  const elsewhere: string[] = [];
  page.on('console', (message) => messages.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => messages.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const { protocol, origin: of } = new URL(request.url());
    const isHere = of === new URL(origin).origin || protocol === 'data:' || protocol === 'blob:';
    if (!isHere) elsewhere.push(request.url());
  });
  return { context, page, messages, elsewhere };
}

/** Leaves nothing of what was seen at `origin`: no document, cookie or stored value, and nobody who listens. */
async function forget({ context, page }: BareWindow, origin: string): Promise<void> {
  page.removeAllListeners();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  // A page of no origin has none.
  await page.evaluate(`origin === 'null' || sessionStorage.clear()`);
  await page.goto('about:blank');
  const session = await context.newCDPSession(page);
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  await session.detach();
  await context.clearCookies();
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

type Violation = { id: string; help: string; nodes: { html: string }[] };

type Axe = { run(): Promise<{ violations: Violation[] }> };

/** What keeps people with other eyes or hands from using the page as it stands; one line each. */
export async function obstacles(page: Page): Promise<string[]> {
  // By the debugger: the page's policy lets nothing in that it does not have itself. Once a document: it is large.
  if (await page.evaluate(() => !('axe' in globalThis))) await page.evaluate(axe);
  const violations = await page.evaluate(
    async () => (await (globalThis as unknown as { axe: Axe }).axe.run()).violations,
  );
  return violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`,
  );
}
