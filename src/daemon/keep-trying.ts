/** Keeps a part of the daemon at work: a problem is noted, logged once, and the attempt repeated after growing pauses. */

import { type Pauses as Backoff, backoffMs } from '../backoff.ts';
import { type Clock, isoTime, type Random } from '../clock.ts';
import type { Trouble } from '../reading/status.ts';

export type Pauses = Backoff & {
  /** After a wrong setting or command line: somebody has to mend that first. */
  hopelessMs: number;
};

export const usualPauses: Pauses = { firstMs: 1_000, longestMs: 60_000, hopelessMs: 600_000 };

/** Why an attempt failed, in words, and whether trying again soon can help. */
export type Problem = { message: string; isHopeless: boolean };

/** A part may have several problems at once, each `of` something else; the latest is shown. */
type ProblemNote = {
  /** One of several is solved, which the next `over` shows. */
  solved(of: string): void;
  /** What is of nothing in particular is solved. @returns whether all is well again. */
  over(): boolean;
  /** @param failures in a row, with this one. @returns how many milliseconds to wait before it is tried again. */
  failed(problem: Problem, failures: number, of?: string): number;
};

export function noteProblems(parts: {
  clock: Clock;
  random: Random;
  pauses: Pauses;
  /** Gets what is wrong, and null once it is over. */
  note: (problem: Trouble | null) => void;
  /** Called for what is wrong now and was not before. */
  logOnChange: (message: string, nextTry: string) => void;
}): ProblemNote {
  const { clock, random, pauses, note, logOnChange } = parts;
  const present = new Map<string, Trouble>();
  let shown: Trouble | null = null;
  const show = () => {
    shown = [...present.values()].at(-1) ?? null;
    note(shown);
  };
  return {
    solved: (of) => void present.delete(of),
    over() {
      const wasWell = shown === null;
      present.delete(EVERYTHING);
      show();
      return !wasWell && shown === null;
    },
    failed({ message, isHopeless }, failures, of = EVERYTHING) {
      const waitMs = isHopeless ? pauses.hopelessMs : backoffMs(failures, pauses, random());
      const at = clock.now();
      const nextTry = isoTime(at + waitMs);
      const isKnown = [...present.values()].some((trouble) => trouble.message === message);
      const since = present.get(of)?.since ?? isoTime(at);
      present.delete(of);
      present.set(of, { message, since, nextTry });
      show();
      if (!isKnown) logOnChange(message, nextTry);
      return waitMs;
    },
  };
}

/** What a problem is of that keeps the whole part from its work. */
const EVERYTHING = '';

/**
 * Attempts it until `signal` is aborted, at once after one that went well and after a pause where it failed.
 * @param steadyMs an attempt that went well for so long before it failed is the first failure again
 */
export async function keepTrying(
  attempt: () => Promise<Problem | undefined>,
  problems: ProblemNote,
  { clock, signal, steadyMs }: { clock: Clock; signal: AbortSignal; steadyMs: number },
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    const began = clock.monotonic();
    const problem = await attempt();
    if (signal.aborted) return;
    const wasSteady = clock.monotonic() - began >= steadyMs;
    failures = !problem ? 0 : wasSteady ? 1 : failures + 1;
    if (problem) await clock.sleep(problems.failed(problem, failures), signal).catch(() => undefined);
  }
}
