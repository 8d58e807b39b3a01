/** Repeats an attempt after growing pauses, notes its problem and logs it once. */

import { type Pauses as Backoff, backoffMs } from '../base/backoff.ts';
import { type Clock, isoTime, type Random } from '../base/clock.ts';
import type { Trouble } from '../reading/status.ts';

export type Pauses = Backoff & {
  /** After an error of the settings or the command line, which a person has to mend. */
  hopelessMs: number;
};

export const usualPauses: Pauses = { firstMs: 1_000, longestMs: 60_000, hopelessMs: 600_000 };

/** Why an attempt failed. `isHopeless`: trying again soon does not help. */
export type Problem = { message: string; isHopeless: boolean };

/** There may be several problems at once, each `of` something else; the latest is shown. */
type ProblemNote = {
  /** The problem of this is solved; the next `over` shows it. */
  solved(of: string): void;
  /** The problem of the whole is solved. @returns whether all is well again. */
  over(): boolean;
  /** @param failures in a row, with this one. @returns how many milliseconds to wait before the next try. */
  failed(problem: Problem, failures: number, of?: string): number;
};

export function noteProblems(parts: {
  clock: Clock;
  random: Random;
  pauses: Pauses;
  /** Gets the latest problem, and null once all is well. */
  note: (problem: Trouble | null) => void;
  /** Called for a new problem. */
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

/** What a problem of the whole is of. */
const EVERYTHING = '';

/**
 * Attempts it until `signal` is aborted: again at once after a success, and after a pause where it failed.
 * @param steadyMs a failure after so long counts as the first.
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
