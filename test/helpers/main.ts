/** The command line within this process: the same commands, settings and exit codes, on a virtual clock. */

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { main } from '../../src/commands.ts';
import type { Ended } from './cli.ts';
import { removeFolder } from './folder.ts';
import { virtualClock } from './virtual-clock.ts';

export async function runMain(
  args: string[],
  environment: Record<string, string>,
  clock: Clock,
  signal: AbortSignal = new AbortController().signal,
): Promise<Ended> {
  const written = { stdout: '', stderr: '' };
  const into = (stream: keyof typeof written) => ({
    write(text: string) {
      written[stream] += text;
    },
  });
  const code = await main(args, {
    environment,
    clock,
    signal,
    random: () => 0.5,
    stdout: into('stdout'),
    stderr: into('stderr'),
  });
  return { code, ...written };
}

/** A command that runs on, by the clock of this machine, until it is stopped or the test ends; on a terminal where `isTTY`. */
export function startMain(
  args: string[],
  environment: Record<string, string>,
  isTTY: boolean,
  more: Pick<Parameters<typeof main>[1], 'sendToParent'> = {},
) {
  const written = { stdout: '', all: '' };
  const into = (stream: keyof typeof written) => ({
    isTTY,
    write(text: string | Uint8Array) {
      for (const name of new Set([stream, 'all'] as const)) written[name] += String(text);
      return true;
    },
  });
  const stop = new AbortController();
  const surroundings = { environment, clock: systemClock, random: Math.random, signal: stop.signal };
  const ended = main(args, { ...surroundings, ...more, stdout: into('stdout'), stderr: into('all') });
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  return { stdout: () => written.stdout, output: () => written.all, stop: () => stop.abort(), ended };
}

/** `keys`, in a folder of its own. */
export function setupKeys(dir = mkdtempSync(join(tmpdir(), 'mm-keys-'))) {
  onTestFinished(() => removeFolder(dir));
  const clock = virtualClock();
  const runWith = (settings: Record<string, string>, ...args: string[]) =>
    runMain(['keys', ...args], { MIRROR_DIR: dir, ...settings }, clock);
  const run = (...args: string[]) => runWith({}, ...args);
  const json = async (...args: string[]) => {
    const { code, stdout } = await run(...args, '--json');
    expect([args, code]).toEqual([args, 0]);
    return JSON.parse(stdout);
  };
  return { dir, clock, run, runWith, json };
}
