/** The governor's data: its state (plain JSON, one row that all processes share), its events and its decisions. */

import type { WaitReason } from '../base/errors.ts';
import type { AccountLimits } from '../config/values.ts';
import { initialLedger, type Ledger } from './ledger.ts';
import type { CallGroup } from './window.ts';

/** Times in epoch milliseconds end in `At` or `Until`. */
export type State = {
  version: 7;
  /** Of the latest event. */
  seenAt: number;
  /** As the process that asked last has them set. */
  set: AccountLimits;
  inFlight: RequestInFlight[];
  nextId: number;
  /** Requests with smaller ids were sent before the latest pause: their responses teach nothing. */
  firstIdSincePause: number;
  /** For limits that are set: calls that were answered within their windows. */
  spent: { quota: CallGroup[]; rate: CallGroup[] };
  /** What is learnt of the quota, by pool: '' is the account's. */
  pools: Record<string, Ledger>;
  /** Of endpoints that report a quota, its pool. */
  poolOf: Record<string, string>;
  /** Calls of the others since the account's pool was reported; and how often in a row they did not lower it. */
  silentCalls: Record<string, number>;
  apart: Record<string, number>;
  rate: Rate;
  concurrency: Concurrency;
  pause: Pause | null;
  /** Endpoints that failed. */
  outages: Record<string, Outage>;
  /** The key (''), or its scope for an endpoint, was refused so often in a row; one request tries again at `retryAt`. */
  refused: Record<string, { times: number; retryAt: number; sinceId: number }>;
  /** Which key that was. */
  refusedKey: KeyMark | null;
  /** What contradicts the settings, and was said once: other limits in the header; when a call was refused in spite of all. */
  said: { limits: number[]; refusedAt: number | null };
};

export type RequestInFlight = {
  id: number;
  owner: string;
  job: string;
  sentAt: number;
  /** How many were in flight when it was sent, itself included; and at most since then. */
  sent: number;
  peak: number;
  /** Whether it went as soon as the rate allowed. */
  isPressed: boolean;
};

/** The learnt rate. */
export type Rate = {
  perSecond: number;
  /** When the next request may go. */
  nextAt: number;
  /** Accepted since then. */
  sinceAt: number;
  accepted: number;
  /** The rate that lasted, while a faster one is tried; null while nothing was refused for it. */
  base: number | null;
  /** Calls as fast as allowed without a refusal, and how many of them warrant trying a faster rate. */
  calm: number;
  patience: number;
};

/** The learnt number in flight. `refused`: so many once were; `streak`: accepted in a row with all that is allowed. */
export type Concurrency = { allowed: number; streak: number; refused: number | null; patience: number };

/** Since a 429 nothing goes before `until`; then one request alone, the probe. */
export type Pause = {
  sinceAt: number;
  refusedAt: number;
  until: number;
  /** What the API said in Retry-After; 0 where it said nothing. */
  retryAfterMs: number;
  refusals: number;
  /** In flight at the refusal; 1 where several were refused together, since their number is not the cause then. */
  inFlight: number;
  probeId: number | null;
  cause: 'quota' | 'rate' | 'concurrency';
};

/** `isBlocked`: by what lies between us and the API. Not before `retryAfterUntil`, whoever asks: the end of a Retry-After. */
export type Outage = { failures: number; until: number; retryAfterUntil: number; isBlocked: boolean };

/** Distinguishes a key from another one by a few digits of its digest with `salt`. */
export type KeyMark = { salt: string; digest: string };

/** How a request ended. `status` is null where no response came, 429 for any limit. */
export type RequestOutcome = {
  status: number | null;
  limit: number | null;
  remaining: number | null;
  retryAfterMs: number | null;
  /** We did not wait for the response. */
  stopped?: boolean;
  /** Not the API gave it, but something between us and the API. */
  isBlocked?: boolean;
};

export type Event =
  /** May a request go? `gone`: owners that are known to have ended. */
  | { type: 'ask'; owner: string; job: string; set: AccountLimits; gone: readonly string[] }
  /** A request ended. `roll`: a random number in [0, 1). */
  | ({ type: 'response'; id: number; roll: number; key: KeyMark | null } & RequestOutcome)
  /** Another key is used from now on. */
  | { type: 'key' }
  /** A person asks: what was refused or failed is tried once more. */
  | { type: 'again' };

export type Decision =
  /** The request may go. */
  | { id: number }
  | { until: number; reason: WaitReason }
  | { refused: 'key' | 'scope'; until: number }
  /** Of all other events; `say` is for the log. */
  | { say: string | null };

export function initialState(now = 0): State {
  return {
    version: 7,
    seenAt: now,
    set: { quota: null, rate: null, concurrency: null },
    inFlight: [],
    nextId: 1,
    firstIdSincePause: 0,
    spent: { quota: [], rate: [] },
    pools: { '': initialLedger(now) },
    poolOf: {},
    silentCalls: {},
    apart: {},
    rate: { perSecond: 10, nextAt: now, sinceAt: now, accepted: 0, base: null, calm: 0, patience: 400 },
    concurrency: { allowed: 2, streak: 0, refused: null, patience: 100 },
    pause: null,
    outages: {},
    refused: {},
    refusedKey: null,
    said: { limits: [], refusedAt: null },
  };
}

/** The kept state; a new one where there is none, or one of another version. */
export function readState(kept: unknown, now: number): State {
  return (kept as State | null | undefined)?.version === 7 ? (kept as State) : initialState(now);
}

/** A smaller step back is NTP's. */
const CLOCK_STEP_MS = 10_000;

/** A deep copy to change. Where the clock went back, moments ahead of it become now; what is spent stays spent. */
export function draftOf(before: State, now: number): State {
  const state = copyOf(before);
  if (now < state.seenAt - CLOCK_STEP_MS) capTimes(state, now);
  state.seenAt = now;
  return state;
}

function copyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  const copy = { ...value } as Record<string, unknown>;
  for (const name in copy) if (typeof copy[name] === 'object') copy[name] = copyOf(copy[name]);
  return copy as T;
}

function capTimes(value: object, now: number): void {
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner === 'object' && inner !== null) capTimes(inner, now);
    else if (typeof inner === 'number' && /(?:At|Until|^until)$/.test(name))
      (value as Record<string, unknown>)[name] = Math.min(inner, now);
  }
}
