/** Where `serve` tells of its page: a link to a person at a terminal, and never to a log. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadJobs } from '../../src/job/load.ts';
import { openStore } from '../../src/store.ts';
import { memoryFolder } from '../helpers/folder.ts';
import { startMain } from '../helpers/main.ts';

const serveAtTerminal = (
  dir: string,
  settings: Record<string, string> = {},
  ...more: [{ sendToParent(word: unknown): void }?]
) =>
  startMain(['serve', '--port', '0'], { MIRROR_DIR: dir, LOG_LEVEL: 'silent', ...settings }, true, ...more);

async function emptyMirror(): Promise<string> {
  const dir = memoryFolder();
  openStore(dir, await loadJobs(), Date.now).close();
  return dir;
}

test('a person at a terminal gets a link that works', async () => {
  const { output: said } = serveAtTerminal(await emptyMirror());
  const link = () => /The page: (http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{43})\n/.exec(said())?.[1];
  await expect.poll(link).toBeDefined();
  const answer = await fetch(link() ?? '');
  expect([answer.status, answer.headers.get('set-cookie')]).toEqual([
    200,
    expect.stringContaining('HttpOnly'),
  ]);
});

test('one that the daemon started prints none, nor one without a page', async () => {
  let word: unknown;
  const sendToParent = (told: unknown) => {
    word = told;
  };
  const { output: said } = serveAtTerminal(await emptyMirror(), {}, { sendToParent });
  await expect.poll(() => word).toBeDefined();
  expect(said()).not.toContain('token');
});

test('at a terminal it refuses a folder without a mirror, and makes nothing there', async () => {
  const dir = join(memoryFolder(), 'data');
  const { output: said, ended } = serveAtTerminal(dir);
  expect([await ended, said()]).toEqual([
    75,
    `market-mirror: ${dir}/mirror.db does not exist yet: run market-mirror sync or start first, or go to the folder of your mirror (MIRROR_DIR)\n`,
  ]);
  expect(existsSync(dir)).toBe(false);
});
