/**
 * The governor: may this call be made now, and if not, when and why. A pure function of what is known, what
 * happens and the time; chance comes in with the events. docs/dev/governor.md draws it.
 */

import { doubledMs } from '../backoff.ts';
import { countCall } from './ahead.ts';
import * as concurrency from './concurrency.ts';
import type { Decision, Event, EventOf } from './events.ts';
import * as paces from './pace.ts';
import { isProbe, resume, throttled, usableRetryAfter, withJitter } from './pause.ts';
import * as permits from './permits.ts';
import * as quotas from './quota.ts';
import { DAY_MS, forgetMoments, HOUR_MS, MOST_CREDIT, onTime, probeNow, type State } from './state.ts';

type Told = Exclude<Event['type'], 'ask'>;

/** From a hiccup to an outage of hours, which is noticed to be over within a quarter of an hour, or twice that. */
const OUTAGE_PAUSES = { firstMs: 1_000, longestMs: 15 * 60_000 };
/** A tenth of what succeeds may be spent on trying again what failed. */
const CREDIT_PER_SUCCESS = 0.1;
/** The part of each answer's latency in what is held for usual: the last ten or so count. */
const LATENCY_WEIGHT = 0.1;

/** `now` in epoch milliseconds; a clock that goes back is told by the state. `before` stays as it is. */
export function govern(before: State, event: Event, now: number): [State, Decision] {
  const state = onTime(before, now);
  for (const owner of permits.silentOwners(state, now)) permits.writeOffOwner(state, owner);
  if (event.type === 'ask') return [state, permits.ask(state, event, now)];
  const rule = rules[event.type] as (state: State, event: Event, now: number) => void;
  rule(state, event, now);
  return [state, { noted: true }];
}

/** What each event that asks for nothing changes. */
const rules: { [Type in Told]: (state: State, event: EventOf<Type>, now: number) => void } = {
  start,
  gone: (state, { owner }) => permits.writeOffOwner(state, owner),
  key: tryRefusedAgain,
  clock: (state, _, now) => forgetMoments(state, now),
  release: permits.release,
  holds: permits.hold,
  lost,
  answer,
};

/**
 * Whoever starts a command may know that more calls were bought, or others have stopped; but a command may be
 * started every minute.
 */
function start(state: State, { owner, again }: EventOf<'start'>, now: number): void {
  permits.writeOffOwner(state, owner);
  if (again) tryRefusedAgain(state);
  if (now - state.quota.probedAt < HOUR_MS) return;
  probeNow(state, now);
  state.quota.probedAt = now;
}

/** A person who asks for it, or changes the key, gets one try. */
function tryRefusedAgain(state: State): void {
  state.keyRefused = null;
  state.refusedKey = null;
  for (const job of Object.values(state.jobs)) job.forbidden = null;
}

/** The call may or may not have been made. Where we stopped, the endpoint is not to blame. */
function lost(state: State, event: EventOf<'lost'>, now: number): void {
  ended(state, event, now);
  spent(state, event);
  if (!event.stopped) unavailable(state, event, null, now);
}

/** An accepted call teaches pace, number and quota; a refused one what was met. */
function answer(state: State, event: EventOf<'answer'>, now: number): void {
  const { status, key, latencyMs } = event;
  ended(state, event, now);
  state.latencyMs ??= latencyMs;
  state.latencyMs += LATENCY_WEIGHT * (latencyMs - state.latencyMs);
  if (status >= 200 && status < 300) accepted(state, event, event.inflight + leastOthers(state, event), now);
  else if (status === 429) throttled(state, event, event.inflight + mostOthers(state, event), now);
  else {
    const job = state.jobs[event.job];
    spent(state, event);
    if (status === 401) state.keyRefused = { probeAt: now + HOUR_MS };
    if (status === 403 && job) job.forbidden = { probeAt: now + DAY_MS };
    if (status === 401 || status === 403) state.refusedKey = key;
    if (status >= 500) unavailable(state, event, usableRetryAfter(event.retryAfterMs), now);
  }
}

/** A call is under way no longer. */
function ended(state: State, { owner, job }: { owner: string; job: string }, now: number): void {
  permits.settle(state, owner, 1, now);
  countCall(state.ahead, now);
  quotas.countAnswer(state.quota, job);
}

/** What a call that was accepted proves must not be too much: who began later, or has ended since, was not beside it. */
function leastOthers(state: State, { owner, others }: EventOf<'answer'>): number {
  return Math.min(others, permits.underWayOfOthers(state, owner));
}

/** One that was refused may have met all others, those that have ended since as well. */
function mostOthers(state: State, { owner, others }: EventOf<'answer'>): number {
  return Math.max(others, permits.parallelOfOthers(state, owner));
}

function accepted(state: State, event: EventOf<'answer'>, inflight: number, now: number): void {
  if (state.pause && isProbe(state.pause, event)) resume(state, state.pause, now);
  const { limit, remaining, answersBefore } = event;
  const job = state.jobs[event.job];
  if (job) {
    job.seesQuota ||= remaining !== null;
    job.forbidden = null;
    job.outage = null;
  }
  state.keyRefused = null;
  state.retryCredit = Math.min(MOST_CREDIT, state.retryCredit + CREDIT_PER_SUCCESS);
  paces.accepted(state.rate, now);
  concurrency.accepted(state.concurrency, inflight);
  if (limit !== null && remaining !== null && remaining >= 0 && remaining <= limit)
    quotas.observe(state.quota, { limit, remaining, answersBefore }, permits.outstanding(state), now);
  else quotas.spend(state.quota, event.job, answersBefore, now);
}

/** The call counts as made, and tells nothing of the limits; if it was a probe, another may go. */
function spent(state: State, call: { owner: string; job: string }): void {
  if (state.pause && isProbe(state.pause, call)) state.pause.probe = null;
  quotas.writeOff(state.quota, 1);
}

/**
 * The endpoint alone waits, twice as long after each failure; not before `toldMs` in any case. `roll` in [0, 1)
 * spreads those who come back.
 */
function unavailable(
  state: State,
  { job, roll }: { job: string; roll: number },
  toldMs: number | null,
  now: number,
): void {
  const known = state.jobs[job];
  const told = toldMs === null ? 0 : withJitter(toldMs, roll);
  if (known?.outage && now < known.outage.resumeAt) {
    // Nobody was let go since it began: this one was under way then, and tells of no other failure.
    known.outage.resumeAt = Math.max(known.outage.resumeAt, now + told);
    return;
  }
  state.retryCredit = Math.max(0, state.retryCredit - 1);
  if (!known) return;
  const failures = (known.outage?.failures ?? 0) + 1;
  const pause = doubledMs(failures, OUTAGE_PAUSES) * (1 + roll);
  known.outage = { failures, resumeAt: now + Math.max(pause, told) };
}
