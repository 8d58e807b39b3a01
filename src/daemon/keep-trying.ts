/** The loop that keeps service and sinks running: it attempts what is due, and again after growing pauses what failed. */

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

/** What became of one that was attempted. */
export type Outcome = {
  of: string;
  problem: Problem | null;
  /** How long it rests after a success. */
  restMs?: number;
  /** It had worked for so long that this failure counts as the first. */
  wasSteady?: boolean;
};

export type Kept = {
  /** Has it attempted, as soon as it does not rest. */
  due(of: string): void;
  /** It works, though its attempt is not over. */
  works(of: string): void;
  /** Resolves after the abort, once no attempt is under way. */
  ended: Promise<void>;
};

/** There may be several problems at once, each of something else: the latest is noted, and the same message is logged once. */
export function keepTrying(parts: {
  /** All there are; they are due at once. */
  all: readonly string[];
  /** Never rejects. */
  attempt(due: readonly string[]): Promise<readonly Outcome[]>;
  clock: Clock;
  random: Random;
  pauses: Pauses;
  signal: AbortSignal;
  /** Gets the latest problem, null where all is well. */
  note(problem: Trouble | null): void;
  /** Log a new problem, and that all is well again. */
  fails(message: string, nextTry: string): void;
  goesOn(): void;
}): Kept {
  const { attempt, clock, random, pauses, signal, note, fails, goesOn } = parts;
  const due = new Set(parts.all);
  const resting = new Set<string>();
  /** How often in a row each failed. */
  const failures = new Map<string, number>();
  const problems = new Map<string, Trouble>();
  let noted: Trouble | null = null;
  let wake = () => {};
  signal.addEventListener('abort', () => wake(), { once: true });

  async function goOn(): Promise<void> {
    while (!signal.aborted) {
      const ready = [...due].filter((of) => !resting.has(of));
      if (ready.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      for (const of of ready) due.delete(of);
      const outcomes = await attempt(ready);
      if (signal.aborted) return;
      settle(outcomes);
      show();
    }
  }

  /** What failed of the same comes back together: all of it may succeed then. */
  function settle(outcomes: readonly Outcome[]): void {
    const roll = random();
    const rests = new Map<string, { ms: number; names: string[] }>();
    for (const outcome of outcomes) {
      const { of, problem } = outcome;
      const ms = problem ? failed(outcome, problem, roll) : succeeded(outcome);
      if (ms === 0) continue;
      const together = `${ms} ${problem?.message}`;
      const { names } = rests.get(together) ?? { names: [] };
      rests.set(together, { ms, names: [...names, of] });
    }
    for (const { ms, names } of rests.values()) rest(names, ms);
  }

  function succeeded({ of, restMs = 0 }: Outcome): number {
    failures.delete(of);
    problems.delete(of);
    return restMs;
  }

  function failed({ of, wasSteady }: Outcome, { message, isHopeless }: Problem, roll: number): number {
    const times = wasSteady ? 1 : (failures.get(of) ?? 0) + 1;
    failures.set(of, times);
    due.add(of);
    const ms = isHopeless ? pauses.hopelessMs : backoffMs(times, pauses, roll);
    const at = clock.now();
    const nextTry = isoTime(at + ms);
    const isKnown = [...problems.values()].some((problem) => problem.message === message);
    const since = problems.get(of)?.since ?? isoTime(at);
    problems.delete(of);
    problems.set(of, { message, since, nextTry });
    if (!isKnown) fails(message, nextTry);
    return ms;
  }

  function rest(names: readonly string[], ms: number): void {
    for (const of of names) resting.add(of);
    void clock
      .sleep(ms, signal)
      .catch(() => undefined)
      .then(() => {
        for (const of of names) resting.delete(of);
        wake();
      });
  }

  function show(): void {
    const wasWell = noted === null;
    noted = [...problems.values()].at(-1) ?? null;
    note(noted);
    if (!wasWell && noted === null) goesOn();
  }

  return {
    due(of) {
      due.add(of);
      wake();
    },
    works(of) {
      problems.delete(of);
      show();
    },
    ended: goOn(),
  };
}
