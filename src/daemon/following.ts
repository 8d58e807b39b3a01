/** Loads a sink after every walk and glance, on a thread of its own, until it succeeds. */

import type { Clock, Random } from '../clock.ts';
import { asFailure } from '../errors.ts';
import type { Log } from '../log.ts';
import type { SinkNote } from '../reading/status.ts';
import type { Arrival, FollowRequest, FollowResponse } from '../sinks.ts';
import type { Thread } from '../worker.ts';
import { keepTrying, noteProblems, type Pauses, type Problem, usualPauses } from './keep-trying.ts';

export type Following = {
  /** Something of the job may be new. */
  due(job: string): void;
  /** Ends it at once; the next start goes on. */
  end(): Promise<void>;
};

export type FollowingParts = {
  thread: Thread<FollowRequest, FollowResponse>;
  /** The log's words for: it works again, nothing arrives, not all arrives. */
  words: { goesOn: string; fails: string; lacks: string };
  /** How long it rests once something has arrived; not at all unless given. */
  everyMs?: number;
  /** All of them are loaded at the start. */
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
  /** Refused jobs that wait for the next try; all others are loaded meanwhile. */
  const resting = new Set<string>();
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
    try {
      const { arrivals } = await thread.call({ only, now: clock.now() });
      arrivals.forEach(noteArrival);
    } catch (thrown) {
      for (const job of only) due.add(job);
      return problemOf(asFailure(thrown));
    }
    if (problems.over()) log.info({}, words.goesOn);
    if (everyMs > 0 && Object.keys(seqs).length > 0) await sleep(everyMs);
    return undefined;
  }

  function noteArrival({ job, to, problems: lacks, failure }: Arrival): void {
    if (to !== null) seqs[job] = to;
    for (const lack of lacks) log.warn({ job }, `${words.lacks}: ${lack}`);
    if (!failure) {
      problems.solved(job);
      return void refused.delete(job);
    }
    due.add(job);
    resting.add(job);
    const failures = (refused.get(job) ?? 0) + 1;
    refused.set(job, failures);
    void sleep(problems.failed(problemOf(failure), failures, job)).then(() => {
      resting.delete(job);
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
