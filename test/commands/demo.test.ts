/** The demo, as it runs for people at a terminal, and for programs. */

import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { main } from '../../src/main.ts';

/** It waits for the quota of its model as anybody would. */
const within = { timeout: 100_000, interval: 100 };

function demo(isTTY: boolean) {
  let said = '';
  const stdout = {
    isTTY,
    write(text: string | Uint8Array) {
      said += String(text);
      return true;
    },
  };
  const stop = new AbortController();
  const ended = main(['demo'], {
    environment: {},
    clock: systemClock,
    random: Math.random,
    stdout,
    stderr: { write: () => true },
    signal: stop.signal,
  });
  const dir = () => /MIRROR_DIR=(\S+)/.exec(said)?.[1];
  onTestFinished(async () => {
    stop.abort();
    await ended;
    const folder = dir();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });
  return { said: () => said, stop: () => stop.abort(), ended };
}

test('at a terminal it stays, with a key, a curl line and a link that work, until Ctrl-C', async () => {
  const { said, stop, ended } = demo(true);
  await expect.poll(said, within).toContain('Ctrl-C ends it.');
  const [, key, address] =
    /curl -H "Authorization: Bearer (mmkey_\w+)" "(http:\/\/127\.0\.0\.1:\d+\/\S+)"/.exec(said()) ?? [];
  const answer = await fetch(address ?? '', { headers: { Authorization: `Bearer ${key}` } });
  expect([answer.status, ((await answer.json()) as { rows: unknown[] }).rows.length]).toEqual([200, 3]);
  const [link = ''] = /http:\S+\?token=\S+/.exec(said()) ?? [];
  const opened = await fetch(link);
  const cookie = opened.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  const overview = await fetch(new URL('/page/overview', link), { headers: { cookie } });
  expect([opened.status, overview.status]).toEqual([200, 200]);
  stop();
  expect(await ended).toBe(0);
  await expect(fetch(address ?? '')).rejects.toThrow();
}, 120_000);

test('elsewhere it ends by itself, and shows no key', async () => {
  const { said, ended } = demo(false);
  expect(await ended).toBe(0);
  expect(said()).toContain('All of it is sample data.');
  expect(said()).not.toMatch(/mmkey_|token=/);
}, 120_000);
