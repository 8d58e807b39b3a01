/** `MIRROR_ON_CHANGE`: a command of the user's that runs after a proven walk has changed something. */

import { once } from 'node:events';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import ms from 'ms';
import { type StartedChild, startChild } from '../base/child.ts';
import type { Clock } from '../base/clock.ts';
import type { Environment } from '../base/environment.ts';
import { toError } from '../base/errors.ts';
import { printable } from '../base/printable.ts';
import type { Lock } from '../store.ts';

export type Say = (level: 'info' | 'warn', job: string, text: string) => void;
export type Write = (level: 'info' | 'warn', text: string) => void;

/** What a proven walk makes known (see `reading/changes.ts`): all of it goes to the command. */
export type Change = Readonly<Record<'job' | 'table' | 'verdict' | 'completeAsOf', string>> &
  Readonly<Record<'walkId' | 'inserted' | 'updated' | 'deleted' | 'firstSeq' | 'lastSeq', number>>;

type OnChange = {
  /** Runs the command, at once or when the one that runs for this job has ended. Never throws, never waits. */
  start(change: Change): void;
  /** Resolves when all have ended. */
  idle(): Promise<void>;
  /** Ends those that run, and starts no more. */
  close(): Promise<void>;
};

type OnChangeParts = {
  command: string;
  /** What the command is given beside the facts. */
  environment: Record<string, string | undefined>;
  /** Gets each line that the command writes, and why it failed. */
  say: Say;
  /** Keeps other processes from running the command for this job; undefined where one of them does. */
  hold(job: string): Lock | undefined;
  clock: Clock;
  timing?: Partial<Timing>;
};

/** Milliseconds. */
export type Timing = {
  /** After which a command is ended. */
  most: number;
  /** Left to a command that is to end, before it is killed. */
  grace: number;
};

const defaults: Timing = { most: 5 * 60_000, grace: 2_000 };
const HOLD_AGAIN_MS = 200;
const MAX_LINES = 100;
const LONGEST_LINE = 500;
/** What a command wrote last may arrive after its end; what it left running may hold its output open for ever. */
const LAST_OUTPUT_MS = 200;
const GROUP_POLL_MS = 20;

export function onChange({ command, environment, say, hold, clock, timing }: OnChangeParts): OnChange {
  const closing = new AbortController();
  const { signal } = closing;
  /** By job: what runs, and what has changed since. */
  const running = new Map<string, Promise<void>>();
  const waiting = new Map<string, Change>();

  async function run(change: Change): Promise<void> {
    const { job } = change;
    let lock: Lock | undefined;
    try {
      for (lock = hold(job); !lock; lock = hold(job)) await clock.sleep(HOLD_AGAIN_MS, signal);
      const variables = { ...environment, ...factsOf(change) };
      const write: Write = (level, text) => say(level, job, text);
      const failure = await runCommand(command, { env: variables, ...(timing && { timing }) }, write, signal);
      if (failure) say('warn', job, `MIRROR_ON_CHANGE ${failure}`);
    } catch (thrown) {
      if (!signal.aborted) say('warn', job, `MIRROR_ON_CHANGE: ${toError(thrown).message}`);
    } finally {
      lock?.release();
    }
  }

  function start(change: Change): void {
    const { job } = change;
    if (signal.aborted) return;
    if (running.has(job)) return void waiting.set(job, together(waiting.get(job), change));
    const ended = run(change).then(() => {
      running.delete(job);
      const next = waiting.get(job);
      waiting.delete(job);
      if (next) start(next);
    });
    running.set(job, ended);
  }

  return {
    start,
    async idle() {
      while (running.size > 0) await Promise.all(running.values());
    },
    async close() {
      closing.abort();
      await Promise.all(running.values());
    },
  };
}

/** The changes of several walks as one, for one run of the command. */
function together(before: Change | undefined, change: Change): Change {
  if (!before) return change;
  return {
    ...change,
    inserted: before.inserted + change.inserted,
    updated: before.updated + change.updated,
    deleted: before.deleted + change.deleted,
    firstSeq: before.firstSeq,
  };
}

/** Not `MIRROR_…`: a market-mirror that the command starts would take them for settings. */
function factsOf(change: Change): Record<string, string> {
  return Object.fromEntries(
    Object.entries(change).map(([name, value]) => [
      `CHANGE_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
      String(value),
    ]),
  );
}

/**
 * One run of the command: by a shell, in a process group of its own, for a bounded time.
 * @returns how it failed; undefined where it ended well, or was ended by `signal`.
 */
export async function runCommand(
  command: string,
  { timing, ...given }: { env: Environment; cwd?: string; input?: string; timing?: Partial<Timing> },
  write: Write,
  signal: AbortSignal,
): Promise<string | undefined> {
  signal.throwIfAborted();
  const { most, grace } = { ...defaults, ...timing };
  const options = { ...given, output: 'pipe' } as const;
  const { child, release, signalGroup } = startChild(['/bin/sh', '-c', command], options);
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const closed = once(child, 'close');
  closed.catch(() => undefined);
  logOutput([child.stdout, child.stderr], write);

  const over = new AbortController();
  const late = delay(most, 'late' as const, { signal: over.signal });
  const stopped = once(signal, 'abort', { signal: over.signal }).then(() => 'stopped' as const);
  for (const other of [late, stopped]) other.catch(() => undefined);
  try {
    const first = await Promise.race([ended, late, stopped]);
    if (typeof first === 'string') {
      release();
      await endGroup(signalGroup, grace);
      await ended;
    }
    await Promise.race([closed, delay(LAST_OUTPUT_MS)]);
    if (first === 'late') return `took longer than ${ms(most)} and was ended`;
    return first === 'stopped' ? undefined : failureOf(...first);
  } finally {
    over.abort();
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  }
}

/** The exit code of a shell says which signal ended what it waited for. */
function failureOf(code: number | null, by: NodeJS.Signals | null): string | undefined {
  if (code === 0) return undefined;
  const signals = Object.entries(constants.signals);
  const killer = by ?? signals.find(([, number]) => number === (code ?? 0) - 128)?.[0];
  return killer ? `was ended by ${killer}` : `failed with exit code ${code}`;
}

/** Ends the shell and what it started, which may outlive the shell; kills what does not end. */
async function endGroup(signalGroup: StartedChild['signalGroup'], grace: number): Promise<void> {
  signalGroup('SIGTERM');
  for (let left = grace; left > 0 && signalGroup(0); left -= GROUP_POLL_MS) await delay(GROUP_POLL_MS);
  signalGroup('SIGKILL');
}

/** Writes what comes from the command, line by line, as far as it is worth keeping. */
function logOutput(streams: Readable[], write: Write): void {
  let lines = 0;
  const writeLine = (line: string) => {
    lines += 1;
    if (lines === MAX_LINES + 1) write('info', 'and more, which is not logged');
    if (lines > MAX_LINES) return;
    const cut = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line;
    write('info', printable(cut.replace(/\r$/, '')));
  };
  for (const stream of streams) {
    let rest = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      const [last = '', ...whole] = (rest + text).split('\n').reverse();
      for (const line of whole.reverse()) writeLine(line);
      rest = last.slice(0, LONGEST_LINE + 1);
    });
    stream.on('end', () => rest !== '' && writeLine(rest));
  }
}
