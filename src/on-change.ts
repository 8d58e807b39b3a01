/** `MIRROR_ON_CHANGE`: a command of the user's that runs after a proven walk has changed something. */

import type { Clock } from './clock.ts';
import { toError } from './errors.ts';
import { type Facts, runCommand, type Say } from './on-change/command.ts';
import type { Change, Lock } from './store.ts';

export type { Say } from './on-change/command.ts';

export type OnChange = {
  /** Runs the command, at once or when the one under way for this job has ended. Never throws, never waits. */
  tell(change: Change): void;
  /** Resolves when all have ended. */
  idle(): Promise<void>;
  /** Ends those that are under way, and starts no more. */
  close(): Promise<void>;
};

export type OnChangeParts = {
  command: string;
  /** What the command is given beside the facts. */
  environment: Record<string, string | undefined>;
  /** Told of every line that the command writes, and why it failed. */
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
const LOOK_AGAIN_MS = 200;

export function onChange({ command, environment, say, hold, clock, timing }: OnChangeParts): OnChange {
  const closing = new AbortController();
  /** By job: what runs, and what has changed since. */
  const running = new Map<string, Promise<void>>();
  const waiting = new Map<string, Change>();

  async function run(change: Change): Promise<void> {
    const { job } = change;
    let lock: Lock | undefined;
    try {
      for (lock = hold(job); !lock; lock = hold(job)) await clock.sleep(LOOK_AGAIN_MS, closing.signal);
      const failed = await runCommand(
        command,
        { ...environment, ...factsOf(change) },
        { ...defaults, ...timing },
        (level, text) => say(level, job, text),
        closing.signal,
      );
      if (failed) say('warn', job, `MIRROR_ON_CHANGE ${failed}`);
    } catch (thrown) {
      if (!closing.signal.aborted) say('warn', job, `MIRROR_ON_CHANGE: ${toError(thrown).message}`);
    } finally {
      lock?.release();
    }
  }

  function start(change: Change): void {
    const { job } = change;
    const ended = run(change).then(() => {
      running.delete(job);
      const next = waiting.get(job);
      waiting.delete(job);
      if (next && !closing.signal.aborted) start(next);
    });
    running.set(job, ended);
  }

  return {
    tell(change) {
      if (closing.signal.aborted) return;
      const { job } = change;
      if (running.has(job)) waiting.set(job, together(waiting.get(job), change));
      else start(change);
    },
    async idle() {
      while (running.size > 0) await Promise.all(running.values());
    },
    async close() {
      closing.abort();
      await Promise.all(running.values());
    },
  };
}

/** Changes that one run of the command answers for. */
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
function factsOf(change: Change): Facts {
  return Object.fromEntries(
    Object.entries(change).map(([name, value]) => [
      `CHANGE_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
      String(value),
    ]),
  );
}
