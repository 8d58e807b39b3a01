/** How many requests may be in flight at once, learnt from how many were accepted. */

import { callsAfterRefusal } from './rate.ts';

export type Concurrency = {
  /** So many in flight at once were accepted several times, with no refusal. */
  proven: number;
  /** Requests accepted in a row with more than the proven number in flight. */
  streak: number;
  /** The number in flight that was refused, where one was. */
  refused: number | null;
  /** Requests accepted with all that is allowed in flight, and how many of them warrant trying one more. */
  steadyCalls: number;
  callsBeforeTrial: number;
};

/** Three times as many as there are datasets. */
const MAX_IN_FLIGHT = 16;
/** Requests accepted in a row: a single one may have met others that were just ending; more would delay a first sync. */
const STREAK_THAT_PROVES = 6;
/** Requests before one more in flight is tried after a refusal; three times as many after each further one. */
const FIRST_CALLS_BEFORE_TRIAL = 100;

export function initialConcurrency(): Concurrency {
  return {
    proven: 1,
    streak: 0,
    refused: null,
    steadyCalls: 0,
    callsBeforeTrial: FIRST_CALLS_BEFORE_TRIAL,
  };
}

/**
 * The most requests that may be in flight at once. A 429 for the rate refuses every request in flight. So only one more
 * than is proven is tried; and where several are refused together, the rate is to blame.
 */
export function allowedInFlight({ proven, refused, steadyCalls, callsBeforeTrial }: Concurrency): number {
  if (refused === null) return Math.min(MAX_IN_FLIGHT, proven + 1);
  return steadyCalls >= callsBeforeTrial ? refused : refused - 1;
}

/** The same for prefetches, which are never worth a refusal: fewer than were ever refused. */
export function allowedPrefetchInFlight({ proven, refused }: Concurrency): number {
  return Math.min(MAX_IN_FLIGHT, proven + 1, (refused ?? MAX_IN_FLIGHT + 1) - 1);
}

/** A request was accepted that was sent with `inFlight` in flight, itself included. */
export function accepted(it: Concurrency, inFlight: number): void {
  if (it.refused !== null && inFlight >= it.refused - 1) it.steadyCalls += 1;
  if (inFlight <= it.proven) return;
  it.streak += 1;
  if (it.streak < STREAK_THAT_PROVES) return;
  it.proven += 1;
  it.streak = 0;
  it.steadyCalls = 0;
  if (it.proven === it.refused) it.refused = null;
}

/** Whether half of what proves one more was accepted. */
export function isHalfProven({ streak }: Concurrency): boolean {
  return streak >= STREAK_THAT_PROVES / 2;
}

/** A request was refused because `inFlight` were in flight: more than is proven. */
export function refusedAt(it: Concurrency, inFlight: number): void {
  if (it.refused !== null) it.callsBeforeTrial = callsAfterRefusal(it.callsBeforeTrial);
  it.refused = inFlight;
  it.streak = 0;
  it.steadyCalls = 0;
}
