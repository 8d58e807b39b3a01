/** Whether a request may be sent now: it must pass seven gates. The first closed one says when to ask again, and why. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../clock.ts';
import type { WaitReason } from '../errors.ts';
import { allowedInFlight, allowedPrefetchInFlight } from './concurrency.ts';
import { reasonOf, startProbe } from './pause.ts';
import { allowedPrefetches, refundBudget, spendBudget } from './prefetch.ts';
import { isApart, levelAt, writeOff } from './quota.ts';
import { nextQuotaProbe, reserveOf } from './quota-probe.ts';
import * as rates from './rate.ts';
import type { Decision, EventOf, JobState, Lease, RefusedDecision, State, WaitDecision } from './state.ts';

type Ask = EventOf<'ask'>;

/** The result of a gate: open for at most so many requests, with a note for when all gates are open; or closed. */
type Passage = OpenGate | WaitDecision | RefusedDecision;
type OpenGate = { open: number; note?: () => void };

const open: OpenGate = { open: Number.POSITIVE_INFINITY };
/** One request goes to see whether a refusal is over. */
const one = (note: () => void): OpenGate => ({ open: 1, note });
const wait = (until: number, reason: WaitReason): WaitDecision => ({ wait: { until, reason } });

/** An outage costs one request a minute at most, and its end is soon noticed. */
const UNPAID_RETRY_MS = MINUTE_MS;
/** Asking again costs a transaction. */
const LEAST_WAIT_MS = 10;
/** The latency that is expected before the first response. */
const USUAL_LATENCY_MS = 100;
/** Within this time a waiter that sees the quota will have asked, if there is one. */
const BLIND_GRACE_MS = 2_000;
/** The client gives up a request after so long. */
export const REQUEST_DEADLINE_MS = MINUTE_MS;
/** A process silent for twice as long has no request in flight: it is gone. */
const OWNER_TTL_MS = 2 * REQUEST_DEADLINE_MS;
/** Hardly any response takes longer. */
const QUIET_MS = 10_000;

const gates = [keyGate, scopeGate, outageGate, pauseGate, quotaGate, concurrencyGate, rateGate];

export function ask(state: State, event: Ask, now: number): Decision {
  const { owner } = event;
  jobOf(state, event.job, now).askedAt = now;
  const othersInFlight = allowedOfOthers(state, owner);
  const prefetches = allowedPrefetches(state, event, othersInFlight, outstanding(state), now);
  // Nobody waits for a prefetch, and it is no good probe.
  if (event.isPrefetch && prefetches === 0) return wait(now, 'quota');
  const passages: OpenGate[] = [];
  for (const gate of gates) {
    const passage = gate(state, event, now);
    if (!('open' in passage)) return passage;
    passages.push(passage);
  }
  for (const { note } of passages) note?.();
  const maxInFlight = freeInFlight(state, owner);
  // What a walk that prefetches learns of the number in flight is reported when it asks again: soon.
  const want = prefetches > 0 ? Math.min(event.want, maxInFlight) : event.want;
  const most = Math.min(want, rates.blockSize(state.rate), ...passages.map((passage) => passage.open));
  const permits = Math.max(1, Math.floor(most));
  const prefetchBudget = spendBudget(state, prefetches - (event.unproven ?? 0), now);
  const held = state.leases[owner]?.permits ?? 0;
  state.leases[owner] = { permits: held + permits, maxInFlight, inFlight: event.inFlight, heardAt: now };
  // A probe tests the limit that was met, not the rate.
  if (!state.pause) rates.takeSlots(state.rate, permits, now);
  return {
    permits,
    maxInFlight,
    othersInFlight,
    prefetchBudget,
    maxPrefetchInFlight: allowedPrefetchInFlight(state.concurrency) - othersInFlight,
    responsesBefore: state.quota.responses,
  };
}

/** The state of a job, which its first question makes. */
function jobOf({ jobs }: State, job: string, now: number): JobState {
  jobs[job] ??= { forbidden: null, outage: null, seesQuota: false, askedAt: now };
  return jobs[job];
}

function keyGate({ keyRefused }: State, _: Ask, now: number): Passage {
  return refusalGate(keyRefused, 'key_refused', now, (refusal) => {
    refusal.retryAt = now + HOUR_MS;
  });
}

/** Before an endpoint that the key may not use is tried again. */
export const forbiddenMs = (refusals: number) => (refusals > 1 ? DAY_MS : 5 * MINUTE_MS);

function scopeGate(state: State, { job }: Ask, now: number): Passage {
  return refusalGate(jobOf(state, job, now).forbidden, 'forbidden', now, (refusal) => {
    refusal.retryAt = now + forbiddenMs(refusal.refusals);
    refusal.isTried = true;
  });
}

/** Lets one request try a refused key or endpoint when it is time; `tried` says when the next may. */
function refusalGate<Refusal extends { retryAt: number }>(
  refusal: Refusal | null,
  refused: RefusedDecision['refused'],
  now: number,
  tried: (refusal: Refusal) => void,
): Passage {
  if (!refusal) return open;
  return now < refusal.retryAt ? { refused, until: refusal.retryAt } : one(() => tried(refusal));
}

/** Lets one request try a failed endpoint if successes have paid for it, or nobody tried for a minute. */
function outageGate(state: State, { job }: Ask, now: number): Passage {
  const { outage } = jobOf(state, job, now);
  if (!outage) return open;
  const reason = outage.isBlocked ? 'blocked' : 'unavailable';
  if (now < outage.resumeAt) return wait(outage.resumeAt, reason);
  if (state.retryCredit >= 1) return { open: 1 };
  if (now < state.unpaidRetryAt) return wait(state.unpaidRetryAt, reason);
  return one(() => {
    state.unpaidRetryAt = now + UNPAID_RETRY_MS;
  });
}

/** During a pause no request goes; after it, one alone goes as a probe. */
function pauseGate(state: State, { owner, job }: Ask, now: number): Passage {
  const { pause } = state;
  if (!pause) return open;
  if (now < pause.resumeAt) return wait(pause.resumeAt, reasonOf(pause));
  if (outstanding(state) > 0) return wait(soon(state, now), reasonOf(pause));
  return one(() => startProbe(pause, { owner, job }, now));
}

/** Above the reserve, requests go; at the reserve, now and then a quota probe. */
function quotaGate(state: State, { job }: Ask, now: number): Passage {
  const { quota } = state;
  const level = levelAt(quota, now);
  if (level === null || state.pause || isApart(quota, job)) return open;
  const unanswered = outstanding(state);
  const left = level - unanswered - reserveOf(quota);
  if (left >= 1) return { open: left };
  // A job whose responses tell what is left makes the better quota probe.
  const next = nextQuotaProbe(quota) + (isBestToSee(state, job) ? 0 : BLIND_GRACE_MS);
  const reason = level >= 1 ? 'reserve' : 'quota';
  const isProbing = unanswered > 0 && quota.probedAt > quota.asOfAt;
  if (now < next && !isProbing) return wait(next, reason);
  if (unanswered > 0) return wait(soon(state, now), reason);
  return one(() => {
    // While requests wait for quota, a faster rate is of no use.
    state.rate.steadyCalls = 0;
    quota.probedAt = now;
    quota.probeDueAt = null;
  });
}

/** False where this job does not see the quota, but one that does has asked since it was last seen. */
function isBestToSee({ jobs, quota }: State, asking: string): boolean {
  if (jobs[asking]?.seesQuota) return true;
  return !Object.values(jobs).some((job) => job.seesQuota && job.askedAt > quota.asOfAt);
}

function concurrencyGate(state: State, { owner }: Ask, now: number): Passage {
  return freeInFlight(state, owner) >= 1 ? open : wait(soon(state, now), 'concurrency');
}

function rateGate({ rate }: State, _: Ask, now: number): Passage {
  return rate.freeAt <= now ? open : wait(rate.freeAt, 'rate');
}

/** About when a response will come. */
function soon({ latencyMs }: State, now: number): number {
  return now + Math.max(LEAST_WAIT_MS, latencyMs ?? USUAL_LATENCY_MS);
}

/** How many requests of the process may be in flight beside those of others. */
function freeInFlight(state: State, owner: string): number {
  return allowedInFlight(state.concurrency) - allowedOfOthers(state, owner);
}

/** How many requests other processes may have in flight at once. */
export function allowedOfOthers(state: State, owner: string): number {
  return sumOfOthers(state, owner, ({ permits, maxInFlight }) => Math.min(permits, maxInFlight));
}

/** How many they have, as each said when it asked last. */
export function inFlightOfOthers(state: State, owner: string): number {
  return sumOfOthers(state, owner, ({ permits, inFlight }) => Math.min(permits, inFlight));
}

function sumOfOthers({ leases }: State, owner: string, of: (lease: Lease) => number): number {
  return Object.entries(leases).reduce((sum, [name, lease]) => (name === owner ? sum : sum + of(lease)), 0);
}

/** Permits that were given for requests without a response yet, of all processes. */
export function outstanding({ leases }: State): number {
  return Object.values(leases).reduce((sum, { permits }) => sum + permits, 0);
}

/** Takes permits from a lease: their requests have ended, or they were given back. */
export function usePermits({ leases }: State, owner: string, permits: number, now: number): void {
  const lease = leases[owner];
  if (!lease) return;
  lease.permits -= permits;
  lease.heardAt = now;
  if (lease.permits <= 0) delete leases[owner];
}

/** Sets the lease of a process to what it says itself. */
export function setLease(
  { leases }: State,
  { owner, permits, maxInFlight, inFlight }: EventOf<'holds'>,
  now: number,
): void {
  if (permits > 0) leases[owner] = { permits, maxInFlight, inFlight, heardAt: now };
  else delete leases[owner];
}

/** Takes back unused permits and prefetch budget. */
export function release(
  state: State,
  { owner, permits, prefetchBudget = 0 }: EventOf<'release'>,
  now: number,
): void {
  refundBudget(state.prefetch, prefetchBudget, now);
  const unused = Math.min(permits, state.leases[owner]?.permits ?? 0);
  usePermits(state, owner, unused, now);
  rates.giveBackSlots(state.rate, unused, now);
}

/** Ends the lease of a process that is gone: its requests count as made. */
export function writeOffOwner({ leases, quota }: State, owner: string): void {
  writeOff(quota, leases[owner]?.permits ?? 0);
  delete leases[owner];
}

/** Processes that were silent for so long that none of their requests can be in flight. */
export function silentOwners({ leases }: State, now: number): string[] {
  return Object.keys(leases).filter((owner) => now - (leases[owner]?.heardAt ?? 0) > OWNER_TTL_MS);
}

/** Silent processes whose permits keep others waiting, and until when that can last; for people. */
export function blockedBySilence(
  state: State,
  now: number,
): { owners: string[]; permits: number; until: number; reason: WaitReason } | null {
  const silent = Object.entries(state.leases).filter(([, { heardAt }]) => now - heardAt > QUIET_MS);
  const until = Math.max(...silent.map(([, { heardAt }]) => heardAt + OWNER_TTL_MS));
  if (!(until > now)) return null;
  const reason = closedByPermits(state, now);
  const permits = silent.reduce((sum, [, lease]) => sum + lease.permits, 0);
  return reason && { owners: silent.map(([owner]) => owner), permits, until, reason };
}

/** The gate that is closed only because of permits whose requests have no response yet. */
function closedByPermits(state: State, now: number): WaitReason | null {
  const { pause, quota, concurrency } = state;
  const unanswered = outstanding(state);
  if (pause) return pause.resumeAt <= now && unanswered > 0 ? reasonOf(pause) : null;
  if (allowedOfOthers(state, '') >= allowedInFlight(concurrency)) return 'concurrency';
  const level = levelAt(quota, now);
  if (level === null) return null;
  const left = level - reserveOf(quota);
  return left >= 1 && left - unanswered < 1 ? 'reserve' : null;
}
