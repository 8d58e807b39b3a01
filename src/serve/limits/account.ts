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
    ...(limits.concurrency !== null && running >= limits.concurrency
      ? [{ limit: 'concurrency' as const, readyAt: now + CONCURRENCY_WAIT_MS }]
      : []),
    ...exceededRate(state, limits),
    ...(costsQuota ? exceededQuota(state, limits) : []),
  ];
  if (exceeded.length > 0) {
    const last = exceeded.reduce((a, b) => (b.readyAt > a.readyAt ? b : a));
    return { state, decision: { granted: false, ...last } };
  }
  const taken = {
    quota: state.quota && costsQuota ? change(state.quota, limits.quota, takeOne) : state.quota,
    rate: state.rate && { ...state.rate, state: refill.take(state.rate.state, rateTerms(limits.rate)) },
  };
  return { state: taken, decision: { granted: true, ...standing(taken, limits) } };
}

/** The state as of `now`, under limits that may have been changed. */
export function settle(before: AccountState, now: number, { quota, rate }: Limits): AccountState {
  return { quota: settleQuota(before.quota, now, quota), rate: settleRate(before.rate, now, rate) };
}

/** The call of the time `taken` turned out to cost nothing; its place in the rate is not given back. */
export function giveBack(before: AccountState, now: number, limits: Limits, taken: number): AccountState {
  const state = settle(before, now, limits);
  if (!state.quota) return state;
  return {
    ...state,
    quota: change(state.quota, limits.quota, (counter, old, terms) => counter.giveBack(old, taken, terms)),
  };
}

/** Of a state that is settled. */
export function standing({ quota }: AccountState, limits: Limits): Standing {
  if (!quota || !limits.quota) return { limit: NO_QUOTA, remaining: NO_QUOTA, moreAt: null };
  const { counter, terms } = counting(limits.quota);
  return {
    limit: limits.quota.calls,
    remaining: counter.remaining(quota.state, terms),
    moreAt: counter.moreAt(quota.state, terms),
  };
}

function exceededRate({ rate }: AccountState, limits: Limits): Omit<Exceeded, 'granted'>[] {
  if (!rate || refill.remaining(rate.state, rateTerms(limits.rate)) > 0) return [];
  return [{ limit: 'rate', readyAt: refill.readyAt(rate.state, rateTerms(limits.rate)) }];
}

function exceededQuota({ quota }: AccountState, limits: Limits): Omit<Exceeded, 'granted'>[] {
  if (!quota || !limits.quota) return [];
  const { counter, terms } = counting(limits.quota);
  if (counter.remaining(quota.state, terms) > 0) return [];
  return [{ limit: 'quota', readyAt: counter.readyAt(quota.state, terms) }];
}

function settleQuota(before: QuotaState | null, now: number, quota: Quota | null): QuotaState | null {
  if (!quota) return null;
  const { kind, periodMs } = quota;
  if (before?.kind === kind && before.periodMs === periodMs)
    return change(before, quota, (counter, state, terms) => counter.at(state, now, terms));
  const { counter, terms } = counting(quota);
  return { kind, periodMs, state: counter.begin(now, terms) };
}

function settleRate(before: RateState | null, now: number, rate: Rate | null): RateState | null {
  if (!rate) return null;
  const { periodMs } = rate;
  const state =
    before?.periodMs === periodMs
      ? refill.at(before.state, now, rateTerms(rate))
      : refill.begin(now, rateTerms(rate));
  return { periodMs, state };
}

type State = QuotaState['state'];
type AnyCounter = Counter<unknown, State>;

function change(
  quota: QuotaState,
  limit: Quota | null,
  work: (counter: AnyCounter, state: State, terms: unknown) => State,
): QuotaState {
  if (!limit) return quota;
  const { counter, terms } = counting(limit);
  return { ...quota, state: work(counter, quota.state, terms) };
}

const takeOne = (counter: AnyCounter, state: State, terms: unknown) => counter.take(state, terms);

/** The kind of a state is that of its counter, which the types cannot tell. */
function counting(quota: Quota): { counter: AnyCounter; terms: unknown } {
  if (quota.kind === 'refill') return { counter: refill as unknown as AnyCounter, terms: refillTerms(quota) };
  return {
    counter: (quota.kind === 'fixed' ? fixedWindow : slidingWindow) as unknown as AnyCounter,
    terms: quota,
  };
}

const refillTerms = ({ calls, periodMs }: Quota): RefillTerms => ({ calls, periodMs, most: calls });

const rateTerms = (rate: Rate | null): RefillTerms =>
  rate ? { ...rate, most: rate.burst } : { calls: 1, periodMs: 1, most: 0 };
