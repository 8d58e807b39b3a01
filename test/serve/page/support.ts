/** The service with a page, and a browser that has come by a link. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openSessions } from '../../../src/serve/ui/sessions.ts';
import type { PageQuestion, QueryLine } from '../../../src/serve/ui/wire.ts';
import { roomOf } from '../../helpers/mirror-bench.ts';
import { type ServeBenchOptions, setupServe } from '../../helpers/serve-bench.ts';

export const DOCUMENT = '<!doctype html><title>the page</title>';
export const SCRIPT = `console.log(${JSON.stringify('some text '.repeat(200))});`;
export const SCRIPT_NAME = 'main-2QO7Z5KB.js';

/** Of files as the build makes them. */
function builtFolder(): string {
  const folder = mkdtempSync(join(roomOf(), 'mm-page-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), DOCUMENT);
  writeFileSync(join(folder, 'assets', SCRIPT_NAME), SCRIPT);
  return folder;
}

export async function setupPage({ settings, ...options }: ServeBenchOptions = {}) {
  const serve = await setupServe({
    rows: 20,
    walked: ['news'],
    pageFolder: builtFolder(),
    ...options,
    settings: { page: 'token', ...settings },
  });
  const { bench, url } = serve;
  const tokens = openSessions(bench.dir);
  onTestFinished(tokens.close);
  const link = () => `/?token=${tokens.issueLink(bench.clock.now()).token}`;

  /** Follows a link, as a browser would. @returns its cookie. */
  async function comeByLink(path = link()): Promise<string> {
    const { headers } = await fetch(`${url}${path}`, { redirect: 'manual' });
    return cookieIn(headers);
  }

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
  const ask = async (question: Partial<PageQuestion>) => {
    const answer = await post('/page/query', { limit: 1_000, ...question });
    return linesIn(await answer.text());
  };
  return { ...serve, link, comeByLink, cookie, get, post, ask };
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
