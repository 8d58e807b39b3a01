/**
 * A 429 may be for the rate, the number in flight, or the quota; the API does not say which. All requests wait; then probes go one
 * by one, and the refusals until one is accepted tell the cause.
 */

import { DAY_MS } from '../clock.ts';
import type { WaitReason } from '../errors.ts';
import { isHalfProven, refusedAt } from './concurrency.ts';
import { mayBeInFlight } from './prefetch.ts';
import { atCountedLimit, exhausted, levelAt, startEra } from './quota.ts';
import { nextQuotaProbe, reserveOf } from './quota-probe.ts';
import * as rates from './rate.ts';
import type { Cause, EventOf, Pause, State } from './state.ts';

/** A Retry-After of more than a day is nonsense, or a ban that a person has to look at. */
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = DAY_MS;
/** A refusal that lasts longer than a minute, and the second by which Retry-After is rounded, is not for the rate. */
const LONGEST_FOR_RATE_MS = 61_000;
/** When the usual windows of a rate are over, probes go. */
const PROBE_AFTER_MS = [1_000, 10_000, LONGEST_FOR_RATE_MS] as const;
/** A waiter asks again within this time. If none did, none was there. */
const PROMPT_ASK_MS = 2_000;

/** The first 429 begins a pause, that of a probe lengthens it; others are of requests that were in flight already. */
export function throttled(state: State, event: EventOf<'response'>, inFlight: number, now: number): void {
  const before = state.pause;
  if (before && !isProbe(before, event)) {
    // Only one request more than was ever accepted is in flight: several refusals have another cause.
    before.inFlight = 1;
    return;
  }
  if (!before) startEra(state.quota);
  if (!before && mayBeInFlight(state.prefetch)) rates.refusedPrefetches(state.rate);
  const wasForQuota = before?.cause === 'quota';
  const pause = before ? lengthened(before, now) : begun(inFlight, now);
  state.pause = pause;
  pause.cause = suspect(state, pause, now);
  if (pause.cause === 'quota') runDry(state, pause, wasForQuota, now);
  const ownMs = pause.cause === 'quota' ? nextQuotaProbe(state.quota) - now : ownWait(state, pause, now);
  const told = usableRetryAfter(event.retryAfterMs);
  pause.toldMs = told ?? 0;
  pause.toldAt = told === null ? null : now + told;
  pause.resumeAt = now + withJitter(told ?? Math.max(SHORTEST_PAUSE_MS, ownMs), event.roll);
}

function begun(inFlight: number, now: number): Pause {
  return {
    sinceAt: now,
    idleMs: 0,
    refusedMs: 0,
    toldMs: 0,
    resumeAt: now,
    toldAt: null,
    failures: 0,
    probe: null,
    cause: 'rate',
    inFlight,
  };
}

function lengthened(pause: Pause, now: number): Pause {
  const refusedMs = now - pause.sinceAt - pause.idleMs;
  return { ...pause, refusedMs, failures: pause.failures + 1, probe: null };
}

/** Notes the probe that is sent. */
export function startProbe(pause: Pause, probe: { owner: string; job: string }, now: number): void {
  pause.probe = probe;
  pause.idleMs += Math.max(0, now - pause.resumeAt - PROMPT_ASK_MS);
  pause.resumeAt = now;
}

export function isProbe({ probe }: Pause, { owner, job }: { owner: string; job: string }): boolean {
  return probe?.owner === owner && probe.job === job;
}

export function reasonOf(pause: Pause): WaitReason {
  return pause.toldAt === null ? pause.cause : 'retry_after';
}

/** The probe was accepted: ends the pause, whose length tells its cause. */
export function resume(state: State, pause: Pause, now: number): void {
  const cause = suspect(state, pause, now);
  state.pause = null;
  if (cause === 'rate') rates.throttled(state.rate, pause, now);
  if (cause === 'concurrency') refusedAt(state.concurrency, pause.inFlight);
  if (cause !== 'quota') return;
  // Requests waited for quota, so a faster rate was of no use.
  state.rate.steadyCalls = 0;
  // Where the API said how long to wait, in whole seconds, more came at the end of that.
  const emptyAt = pause.toldAt === null ? pause.sinceAt : pause.toldAt - SHORTEST_PAUSE_MS;
  runDry(state, pause, pause.cause === 'quota', Math.max(state.quota.asOfAt, emptyAt));
}

/** The most likely cause of a pause. */
function suspect(state: State, pause: Pause, now: number): Cause {
  const { quota, rate, concurrency } = state;
  // The lower of the reported level and the one computed since.
  const level = quota.level === null ? null : Math.min(quota.level, levelAt(quota, now) ?? 0);
  if (level !== null && level <= Math.max(1, reserveOf(quota))) return 'quota';
  const tooLong = rates.forgivesWithin(rate) ?? Number.POSITIVE_INFINITY;
  const isLong = pause.refusedMs + pause.toldMs > LONGEST_FOR_RATE_MS || pause.refusedMs > tooLong;
  if (quota.source !== 'header' && (isLong || (atCountedLimit(quota) && !rate.trial))) return 'quota';
  // A probe goes alone, so it is not refused for the number in flight; nor are prefetches, where half of what proves was accepted.
  const isCleared = rate.owesTrial && !rate.opening && isHalfProven(concurrency);
  return pause.failures === 0 && pause.inFlight > concurrency.proven && !isCleared ? 'concurrency' : 'rate';
}

/** The quota is used up. Where requests went as fast as may be, it had not been in use for longer than that takes. */
function runDry({ quota, rate }: State, { sinceAt }: Pause, again: boolean, now: number): void {
  exhausted(quota, { again, sinceAt, usedAt: sinceAt - (1_000 * quota.spent) / rate.perSecond }, now);
}

/**
 * Milliseconds to wait where the API did not say: as long as recoveries took so far; then until the next usual window
 * is over, and beyond those twice as long each time.
 */
function ownWait({ rate, quota }: State, { failures, refusedMs }: Pause, now: number): number {
  const { soon, longest } = rates.recoveries(rate, now);
  if (failures > 0) {
    // A wait that was long enough before may be again; a probe too near the last one (half as long again) is left out.
    const known = Math.max(2 * refusedMs, PROBE_AFTER_MS[1]);
    const next = longest > known ? known : PROBE_AFTER_MS.find((after) => after > 1.5 * refusedMs);
    return Math.min(LONGEST_PAUSE_MS, next === undefined ? refusedMs : next - refusedMs);
  }
  // Where a proven rate is refused, the limit fell, or an unreported quota ran dry: that takes longer.
  const usual = rates.forgivesWithin(rate);
  const isUnexpected =
    usual !== null && quota.source !== 'header' && rates.hasSettled(rate) && rate.steadyCalls > 20;
  return Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, isUnexpected ? 2 * usual : soon));
}

/** A usable Retry-After in milliseconds, or null: absent, nonsense or in the past. */
export function usableRetryAfter(ms: number | null): number | null {
  if (ms === null || !Number.isFinite(ms) || ms <= 0) return null;
  return Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, ms));
}

/** A little later than asked (a tenth, 0.25 to 5 s), so that processes that were refused together do not return together. */
export function withJitter(ms: number, roll: number): number {
  return ms + roll * Math.min(5_000, Math.max(250, 0.1 * ms));
}
