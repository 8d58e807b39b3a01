/** What the daemon asks of a target, which follows the mirror, and what it is told: Postgres, say. Types alone. */

import type { FailureKind } from './errors.ts';

/** Sent to the thread that brings changes to the target. */
export type AskedOfTarget = {
  /** Jobs of which something may be new. */
  only: readonly string[];
  /** Epoch milliseconds. */
  now: number;
};

/** What became of one job. */
export type Arrival = {
  job: string;
  /** The latest change that has arrived; null where none has by this. */
  to: number | null;
  /** What could not be brought there, in a line each. */
  problems: readonly string[];
  failure: { kind: FailureKind; message: string } | null;
};

export type SaidByTarget = { arrivals: readonly Arrival[] };
