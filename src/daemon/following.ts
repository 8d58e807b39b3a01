/** Loads a sink on a thread of its own: each dataset after its walks and glances, and again until it succeeds. */

import type { Clock, Random } from '../base/clock.ts';
import { asFailure } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Thread } from '../base/worker.ts';
import type { SinkNote } from '../reading/status.ts';
import type { Arrival, FollowRequest, FollowResponse } from '../sinks.ts';
import { keepTrying, type Outcome, type Pauses, type Problem, usualPauses } from './keep-trying.ts';

export type Following = {
  /** Has the job loaded: it may have changed. */
  due(job: string): void;
  /** Ends it at once; the next start goes on. */
  end(): Promise<void>;
};

export type FollowingParts = {
  thread: Thread<FollowRequest, FollowResponse>;
  /** Messages of the log. `goesOn`: loading works again. `fails`: a load failed. `lacks`: a load left something out. */
  words: { goesOn: string; fails: string; lacks: string };
  /** How long a dataset waits after a load until the next one; 0 unless given. */
  everyMs?: number;
  /** Every job there is. The start loads all of them. */
  jobs: readonly string[];
  clock: Clock;
  random: Random;
  log: Pick<Log, 'info' | 'warn'>;
  /** Gets what has arrived, and why the rest has not. */
  note: (note: SinkNote) => void;
  pauses?: Partial<Pauses>;
};

/** The note beside the lock has little room. */
const LONGEST_MESSAGE = 300;

export function keepFollowing(parts: FollowingParts): Following {
  const { thread, words, everyMs = 0, jobs, clock, random, log } = parts;
  const ending = new AbortController();
  const seqs: Record<string, number> = {};
  /** What the last load of a job left out. */
  const lacking = new Map<string, readonly string[]>();

  async function load(only: readonly string[]): Promise<readonly Outcome[]> {
    const { arrivals } = await thread.call({ only, now: clock.now() }).catch((thrown: unknown) => {
      const failure = asFailure(thrown);
      return { arrivals: only.map((job): Arrival => ({ job, to: null, problems: [], failure })) };
    });
    for (const arrival of arrivals) if (!arrival.failure) hasArrived(arrival);
    // Until the first proof nobody waits: that is loaded at once.
    const restMs = Object.keys(seqs).length > 0 ? everyMs : 0;
    return arrivals.map(({ job, failure }) => ({ of: job, problem: failure && problemOf(failure), restMs }));
  }

  function hasArrived({ job, to, problems: lacks }: Arrival): void {
    if (to !== null) seqs[job] = to;
    const known = lacking.get(job) ?? [];
    for (const lack of lacks) if (!known.includes(lack)) log.warn({ job }, `${words.lacks}: ${lack}`);
    lacking.set(job, lacks);
  }

  const { due, ended } = keepTrying({
    ...{ all: jobs, attempt: load, clock, random, signal: ending.signal },
    pauses: { ...usualPauses, ...parts.pauses },
    note: (trouble) => parts.note({ seqs, trouble, ...(everyMs > 0 && { everySeconds: everyMs / 1_000 }) }),
    fails: (message, nextTry) => log.warn({ nextTry }, `${words.fails}: ${message}; mirroring goes on`),
    goesOn: () => log.info({}, words.goesOn),
  });
  return {
    due,
    async end() {
      ending.abort();
      await thread.close();
      await ended;
    },
  };
}

function problemOf({ message, kind }: NonNullable<Arrival['failure']>): Problem {
  return { message: message.slice(0, LONGEST_MESSAGE), isHopeless: kind === 'config' };
}
