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

export type Looker = {
  page: Page;
  /** Messages of the console, errors of scripts and of the page's policy. */
  messages: string[];
  /** Addresses of other places that it asked for; no name of another machine is found. */
  elsewhere: string[];
};

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
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
}

export type Window = Looker & { context: BrowserContext };

/** A window of its own, which remembers nothing; closed when the test ends. @param hasTouch it can be tapped. */
export async function openWindow(
  browser: Browser,
  origin: string,
  looks: Partial<Looks> = {},
  hasTouch = false,
): Promise<Window> {
  const window = await createWindow(browser, origin, hasTouch);
  onTestFinished(() => window.context.close());
  await applyLooks(window.page, looks);
  return window;
}

export async function applyLooks(
  page: Page,
  { width = 1280, height = 800, colorScheme = 'light', reducedMotion = 'reduce' }: Partial<Looks> = {},
): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme, reducedMotion });
}

/** Whoever opens it closes it. */
export async function createWindow(browser: Browser, origin: string, hasTouch = false): Promise<Window> {
  const context = await browser.newContext({ timezoneId: 'Europe/Zurich', locale: 'en-GB', hasTouch });
  // As all deadlines of tests: for what hangs.
  context.setDefaultTimeout(110_000);
  const messages: string[] = [];
  const elsewhere: string[] = [];
  const page = await context.newPage();
  // Requests are watched, not held: a held one is never taken from the browser's cache, and each view would be compiled anew.
  context.on('request', (request) => {
    const { protocol, origin: of } = new URL(request.url());
    const isWithin = of === new URL(origin).origin || protocol === 'data:' || protocol === 'blob:';
    if (!isWithin) elsewhere.push(request.url());
  });
  page.on('console', (message) => messages.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => messages.push(`error: ${error.message}`));
  return { context, page, messages, elsewhere };
}

/** Leaves nothing of what was seen and kept in it: a window that is used again costs half of a new one. */
export async function emptyWindow({ context, page, messages, elsewhere }: Window): Promise<void> {
  for (const other of context.pages()) if (other !== page) await other.close();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.clearCookies();
  await page.mouse.move(0, 0);
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  await page.goto('about:blank');
  messages.length = 0;
  elsewhere.length = 0;
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

type Violation = { id: string; help: string; nodes: { html: string }[] };

type Axe = {
  run(context: object, options: object): Promise<{ violations: Violation[] }>;
};

/** What makes one row of a table makes all of them, and to look at fifty takes far longer than to look at three. */
const firstRows = { exclude: ['tbody > tr:nth-child(n + 4)'] };

/**
 * What keeps people with other eyes or hands from using the page as it stands; one line each.
 * @param rule the only one to look by; all of them unless given.
 */
export async function obstacles(page: Page, rule?: 'color-contrast'): Promise<string[]> {
  // By the debugger: the page's policy lets nothing in that it does not have itself. Once a document: it is large.
  if (await page.evaluate(() => !('axe' in globalThis))) await page.evaluate(axe);
  // To describe what is right takes longer than to find what is wrong.
  const options = { resultTypes: ['violations'], preload: false, ...(rule && { runOnly: [rule] }) };
  const violations = await page.evaluate(
    async ([context, options]) =>
      (await (globalThis as unknown as { axe: Axe }).axe.run(context, options)).violations,
    [firstRows, options] as const,
  );
  return violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`,
  );
}
