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

type ProblemNote = {
  /** Something else has moved on: the problem is noted again as it is. */
  remains(): void;
  /** It works again. @returns whether it did not. */
  over(): boolean;
  /** @param failures in a row, with this one. @returns how many milliseconds to wait before it is tried again. */
  failed(problem: Problem, failures: number): number;
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
  let present: Trouble | null = null;
  let logged = '';
  return {
    remains: () => note(present),
    over() {
      const was = present !== null;
      [present, logged] = [null, ''];
      note(null);
      return was;
    },
    failed({ message, isHopeless }, failures) {
      const waitMs = isHopeless ? pauses.hopelessMs : backoffMs(failures, pauses, random());
      const at = clock.now();
      const nextTry = isoTime(at + waitMs);
      present = { message, since: present?.since ?? isoTime(at), nextTry };
      note(present);
      if (message !== logged) logOnChange(message, nextTry);
      logged = message;
      return waitMs;
    },
  };
}

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
