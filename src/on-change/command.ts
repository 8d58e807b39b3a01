/** One run of the command: by a shell, in a process group of its own, for a bounded time. */

import { once } from 'node:events';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import ms from 'ms';
import { type StartedChild, startChild } from '../child.ts';
import { printable } from '../printable.ts';

export type Facts = Record<string, string>;
export type Say = (level: 'info' | 'warn', job: string, text: string) => void;
type Write = (level: 'info' | 'warn', text: string) => void;

const MOST_LINES = 100;
const LONGEST_LINE = 500;
/** What a command wrote last may arrive after its end; what it left running may hold its output open for ever. */
const LAST_WORDS_MS = 200;
const LOOK_MS = 20;

/** @returns how it failed; undefined where it ended well, or was ended by `signal`. */
export async function runCommand(
  command: string,
  environment: Record<string, string | undefined>,
  { most, grace }: { most: number; grace: number },
  write: Write,
  signal: AbortSignal,
): Promise<string | undefined> {
  signal.throwIfAborted();
  const { child, release, signalGroup } = startChild(['/bin/sh', '-c', command], {
    env: environment,
    output: 'pipe',
  });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const closed = once(child, 'close');
  closed.catch(() => undefined);
  pass([child.stdout, child.stderr], write);

  const over = new AbortController();
  const late = delay(most, 'late' as const, { signal: over.signal });
  const stopped = once(signal, 'abort', { signal: over.signal }).then(() => 'stopped' as const);
  for (const other of [late, stopped]) other.catch(() => undefined);
  try {
    const first = await Promise.race([ended, late, stopped]);
    if (typeof first === 'string') {
      release();
      await end(signalGroup, grace);
      await ended;
    }
    await Promise.race([closed, delay(LAST_WORDS_MS)]);
    if (first === 'late') return `took longer than ${ms(most)} and was ended`;
    if (first === 'stopped') return undefined;
    const [code, by] = first;
    const killer = by ?? signalOf(code ?? 0);
    return code === 0 ? undefined : killer ? `was ended by ${killer}` : `failed with exit code ${code}`;
  } finally {
    over.abort();
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  }
}

/** A shell tells by its exit code which signal ended what it waited for. */
function signalOf(code: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
}

/** Ends the shell and what it started, which may outlive the shell; kills what does not end. */
async function end(signalGroup: StartedChild['signalGroup'], grace: number): Promise<void> {
  signalGroup('SIGTERM');
  for (let left = grace; left > 0 && signalGroup(0); left -= LOOK_MS) await delay(LOOK_MS);
  signalGroup('SIGKILL');
}

/** Hands on what is written, line by line, as far as it is worth keeping. */
function pass(streams: Readable[], write: Write): void {
  let lines = 0;
  const say = (line: string) => {
    lines += 1;
    if (lines === MOST_LINES + 1) write('info', 'and more, which is not logged');
    if (lines > MOST_LINES) return;
    const cut = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
    write('info', printable(cut.replace(/\r$/, '')));
  };
  for (const stream of streams) {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      const [last = '', ...whole] = (rest + text).split('\n').reverse();
      for (const line of whole.reverse()) say(line);
      rest = last.slice(0, LONGEST_LINE + 1);
    });
    stream.on('end', () => rest !== '' && say(rest));
  }
}
