/**
 * The governor as a pure function of state, events and time; random numbers come with the events. `permits.ts` decides whether a
 * request may be sent now; this file says what each event changes. docs/dev/governor.md draws it.
 */

import { doubledMs } from '../backoff.ts';
import { HOUR_MS, MINUTE_MS } from '../clock.ts';
import * as concurrency from './concurrency.ts';
import { isProbe, resume, throttled, usableRetryAfter, withJitter } from './pause.ts';
import * as permits from './permits.ts';
import { countRequest } from './prefetch.ts';
import * as quotas from './quota.ts';
import * as rates from './rate.ts';
import {
  type Decision,
  type Event,
  type EventOf,
  forgetMoments,
  MAX_RETRY_CREDIT,
  makeProbeDue,
  onTime,
  type State,
} from './state.ts';

/** The end of a long outage is noticed within a quarter of an hour, or twice that. */
const OUTAGE_PAUSES = { firstMs: 1_000, longestMs: 15 * MINUTE_MS };
/** A firewall may take calls too soon for another reason to block us. */
const BLOCK_PAUSES = { firstMs: MINUTE_MS, longestMs: HOUR_MS };
/** Statuses of a server, and of one that says: not now. */
const isOfServer = (status: number) => status >= 500 || status === 408 || status === 425;
/** One failed request may be repeated for ten that succeeded. */
const CREDIT_PER_SUCCESS = 0.1;
/** The weight of a response in the average latency. */
const LATENCY_WEIGHT = 0.1;

/** The state after the events, and the decision on the last one. `now` in epoch milliseconds; it may go back. */
export function govern(before: State, events: readonly Event[], now: number): [State, Decision] {
  const state = onTime(before, now);
  for (const owner of permits.silentOwners(state, now)) permits.writeOffOwner(state, owner);
  return [state, events.map((event) => apply(state, event, now)).at(-1) ?? noted];
}

const noted: Decision = { noted: true };

function apply(state: State, event: Event, now: number): Decision {
  if (event.type === 'ask') return permits.ask(state, event, now);
  if (event.type === 'start') start(state, event, now);
  else if (event.type === 'gone') permits.writeOffOwner(state, event.owner);
  else if (event.type === 'key') unblockRefused(state);
  else if (event.type === 'clock') forgetMoments(state, now);
  else if (event.type === 'holds') permits.setLease(state, event, now);
  else if (event.type === 'release') permits.release(state, event, now);
  else if (event.type === 'lost') lost(state, event, now);
  else response(state, event, now);
  return noted;
}

/** A start makes a quota probe due, at most once an hour: its user may have bought more calls. */
function start(state: State, { owner, again }: EventOf<'start'>, now: number): void {
  permits.writeOffOwner(state, owner);
  if (again) {
    unblockRefused(state);
    endOutagePauses(state, now);
  }
  if (now - state.quota.probedAt < HOUR_MS) return;
  makeProbeDue(state, now);
  state.quota.probedAt = now;
}

/** Allows a try of what was refused: a person asked for it, or changed the key. */
function unblockRefused(state: State): void {
  state.keyRefused = null;
  state.refusedKey = null;
  for (const job of Object.values(state.jobs)) job.forbidden = null;
}

/** A person may have corrected the address or the network: each failed endpoint is tried once now, but not before its Retry-After. */
function endOutagePauses(state: State, now: number): void {
  const outages = Object.values(state.jobs).flatMap(({ outage }) => outage ?? []);
  for (const outage of outages) outage.resumeAt = Math.max(now, outage.toldAt);
  state.retryCredit = Math.min(MAX_RETRY_CREDIT, Math.max(state.retryCredit, outages.length));
}

/** No response came. The API may have counted the request. If we stopped, the endpoint is not to blame. */
function lost(state: State, event: EventOf<'lost'>, now: number): void {
  ended(state, event, now);
  spendUntaught(state, event);
  if (!event.stopped) unavailable(state, event, null, now);
}

/** An accepted request teaches rate, concurrency and quota; a refused one which limit was met. */
function response(state: State, event: EventOf<'response'>, now: number): void {
  const { status, key, latencyMs } = event;
  ended(state, event, now);
  state.latencyMs ??= latencyMs;
  state.latencyMs += LATENCY_WEIGHT * (latencyMs - state.latencyMs);
  if (status >= 200 && status < 300) accepted(state, event, now);
  else if (status === 429) throttled(state, event, event.inFlight + mostOthers(state, event), now);
  else {
    spendUntaught(state, event);
    if (event.isBlocked || isOfServer(status))
      unavailable(state, event, usableRetryAfter(event.retryAfterMs), now);
    else if (status === 401 || status === 403) {
      state.refusedKey = key;
      if (status === 401) state.keyRefused = { retryAt: now + HOUR_MS };
      else forbidden(state, event, now);
    }
  }
}

/** The second refusal in a row is no mistake of the moment. */
function forbidden({ jobs }: State, { job }: EventOf<'response'>, now: number): void {
  const known = jobs[job];
  if (!known) return;
  const before = known.forbidden;
  if (before && !before.isTried) return;
  const refusals = (before?.refusals ?? 0) + 1;
  known.forbidden = { retryAt: now + permits.forbiddenMs(refusals), refusals, isTried: false };
}

/** A request is no longer in flight. */
function ended(state: State, { owner, job }: { owner: string; job: string }, now: number): void {
  permits.usePermits(state, owner, 1, now);
  countRequest(state.prefetch, now);
  quotas.countResponse(state.quota, job);
}

/** Requests of others that were surely in flight with an accepted one. */
function leastOthers(state: State, { owner, othersInFlight }: EventOf<'response'>): number {
  return Math.min(othersInFlight, permits.inFlightOfOthers(state, owner));
}

/** Requests of others that may have been in flight with a refused one. */
function mostOthers(state: State, { owner, othersInFlight }: EventOf<'response'>): number {
  return Math.max(othersInFlight, permits.allowedOfOthers(state, owner));
}

function accepted(state: State, event: EventOf<'response'>, now: number): void {
  const { limit, remaining, responsesBefore } = event;
  if (state.pause && isProbe(state.pause, event)) resume(state, state.pause, now);
  const job = state.jobs[event.job];
  if (job) {
    job.seesQuota ||= remaining !== null;
    job.forbidden = null;
    job.outage = null;
  }
  state.keyRefused = null;
  state.retryCredit = Math.min(MAX_RETRY_CREDIT, state.retryCredit + CREDIT_PER_SUCCESS);
  rates.accepted(state.rate, now);
  concurrency.accepted(state.concurrency, event.inFlight + leastOthers(state, event));
  if (limit !== null && remaining !== null && remaining >= 0 && remaining <= limit)
    quotas.observe(state.quota, { limit, remaining, responsesBefore }, permits.outstanding(state), now);
  else quotas.spend(state.quota, event.job, responsesBefore, now);
}

/** The request counts as made, and teaches nothing about limits; if it was a probe, another may go. */
function spendUntaught(state: State, request: { owner: string; job: string }): void {
  if (state.pause && isProbe(state.pause, request)) state.pause.probe = null;
  quotas.writeOff(state.quota, 1);
}

/** Makes the endpoint wait, twice as long after each failure, at least `toldMs`. `roll` spreads the processes. */
function unavailable(
  state: State,
  { job, roll, isBlocked = false }: { job: string; roll: number; isBlocked?: boolean },
  toldMs: number | null,
  now: number,
): void {
  const known = state.jobs[job];
  const toldAt = now + (toldMs === null ? 0 : withJitter(toldMs, roll));
  if (known?.outage && now < known.outage.resumeAt) {
    // This request was in flight when the outage began: it is the same failure.
    known.outage.resumeAt = Math.max(known.outage.resumeAt, toldAt);
    known.outage.toldAt = Math.max(known.outage.toldAt, toldAt);
    return;
  }
  state.retryCredit = Math.max(0, state.retryCredit - 1);
  if (!known) return;
  const failures = (known.outage?.failures ?? 0) + 1;
  const pause = isBlocked
    ? withJitter(doubledMs(failures, BLOCK_PAUSES), roll)
    : doubledMs(failures, OUTAGE_PAUSES) * (1 + roll);
  known.outage = { failures, resumeAt: Math.max(now + pause, toldAt), toldAt, isBlocked };
}
