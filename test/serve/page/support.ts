/** The service with a page, and a browser that has come by a link. */

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { openSessions } from '../../../src/serve/access/sessions.ts';
import type { PageSql, QueryLine } from '../../../src/serve/page/wire.ts';
import { memory, removeFolder } from '../../helpers/folder.ts';
import { openServeBench, type ServeBenchOptions } from '../../helpers/serve-bench.ts';

export const DOCUMENT = '<!doctype html><title>the page</title>';
export const SCRIPT = `console.log(${JSON.stringify('some text '.repeat(200))});`;
/** It goes on for hours, unless it is ended. */
export const ENDLESS =
  'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
export const SCRIPT_NAME = 'main-2QO7Z5KB.js';

/** Of files as the build makes them. */
function builtFolder(): string {
  const folder = mkdtempSync(join(memory, 'mm-page-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), DOCUMENT);
  writeFileSync(join(folder, 'assets', SCRIPT_NAME), SCRIPT);
  return folder;
}

async function openPage({ settings, ...options }: ServeBenchOptions) {
  const pageFolder = builtFolder();
  const serve = await openServeBench({
    rows: 20,
    walked: ['news'],
    pageFolder,
    ...options,
    settings: { page: 'token', ...settings },
  });
  const { bench, url } = serve;
  const tokens = openSessions(bench.dir);
  const close = async () => {
    tokens.close();
    await serve.close();
    removeFolder(pageFolder);
  };
  const link = () => `/?token=${tokens.issueLink(bench.clock.now()).token}`;

  /** Follows a link, as a browser would. @returns its cookie. */
  async function comeByLink(path = link()): Promise<string> {
    const { headers } = await fetch(`${url}${path}`, { redirect: 'manual' });
    return cookieIn(headers);
  }

  const login = (key: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/page/login`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ key }),
      redirect: 'manual',
    });
  /** @returns the cookie that the key gets. */
  const comeByKey = async (key: string) => cookieIn((await login(key)).headers);

  const cookie = await comeByLink();
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${url}${path}`, { headers: { cookie, ...headers }, redirect: 'manual' });
  const post = (path: string, body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      redirect: 'manual',
      ...(signal && { signal }),
    });
  const ask = async (
    question: Partial<PageSql> & {
      ask?: string;
      facets?: readonly string[];
      limit?: number;
      asOf?: string | null;
    },
  ) => {
    const answer = await post('/page/query', { limit: 1_000, ...question });
    return linesIn(await answer.text());
  };
  return { ...serve, link, comeByLink, login, comeByKey, cookie, get, post, ask, close };
}

/** For one test, closed when that ends. */
export async function setupPage(options: ServeBenchOptions = {}) {
  const page = await openPage(options);
  onTestFinished(page.close);
  return page;
}

/** One for all tests of a file that change nothing, with the processes of its questions; closed behind the last. */
export function sharedPage(options: ServeBenchOptions = {}): () => ReturnType<typeof openPage> {
  let page: ReturnType<typeof openPage> | undefined;
  afterAll(async () => await (await page)?.close());
  return () => (page ??= openPage(options));
}

export const cookieIn = (headers: Headers) => headers.get('set-cookie')?.split(';', 1)[0] ?? '';

export function linesIn(text: string): QueryLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as QueryLine);
}

/** The rows of an answer. */
export const rowsIn = (lines: readonly QueryLine[]) =>
  lines.flatMap((line) => ('rows' in line ? [...line.rows] : []));
