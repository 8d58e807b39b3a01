/** Where `serve` tells of its page: a link to a person at a terminal, and never to a log. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { loadJobs } from '../../src/load-jobs.ts';
import { main } from '../../src/main.ts';
import { openStore } from '../../src/store.ts';
import { runMain } from '../helpers/main.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';
import { folder } from '../serve/support.ts';

/** @param sendToParent of one that the daemon started. */
function serveAtTerminal(
  dir: string,
  settings: Record<string, string> = {},
  sendToParent?: (word: unknown) => void,
) {
  let said = '';
  const write = (text: string | Uint8Array) => {
    said += String(text);
    return true;
  };
  const stop = new AbortController();
  const ended = main(['serve', '--port', '0'], {
    environment: { MIRROR_DIR: dir, LOG_LEVEL: 'silent', ...settings },
    clock: systemClock,
    random: Math.random,
    stdout: { write },
    stderr: { isTTY: true, write },
    signal: stop.signal,
    ...(sendToParent && { sendToParent }),
  });
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  return { said: () => said, ended };
}

async function emptyMirror(): Promise<string> {
  const dir = folder();
  openStore(dir, await loadJobs(), Date.now).close();
  return dir;
}

test('a person at a terminal gets a link that works', async () => {
  const { said } = serveAtTerminal(await emptyMirror());
  const link = () => /The page: (http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43})\n/.exec(said())?.[1];
  await expect.poll(link, { timeout: 10_000 }).toBeDefined();
  const answer = await fetch(link() ?? '');
  expect([answer.status, answer.headers.get('set-cookie')]).toEqual([
    200,
    expect.stringContaining('HttpOnly'),
  ]);
});

test('where everybody on this machine sees it, the address is enough', async () => {
  const { said } = serveAtTerminal(await emptyMirror(), { MIRROR_SERVE_PAGE: 'open' });
  await expect.poll(said, { timeout: 10_000 }).toMatch(/The page: http:\/\/127\.0\.0\.1:\d+\n/);
});

test('one that the daemon started prints none, nor one without a page', async () => {
  let word: unknown;
  const { said } = serveAtTerminal(await emptyMirror(), {}, (told) => {
    word = told;
  });
  await expect.poll(() => word, { timeout: 10_000 }).toBeDefined();
  expect(said()).not.toContain('token');
});

test.each([
  ['open', '0.0.0.0:4020', 'MIRROR_SERVE_PAGE is open'],
  ['open', '192.0.2.1:4020', 'MIRROR_SERVE_PAGE is open'],
  ['yes', '127.0.0.1:4020', 'MIRROR_SERVE_PAGE is none of token, open and off'],
])('a page that is %s at %s is refused', async (MIRROR_SERVE_PAGE, MIRROR_SERVE, line) => {
  const settings = { MIRROR_DIR: folder(), MIRROR_SERVE, MIRROR_SERVE_PAGE, MIRROR_SERVE_TRUST: '10.0.0.7' };
  expect(await runMain(['serve'], settings, virtualClock())).toMatchObject({
    code: 78,
    stderr: expect.stringContaining(line),
  });
});

test('at a terminal it refuses a folder without a mirror, and makes nothing there', async () => {
  const dir = join(folder(), 'data');
  const { said, ended } = serveAtTerminal(dir);
  expect([await ended, said()]).toEqual([
    75,
    `market-mirror: ${dir}/mirror.db does not exist yet: run market-mirror sync or start first, or go to the folder of your mirror (MIRROR_DIR)\n`,
  ]);
  expect(existsSync(dir)).toBe(false);
});
