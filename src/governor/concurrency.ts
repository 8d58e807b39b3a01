/** How many calls may be under way at once, learnt from how many were. */

export type Concurrency = {
  /** Calls under way at once that the API is known to accept. */
  proven: number;
  /** The least number under way that was refused, where one was. */
  refused: number | null;
  /** Calls accepted at the most allowed since the last refusal, and how many of them allow another try. */
  calm: number;
  patience: number;
  asOfAt: number;
};

const MOST = 16;
const FIRST_PATIENCE = 100;

export function initialConcurrency(): Concurrency {
  return { proven: 1, refused: null, calm: 0, patience: FIRST_PATIENCE, asOfAt: 0 };
}

/** The most calls that may be under way at once: one more than is proven, until that was refused. */
export function allowedInFlight({ proven, refused, calm, patience }: Concurrency): number {
  if (refused === null || calm >= patience) return Math.min(MOST, proven + 1);
  return Math.max(1, Math.min(proven, refused - 1));
}

/** A call sent as the `inflight`th under way was accepted. */
export function accepted(it: Concurrency, inflight: number, now: number): Concurrency {
  if (inflight > it.proven) {
    const refused = it.refused !== null && inflight >= it.refused ? null : it.refused;
    return { ...it, proven: inflight, refused, calm: 0, asOfAt: now };
  }
  return inflight >= allowedInFlight(it) ? { ...it, calm: it.calm + 1 } : it;
}

/** A call sent as the `inflight`th under way was refused for their number. */
export function refusedAt(it: Concurrency, inflight: number, now: number): Concurrency {
  return {
    proven: Math.max(1, Math.min(it.proven, inflight - 1)),
    refused: inflight,
    calm: 0,
    patience: it.refused === null ? it.patience : it.patience * 2,
    asOfAt: now,
  };
}
