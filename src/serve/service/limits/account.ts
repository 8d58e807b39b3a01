/** What is counted of an account, and whether it gets one more call: a pure state machine over all three limits. */

import type { Limits, Quota, Rate } from '../limits.ts';
import {
  type Counter,
  type FixedState,
  fixedWindow,
  type RefillState,
  type RefillTerms,
  refill,
  type SlidingState,
  slidingWindow,
} from './counters.ts';

/** What is kept of an account between two starts; `null` where it has no such limit. */
export type AccountState = {
  readonly quota: QuotaState | null;
  readonly rate: RateState | null;
};

/** With the kind and the period that it was counted by: with others the count begins anew. */
type QuotaState = Pick<Quota, 'kind' | 'periodMs'> & {
  readonly state: FixedState | SlidingState | RefillState;
};
type RateState = Pick<Rate, 'periodMs'> & { readonly state: RefillState };

/** What both headers say where there is no quota: so many that nobody reaches it. */
export const NO_QUOTA = 1_000_000_000;

/** What answers say of the quota. */
export type Standing = {
  /** Calls in a period. */
  readonly limit: number;
  readonly remaining: number;
  /** When there will next be more calls left (epoch milliseconds); null where none was taken. */
  readonly moreAt: number | null;
};

export type Decision = Granted | Exceeded;

export type Granted = Standing & { readonly granted: true };

/** `readyAt`: when all limits will allow a call, if no other call comes before (epoch milliseconds). */
export type Exceeded = {
  readonly granted: false;
  readonly limit: 'concurrency' | 'rate' | 'quota';
  readonly readyAt: number;
};

/** When somebody will have been answered cannot be known. */
const CONCURRENCY_WAIT_MS = 1_000;

export const nothingCounted: AccountState = { quota: null, rate: null };

/**
 * Asks all limits for one call, and takes it from all of them or from none.
 * @param running calls of the account that are being answered.
 * @param costsQuota whether it is to be taken from the quota.
 */
export function ask(
  before: AccountState,
  now: number,
  limits: Limits,
  running: number,
  costsQuota: boolean,
): { state: AccountState; decision: Decision } {
  const state = settle(before, now, limits);
  const exceeded = [
    ...exceededConcurrency(running, now, limits.concurrency),
    ...exceededRate(state.rate, limits.rate),
    ...(costsQuota ? exceededQuota(state.quota, limits.quota) : []),
  ];
  if (exceeded.length > 0) {
    const last = exceeded.reduce((a, b) => (b.readyAt > a.readyAt ? b : a));
    return { state, decision: { granted: false, ...last } };
  }
  const taken = {
    quota: costsQuota ? takeQuota(state.quota, limits.quota) : state.quota,
    rate: takeRate(state.rate, limits.rate),
  };
  return { state: taken, decision: { granted: true, ...standing(taken, limits) } };
}

/** The state as of `now`, under limits that may have been changed. */
export function settle(before: AccountState, now: number, { quota, rate }: Limits): AccountState {
  return { quota: settleQuota(before.quota, now, quota), rate: settleRate(before.rate, now, rate) };
}

/** The call of the time `taken` turned out to cost nothing; its place in the rate is not given back. */
export function giveBack(before: AccountState, now: number, limits: Limits, taken: number): AccountState {
  const { quota, rate } = settle(before, now, limits);
  if (!quota || !limits.quota) return { quota, rate };
  const { counter, terms } = counting(limits.quota);
  return { quota: { ...quota, state: counter.giveBack(quota.state, taken, terms) }, rate };
}

/** Of a state that is settled. */
export function standing({ quota }: AccountState, limits: Limits): Standing {
  if (!quota || !limits.quota) return { limit: NO_QUOTA, remaining: NO_QUOTA, moreAt: null };
  const { counter, terms } = counting(limits.quota);
  const { state } = quota;
  return {
    limit: limits.quota.calls,
    remaining: counter.remaining(state, terms),
    moreAt: counter.moreAt(state, terms),
  };
}

type Reason = Omit<Exceeded, 'granted'>;

function exceededConcurrency(running: number, now: number, most: number | null): Reason[] {
  if (most === null || running < most) return [];
  return [{ limit: 'concurrency', readyAt: now + CONCURRENCY_WAIT_MS }];
}

function exceededRate(kept: RateState | null, rate: Rate | null): Reason[] {
  if (!kept || !rate || refill.remaining(kept.state, rateTerms(rate)) > 0) return [];
  return [{ limit: 'rate', readyAt: refill.readyAt(kept.state, rateTerms(rate)) }];
}

function exceededQuota(kept: QuotaState | null, quota: Quota | null): Reason[] {
  if (!kept || !quota) return [];
  const { counter, terms } = counting(quota);
  if (counter.remaining(kept.state, terms) > 0) return [];
  return [{ limit: 'quota', readyAt: counter.readyAt(kept.state, terms) }];
}

function takeRate(kept: RateState | null, rate: Rate | null): RateState | null {
  return kept && rate ? { ...kept, state: refill.take(kept.state, rateTerms(rate)) } : kept;
}

function takeQuota(kept: QuotaState | null, quota: Quota | null): QuotaState | null {
  if (!kept || !quota) return kept;
  const { counter, terms } = counting(quota);
  return { ...kept, state: counter.take(kept.state, terms) };
}

function settleRate(before: RateState | null, now: number, rate: Rate | null): RateState | null {
  if (!rate) return null;
  const { periodMs } = rate;
  const terms = rateTerms(rate);
  const isSame = before?.periodMs === periodMs;
  return { periodMs, state: isSame ? refill.at(before.state, now, terms) : refill.begin(now, terms) };
}

function settleQuota(before: QuotaState | null, now: number, quota: Quota | null): QuotaState | null {
  if (!quota) return null;
  const { kind, periodMs } = quota;
  const { counter, terms } = counting(quota);
  const isSame = before?.kind === kind && before.periodMs === periodMs;
  return { kind, periodMs, state: isSame ? counter.at(before.state, now, terms) : counter.begin(now, terms) };
}

const rateTerms = ({ calls, periodMs, burst }: Rate): RefillTerms => ({ calls, periodMs, most: burst });

type AnyCounter = Counter<unknown, QuotaState['state']>;

/** A state is of the kind that stands beside it, so its counter fits it; the types cannot tell. */
function counting(quota: Quota): { counter: AnyCounter; terms: unknown } {
  const { calls, periodMs, kind } = quota;
  if (kind === 'refill')
    return { counter: refill as unknown as AnyCounter, terms: { calls, periodMs, most: calls } };
  return {
    counter: (kind === 'fixed' ? fixedWindow : slidingWindow) as unknown as AnyCounter,
    terms: quota,
  };
}
