/** How many calls may be under way at once, learnt from how many were. */

import { afterRefusal } from './pace.ts';

export type Concurrency = {
  /** So many under way at once were accepted several times, with no refusal. */
  proven: number;
  /** Calls accepted in a row with more than the proven number under way. */
  streak: number;
  /** The number under way that was refused, where one was. */
  refused: number | null;
  /** Calls accepted with all that is allowed under way, and how many of them warrant trying one more. */
  calm: number;
  patience: number;
};

/** Calls under way at once: three times as many as there are datasets. */
const MOST = 16;
/** Calls accepted in a row: one alone may have met others that were just ending. More would keep a first sync waiting. */
const PROOF = 6;
/** Calls before one more is tried after a first refusal: one refusal in a hundred, and a third of that after each. */
const FIRST_PATIENCE = 100;

export function initialConcurrency(): Concurrency {
  return { proven: 1, streak: 0, refused: null, calm: 0, patience: FIRST_PATIENCE };
}

/**
 * The most calls that may be under way at once: one more than is proven, until that is refused. When a pace is refused,
 * all that are under way are: so few cost little, and several that are refused together were not too many at once.
 */
export function allowedInFlight({ proven, refused, calm, patience }: Concurrency): number {
  if (refused === null) return Math.min(MOST, proven + 1);
  return calm >= patience ? refused : refused - 1;
}

/** The same for calls of one walk, which could do without: never as many as were refused. */
export function mostOfOne({ proven, refused }: Concurrency): number {
  return Math.min(MOST, proven + 1, (refused ?? MOST + 1) - 1);
}

/** A call sent as the `inflight`th under way was accepted. */
export function accepted(it: Concurrency, inflight: number): void {
  if (it.refused !== null && inflight >= it.refused - 1) it.calm += 1;
  if (inflight <= it.proven) return;
  it.streak += 1;
  if (it.streak < PROOF) return;
  it.proven += 1;
  it.streak = 0;
  it.calm = 0;
  if (it.refused !== null && it.proven >= it.refused) it.refused = null;
}

/** A call sent as the `inflight`th under way was refused for their number. */
export function refusedAt(it: Concurrency, inflight: number): void {
  if (it.refused !== null) it.patience = afterRefusal(it.patience);
  it.refused = Math.max(2, inflight);
  it.proven = Math.min(it.proven, it.refused - 1);
  it.streak = 0;
  it.calm = 0;
}
