/** Loads a sink on a thread of its own: each dataset after its walks and glances, and again until it succeeds. */

import type { Clock, Random } from '../base/clock.ts';
import { asFailure } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Thread } from '../base/worker.ts';
import type { SinkNote } from '../reading/status.ts';
import type { Arrival, FollowRequest, FollowResponse } from '../sinks.ts';
import { keepTrying, noteProblems, type Pauses, type Problem, usualPauses } from './keep-trying.ts';

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
  const { signal } = ending;
  const due = new Set(jobs);
  /** How often in a row the sink refused a job. */
  const refused = new Map<string, number>();
  /** Jobs that wait: refused ones for the next try, loaded ones for `everyMs`. All others are loaded meanwhile. */
  const resting = new Set<string>();
  /** What the last load of a job left out. */
  const lacking = new Map<string, readonly string[]>();
  const seqs: Record<string, number> = {};
  const problems = noteProblems({
    ...{ clock, random, pauses: { ...usualPauses, ...parts.pauses } },
    note: (trouble) => parts.note({ seqs, trouble, ...(everyMs > 0 && { everySeconds: everyMs / 1_000 }) }),
    logOnChange: (message, nextTry) => log.warn({ nextTry }, `${words.fails}: ${message}; mirroring goes on`),
  });
  let wake = () => {};

  const sleep = (ms: number) => clock.sleep(ms, signal).catch(() => undefined);
  const readyJobs = () => [...due].filter((job) => !resting.has(job));

  /** Waits for jobs, then loads them. @returns why none could be loaded. */
  async function load(): Promise<Problem | undefined> {
    while (readyJobs().length === 0 && !signal.aborted)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    if (signal.aborted) return undefined;
    const only = readyJobs();
    for (const job of only) due.delete(job);
    let arrivals: readonly Arrival[];
    try {
      ({ arrivals } = await thread.call({ only, now: clock.now() }));
    } catch (thrown) {
      for (const job of only) due.add(job);
      return problemOf(asFailure(thrown));
    }
    arrivals.forEach(noteArrival);
    const loaded = arrivals.flatMap(({ job, failure }) => (failure ? [] : [job]));
    // Until the first proof nobody waits: that is loaded at once.
    if (everyMs > 0 && loaded.length > 0 && Object.keys(seqs).length > 0) rest(loaded, everyMs);
    if (problems.over()) log.info({}, words.goesOn);
    return undefined;
  }

  function noteArrival({ job, to, problems: lacks, failure }: Arrival): void {
    if (failure) {
      due.add(job);
      const failures = (refused.get(job) ?? 0) + 1;
      refused.set(job, failures);
      rest([job], problems.failed(problemOf(failure), failures, job));
      return;
    }
    if (to !== null) seqs[job] = to;
    const known = lacking.get(job) ?? [];
    for (const lack of lacks) if (!known.includes(lack)) log.warn({ job }, `${words.lacks}: ${lack}`);
    lacking.set(job, lacks);
    problems.solved(job);
    refused.delete(job);
  }

  function rest(names: readonly string[], ms: number): void {
    for (const job of names) resting.add(job);
    void sleep(ms).then(() => {
      for (const job of names) resting.delete(job);
      wake();
    });
  }

  // A long attempt is no sign of health: it may only have waited for jobs.
  const attempts = keepTrying(load, problems, { clock, signal, steadyMs: Number.POSITIVE_INFINITY });
  return {
    due(job) {
      due.add(job);
      wake();
    },
    async end() {
      ending.abort();
      wake();
      await thread.close();
      await attempts;
    },
  };
}

function problemOf({ message, kind }: NonNullable<Arrival['failure']>): Problem {
  return { message: message.slice(0, LONGEST_MESSAGE), isHopeless: kind === 'config' };
}
