/** What the governor is told, and what it answers. */

import type { WaitReason } from '../errors.ts';

export type Event =
  /**
   * A process begins. What an earlier one of the same name did not account for counts as spent. `again`: a person
   * wants a key or endpoint that was refused tried once more.
   */
  | { type: 'start'; owner: string; again: boolean }
  /** A process is known to have ended: what it did not account for counts as spent. */
  | { type: 'gone'; owner: string }
  /** A job asks for permits for up to `want` calls. `underWay`: calls of this process, once the first of them is sent. */
  | ({ type: 'ask'; owner: string; job: string; want: number; underWay: number } & Asking)
  /**
   * An answer came. `inflight`: calls of this process under way when it was sent, itself included. `others`: as many as other
   * processes might have had under way by then, and `answersBefore`: what was known by then, both as it was decided.
   */
  | ({
      type: 'answer';
      status: number;
      inflight: number;
      others: number;
      answersBefore: number;
      key: KeyMark | null;
    } & Ended &
      Report)
  /** No answer came, or we stopped before one could. */
  | ({ type: 'lost'; stopped?: boolean } & Ended)
  /**
   * So many permits a process holds, for calls that are under way or not made yet. It knows best, and says so before it asks: the
   * state may have been lost, and begun again from an older one.
   */
  | { type: 'holds'; owner: string; calls: number; parallel: number; underWay: number }
  /** Permits for `unused` calls are given back, and stakes that stand on no call. */
  | { type: 'release'; owner: string; unused: number; stakes?: number }
  /** The clock was set, or time passed unnoticed: what was reckoned across that moment is worth nothing. */
  | { type: 'clock' }
  /** The key changed. */
  | { type: 'key' };

/** How a call is asked for; for calls ahead of their turn see `ahead.ts`. */
export type Asking = {
  /** So many calls of the job will follow this one; 0 where nobody knows. */
  foreseen?: number;
  /** Whether this call itself is asked ahead of its turn. */
  isAhead?: boolean;
  /** Stakes of this process on calls that have not proven right yet. */
  staked?: number;
};

export type EventOf<Type extends Event['type']> = Extract<Event, { type: Type }>;

/** Tells a key from another one, and nothing more of it: a few digits of its digest with `salt`. */
export type KeyMark = { salt: string; digest: string };

/** A call that is no longer under way, with a random number in [0, 1). */
type Ended = { owner: string; job: string; roll: number };

/** What an answer says of the limits, and how long it took. */
export type Report = {
  limit: number | null;
  remaining: number | null;
  retryAfterMs: number | null;
  latencyMs: number;
};

export type Decision =
  /**
   * Permits for `go` calls, of which `parallel` may be under way at once beside `others` of other processes, and `stakes` for
   * calls that are asked ahead, of which none goes where `parallelAhead` are under way. They go stale after `PERMIT_TTL_MS`.
   * The quota was known by `answersBefore` answers: a call that others overtake may tell of it as it was before them.
   */
  | {
      go: number;
      parallel: number;
      others: number;
      stakes: number;
      parallelAhead: number;
      answersBefore: number;
    }
  | { wait: { until: number; reason: WaitReason } }
  | { refused: 'key_refused' | 'forbidden'; until: number }
  /** The event asked for nothing. */
  | { noted: true };

/** Permits older than this are given back unused: what was true when they were given may be so no longer. */
export const PERMIT_TTL_MS = 1_000;
