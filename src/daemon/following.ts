/** Bringing changes to a target beside the daemon: after every walk and glance, on a thread of its own, until it succeeds. */

import type { Clock, Random } from '../clock.ts';
import { asFailure } from '../errors.ts';
import type { Log } from '../log.ts';
import type { TargetNote } from '../reading/status.ts';
import type { Arrival, AskedOfTarget, SaidByTarget } from '../targets.ts';
import type { Thread } from '../thread.ts';
import { type Pauses, troubled, usualPauses } from './trouble.ts';

export type Following = {
  /** Something of the job may be new. */
  due(job: string): void;
  /** Ends it where it is: what is not finished there comes next time. */
  end(): Promise<void>;
};

export type FollowingParts = {
  thread: Thread<AskedOfTarget, SaidByTarget>;
  /** How the log says that it goes on, that nothing arrives, and that not all does. */
  words: { goesOn: string; fails: string; lacks: string };
  /** So long it rests once something has arrived; not at all unless given. */
  everyMs?: number;
  /** What is there already is brought to it at the start. */
  jobs: readonly string[];
  clock: Clock;
  random: Random;
  log: Pick<Log, 'info' | 'warn'>;
  /** Told what has arrived, and what keeps it from going on. */
  note: (note: TargetNote) => void;
  pauses?: Partial<Pauses>;
};

/** The note beside the lock has little room. */
const LONGEST_MESSAGE = 300;

export function keepFollowing(parts: FollowingParts): Following {
  const { thread, words, everyMs = 0, jobs, clock, random, log } = parts;
  const ending = new AbortController();
  const { signal } = ending;
  const due = new Set(jobs);
  const seqs: Record<string, number> = {};
  const trouble = troubled({
    ...{ clock, random, pauses: { ...usualPauses, ...parts.pauses } },
    note: (trouble) => parts.note({ seqs, trouble, ...(everyMs > 0 && { everySeconds: everyMs / 1_000 }) }),
    say: (message, nextTry) => log.warn({ nextTry }, `${words.fails}: ${message}; mirroring goes on`),
  });
  let wake = () => {};

  /** Brings what is due. @returns what kept some of it here. */
  async function bringDue(): Promise<NonNullable<Arrival['failure']> | undefined> {
    const only = [...due];
    due.clear();
    const keepDue = (job: string) => due.add(job);
    try {
      const { arrivals } = await thread.ask({ only, now: clock.now() });
      for (const { job, to, problems, failure } of arrivals) {
        if (failure) keepDue(job);
        if (to !== null) seqs[job] = to;
        for (const problem of problems) log.warn({ job }, `${words.lacks}: ${problem}`);
      }
      return arrivals.find(({ failure }) => failure)?.failure ?? undefined;
    } catch (thrown) {
      only.forEach(keepDue);
      return asFailure(thrown);
    }
  }

  async function keep(): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      if (due.size === 0)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (signal.aborted) return;
      const failure = await bringDue();
      if (signal.aborted) return;
      failures = failure ? failures + 1 : 0;
      if (failure) {
        const message = failure.message.slice(0, LONGEST_MESSAGE);
        const waitMs = trouble.failed({ message, isHopeless: failure.kind === 'config' }, failures);
        await clock.sleep(waitMs, signal).catch(() => undefined);
      } else {
        if (trouble.over()) log.info({}, words.goesOn);
        if (everyMs > 0 && Object.keys(seqs).length > 0)
          await clock.sleep(everyMs, signal).catch(() => undefined);
      }
    }
  }

  const kept = keep();
  return {
    due(job) {
      due.add(job);
      wake();
    },
    async end() {
      ending.abort();
      wake();
      await thread.close();
      await kept;
    },
  };
}
