/**
 * The governor as a pure function: may this request go now, else when and why; and what does a response change?
 * docs/dev/governor.md draws it.
 */

import { doubledMs } from '../base/backoff.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../base/clock.ts';
import type { WaitReason } from '../base/errors.ts';
import type { CallLimit } from '../config/values.ts';
import {
  acceptedWithoutHeader,
  countCall,
  initialLedger,
  type Ledger,
  nextProbe,
  ranOut,
  readHeader,
  reserveOf,
} from './ledger.ts';
import {
  type Decision,
  draftOf,
  type Event,
  type KeyMark,
  type Pause,
  type RequestInFlight,
  type RequestOutcome,
  type State,
} from './state.ts';
import { countSpent, nextFree, nextPeriod, spentOf } from './window.ts';

/** The client gives up a request after so long; later it is in flight no more. */
export const REQUEST_DEADLINE_MS = MINUTE_MS;
const IN_FLIGHT_MS = REQUEST_DEADLINE_MS + 5_000;
/** Where a request of others has to end first. */
const LOOK_AGAIN_MS = 50;
/** A job whose responses do not say what is left goes to see whether more came only where none that does has gone. */
const BLIND_MS = 2_000;
/** While no quota is set, its calls are counted for this long: it may be set later. */
const COUNTED: CallLimit = { calls: Number.POSITIVE_INFINITY, periodMs: DAY_MS, startMs: null };

type Ask = Extract<Event, { type: 'ask' }>;
type Response = Extract<Event, { type: 'response' }>;

/** The state after the event, and the decision. `now` in epoch milliseconds; it may go back. */
export function govern(before: State, event: Event, now: number): [State, Decision] {
  const state = draftOf(before, now);
  const { type } = event;
  if (type === 'ask') return [state, ask(state, event, now)];
  if (type === 'response') return [state, { say: learnFrom(state, event, now) }];
  state.refused = {};
  state.refusedKey = null;
  if (type === 'again') again(state, now);
  return [state, { say: null }];
}

/** Not before the API's Retry-After, and no look at the quota twice an hour. */
function again({ outages, pools, pause }: State, now: number): void {
  for (const outage of Object.values(outages)) outage.until = outage.retryAfterUntil;
  for (const ledger of Object.values(pools))
    if (now - ledger.probedAt >= HOUR_MS) {
      ledger.isDue = true;
      if (pause?.cause === 'quota' && pause.retryAfterMs === 0) pause.until = Math.min(pause.until, now);
    }
}

// May a request go?

function ask(state: State, { owner, job, set, gone }: Ask, now: number): Decision {
  if (!isSameSet(state.set, set)) changeSet(state, set);
  for (const request of [...state.inFlight])
    if (gone.includes(request.owner) || now - request.sentAt > IN_FLIGHT_MS) writeOff(state, request, now);
  const closed = refusal(state, '', now) ?? refusal(state, job, now) ?? closedGate(state, job, now);
  if (closed) return closed;
  for (const name of ['', job]) {
    const known = state.refused[name];
    if (known) known.retryAt = now + refusedMs(name, known.times);
  }
  return send(state, owner, job, now);
}

/** Calls from before count in the window of another rate, too. */
function changeSet(state: State, set: State['set']): void {
  const { spent } = state;
  const isOtherRate = JSON.stringify(state.set.rate) !== JSON.stringify(set.rate);
  if (isOtherRate) spent.rate = spent.quota.map((group) => ({ ...group }));
  Object.assign(state, { set, said: { limits: [], refusedAt: null } });
}

export function isSameSet(one: State['set'], other: State['set']): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A refused key is tried again each hour, a refused scope after five minutes and then daily. */
const refusedMs = (name: string, times: number) =>
  name === '' ? HOUR_MS : times > 1 ? DAY_MS : 5 * MINUTE_MS;

function refusal({ refused }: State, name: string, now: number): Decision | null {
  const known = refused[name];
  if (!known || now >= known.retryAt) return null;
  return { refused: name === '' ? 'key' : 'scope', until: known.retryAt };
}

/** The first gate that is closed. */
function closedGate(state: State, job: string, now: number): Decision | null {
  const { set, pause, rate, concurrency, spent, inFlight } = state;
  const wait = (until: number | null, reason: WaitReason): Decision => ({
    until: Math.max(until ?? now + LOOK_AGAIN_MS, now + 1),
    reason,
  });
  const outage = state.outages[job];
  if (outage && now < outage.until) return wait(outage.until, outage.isBlocked ? 'blocked' : 'unavailable');
  if (pause && now < pause.until) return wait(pause.until, reasonOf(pause));
  if (pause && inFlight.length > 0) return wait(null, reasonOf(pause));
  const ledger = limitingLedger(state, job);
  if (!pause && ledger && isShort(ledger, inFlight.length)) {
    const at = nextProbe(ledger) + (ledger.hasHeader && state.poolOf[job] === undefined ? BLIND_MS : 0);
    const reason = (ledger.left ?? 0) >= 1 ? 'reserve' : 'quota';
    // The response to what is in flight may tell of more.
    if (inFlight.length > 0) return wait(null, reason);
    if (now < at) return wait(at, reason);
    ledger.probedAt = now;
    // While calls wait for quota, a faster rate is of no use.
    rate.calm = 0;
  }
  if (set.quota) {
    const at = nextFree(spent.quota, inFlight.length, set.quota, now);
    if (at === null || at > now) return wait(at, 'quota');
  }
  if (inFlight.length >= (set.concurrency ?? concurrency.allowed)) return wait(null, 'concurrency');
  if (set.rate) {
    const at = nextFree(spent.rate, inFlight.length, set.rate, now);
    if (at === null || at > now) return wait(at, 'rate');
  } else if (!pause && now < rate.nextAt) return wait(rate.nextAt, 'rate');
  return null;
}

export const reasonOf = ({ retryAfterMs, cause }: Pause): WaitReason =>
  retryAfterMs > 0 ? 'retry_after' : cause;

/** The ledger that the job's calls lower; undefined for an endpoint whose calls were seen not to count. */
function ledgerOf({ pools, poolOf, apart }: State, job: string): Ledger | undefined {
  return isApart(apart, job) ? undefined : pools[poolOf[job] ?? ''];
}

const TIMES_SEEN_APART = 3;
export const isApart = (apart: State['apart'], job: string) => (apart[job] ?? 0) >= TIMES_SEEN_APART;

/** The ledger that limits the job's calls: none where a quota is set, unless the header names another one. */
function limitingLedger(state: State, job: string): Ledger | undefined {
  const ledger = ledgerOf(state, job);
  const { quota } = state.set;
  const isOther = ledger?.hasHeader && ledger.limit !== quota?.calls;
  return quota === null || isOther ? ledger : undefined;
}

/** Whether no more than the reserve is left. */
function isShort(ledger: Ledger, inFlight: number): boolean {
  return ledger.left !== null && ledger.left - inFlight - reserveOf(ledger) < 1;
}

function send(state: State, owner: string, job: string, now: number): Decision {
  const { rate, inFlight, pause } = state;
  const id = state.nextId++;
  const sent = inFlight.length + 1;
  const isPressed = now - rate.nextAt < Math.max(5, 500 / rate.perSecond);
  if (pause) pause.probeId = id;
  else {
    // After a rest nobody knows how much the API has saved up.
    if (now - rate.nextAt > 5_000) Object.assign(rate, { sinceAt: now, accepted: 0 });
    rate.nextAt = Math.max(now, rate.nextAt) + 1_000 / rate.perSecond;
  }
  inFlight.push({ id, owner, job, sentAt: now, sent, peak: sent, isPressed });
  for (const request of inFlight) request.peak = Math.max(request.peak, sent);
  return { id };
}

// What does a response change?

/** @returns what is to be said in the log. */
function learnFrom(state: State, event: Response, now: number): string | null {
  const request = state.inFlight.find(({ id }) => id === event.id);
  // It was written off, or the state is a new one.
  if (!request) return null;
  const { status } = event;
  endFlight(state, request, now);
  if (status !== null && status >= 200 && status < 300) return learnFromSuccess(state, request, event, now);
  if (status === 429) return pauseAfter429(state, request, event, now);
  learnNothing(state, request);
  if (status === 401 && !event.isBlocked) refuse(state, '', request, event.key, now);
  else if (status === 403 && !event.isBlocked) refuse(state, request.job, request, event.key, now);
  else if (!event.stopped && (event.isBlocked || status === null || isOfServer(status)))
    beginOutage(state, request, event, now);
  return null;
}

/** Statuses of a server, and of one that says: not now. */
const isOfServer = (status: number) => status >= 500 || status === 408 || status === 425;

/** The request is in flight no more, and counts as answered now. */
function endFlight(state: State, { id }: RequestInFlight, now: number): void {
  const { set, spent } = state;
  state.inFlight = state.inFlight.filter((other) => other.id !== id);
  countSpent(spent.quota, 1, set.quota ?? COUNTED, now);
  if (set.rate) countSpent(spent.rate, 1, set.rate, now);
}

/** Nobody will say how it ended: the API may have counted it. */
function writeOff(state: State, request: RequestInFlight, now: number): void {
  endFlight(state, request, now);
  learnNothing(state, request);
}

/** It counts as made and teaches nothing of limits; if it was the probe, another may go. */
function learnNothing(state: State, { id, job }: RequestInFlight): void {
  if (state.pause?.probeId === id) state.pause.probeId = null;
  const ledger = ledgerOf(state, job);
  if (ledger) countCall(ledger);
}

function learnFromSuccess(
  state: State,
  request: RequestInFlight,
  event: Response,
  now: number,
): string | null {
  const { rate, pause, set } = state;
  const { id, job, sent, isPressed } = request;
  delete state.outages[job];
  delete state.refused[''];
  delete state.refused[job];
  if (id < state.firstIdSincePause) {
    learnNothing(state, request);
    return null;
  }
  if (pause?.probeId === id) resume(state, pause, now);
  const say = learnQuota(state, request, event, now);
  if (set.concurrency === null) learnConcurrency(state, sent);
  rate.accepted += 1;
  if (set.rate === null && isPressed) learnRate(state, now);
  return say;
}

/** One more in flight is tried after six accepted with all that is allowed; beside a refused number after many. */
function learnConcurrency({ concurrency: known }: State, sent: number): void {
  if (sent < known.allowed) return;
  known.streak += 1;
  const isNearRefused = known.refused !== null && known.allowed + 1 >= known.refused;
  if (known.streak >= (isNearRefused ? known.patience : 6) && known.allowed < MAX_IN_FLIGHT)
    Object.assign(known, { allowed: known.allowed + 1, streak: 0 });
}

/** Three times as many as there are datasets. */
const MAX_IN_FLIGHT = 16;

/** Until a first refusal it grows with each call; then 15 % more are tried after a long calm. */
function learnRate({ rate }: State, now: number): void {
  rate.calm += 1;
  if (rate.base === null) rate.perSecond = Math.min(10_000, 1.2 * rate.perSecond);
  else if (rate.calm >= Math.max(rate.patience, 60 * rate.perSecond))
    Object.assign(rate, {
      base: rate.perSecond,
      perSecond: 1.15 * rate.perSecond,
      calm: 0,
      sinceAt: now,
      accepted: 0,
    });
}

/** @returns what contradicts the settings, once. */
function learnQuota(
  state: State,
  { job, sentAt }: RequestInFlight,
  { limit, remaining }: RequestOutcome,
  now: number,
): string | null {
  const { set, pools, poolOf, spent, inFlight, said } = state;
  if (limit === null || remaining === null || remaining < 0 || remaining > limit) {
    const ledger = ledgerOf(state, job);
    if (ledger) acceptedWithoutHeader(ledger, now);
    if (poolOf[job] === undefined) state.silentCalls[job] = (state.silentCalls[job] ?? 0) + 1;
    return null;
  }
  const main = pools[''] as Ledger;
  poolOf[job] ??= main.hasHeader && main.limit !== limit ? job : '';
  const pool = poolOf[job];
  pools[pool] ??= initialLedger(now);
  const ledger = pools[pool];
  if (ledger.reset && sentAt < ledger.reset.beforeAt) {
    // Another response has overtaken it and showed a reset: what is left by this one may be from before.
    countCall(ledger);
  } else {
    if (pool === '') learnApart(state, ledger, remaining);
    readHeader(ledger, limit, remaining, inFlight.length, now);
  }
  if (!set.quota) return null;
  if (limit === set.quota.calls) {
    // What others took of the same quota, in the same period.
    const missing = limit - remaining - spentOf(spent.quota, set.quota, now) - inFlight.length;
    const isOfPeriod = nextPeriod(set.quota, sentAt) === nextPeriod(set.quota, now);
    if (missing > 0 && isOfPeriod) countSpent(spent.quota, missing, set.quota, now);
    return null;
  }
  if (said.limits.includes(limit)) return null;
  said.limits.push(limit);
  return otherLimit(set.quota.calls, limit);
}

/** Between two headers the pool fell by all calls of endpoints that do not report it, or by none of them. */
function learnApart(state: State, { left, hasHeader }: Ledger, remaining: number): void {
  const { silentCalls, apart } = state;
  state.silentCalls = {};
  if (left === null || !hasHeader) return;
  const counted = Object.entries(silentCalls).filter(([job]) => !isApart(apart, job));
  const callsOf = (jobs: [string, number][]) => jobs.reduce((sum, [, made]) => sum + made, 0);
  const [calls, uncounted] = [callsOf(counted), callsOf(Object.entries(silentCalls)) - callsOf(counted)];
  const rise = remaining - (left - 1);
  if (calls > 0 && rise === calls) for (const [job] of counted) apart[job] = (apart[job] ?? 0) + 1;
  else if (uncounted > 0 && rise === -uncounted) state.apart = {};
  else if (rise === 0) for (const [job] of counted) delete apart[job];
}

export const otherLimit = (set: number, limit: number) =>
  `the API's header names a quota of ${limit} calls, MARKET_API_QUOTA ${set}: both are kept`;

const LONGEST_PAUSE_MS = DAY_MS;
/** A refusal that lasts longer is not for the rate: a minute, and the second by which Retry-After is rounded. */
const LONGEST_FOR_RATE_MS = 62_000;
/** Where nothing says how long: until the usual windows of a rate are over, 1, 10 and 60 s; then twice as long each time. */
const FIRST_PAUSES_MS = [1_000, 9_000, 51_000];
const LATER_PAUSES = { firstMs: 61_000, longestMs: LONGEST_PAUSE_MS };

/** The first 429 begins a pause, that of the probe lengthens it. @returns what is to be said. */
function pauseAfter429(state: State, request: RequestInFlight, event: Response, now: number): string | null {
  const before = state.pause;
  const retryAfterMs = believedMs(event.retryAfterMs);
  if (before ? before.probeId !== request.id : request.id < state.firstIdSincePause) {
    // It was in flight already: several were refused together, so not for their number.
    if (before) {
      const cause = before.cause === 'concurrency' ? 'rate' : before.cause;
      Object.assign(before, { inFlight: 1, cause, until: Math.max(before.until, now + retryAfterMs) });
    }
    return null;
  }
  if (!before) state.firstIdSincePause = state.nextId;
  const pause: Pause = {
    sinceAt: before?.sinceAt ?? now,
    refusedAt: now,
    until: now,
    retryAfterMs,
    refusals: (before?.refusals ?? 0) + 1,
    inFlight: before ? 1 : request.peak,
    probeId: null,
    cause: 'rate',
  };
  state.pause = pause;
  const ledger = limitingLedger(state, request.job);
  const say = findCause(state, pause, ledger, before?.cause === 'quota', now);
  const { refusals } = pause;
  const ownMs =
    pause.cause === 'quota' && ledger
      ? Math.min(LONGEST_PAUSE_MS, Math.max(1_000, nextProbe(ledger) - now))
      : (FIRST_PAUSES_MS[refusals - 1] ?? doubledMs(refusals - FIRST_PAUSES_MS.length, LATER_PAUSES));
  pause.until = now + withJitter(retryAfterMs || ownMs, event.roll);
  return say;
}

/** What the refusal is for, of the limits that are not set. @returns what is to be said. */
function findCause(
  state: State,
  pause: Pause,
  ledger: Ledger | undefined,
  wasQuota: boolean,
  now: number,
): string | null {
  const { set, said, concurrency } = state;
  if (ledger && isSpent(ledger, pause, now)) {
    pause.cause = 'quota';
    ranOut(ledger, !wasQuota, now);
    return null;
  }
  if (set.concurrency === null && isOfConcurrency(pause, concurrency)) pause.cause = 'concurrency';
  if (!set.quota || !set.rate || set.concurrency === null) return null;
  const isSaid = isRefusedAnyway(state, now);
  said.refusedAt = now;
  return isSaid ? null : REFUSED_ANYWAY;
}

/** Whether the quota is most likely used up: by the header; without one, by the time or by an earlier count. */
function isSpent(ledger: Ledger, { sinceAt, retryAfterMs }: Pause, now: number): boolean {
  const { hasHeader, left, limit, used } = ledger;
  if (hasHeader) return (left ?? 1) <= Math.max(1, reserveOf(ledger));
  const isOverdue = now - sinceAt + retryAfterMs > LONGEST_FOR_RATE_MS;
  return isOverdue || (limit !== null && used >= 0.9 * limit);
}

/** Whether a call was refused in spite of the settings within a day: then it was said. */
export const isRefusedAnyway = ({ said: { refusedAt } }: State, now: number) =>
  refusedAt !== null && now - refusedAt < DAY_MS;

export const REFUSED_ANYWAY =
  'a call was refused (429) in spite of the limits that are set: does something else use the key, or is a limit lower?';

/** More were in flight than six calls in a row have proven. */
function isOfConcurrency({ inFlight }: Pause, { allowed, streak, refused }: State['concurrency']): boolean {
  return inFlight > 1 && inFlight >= allowed && streak < 6 && (refused === null || inFlight <= refused);
}

/** The probe was accepted. */
function resume(state: State, pause: Pause, now: number): void {
  const { rate, concurrency, set } = state;
  state.pause = null;
  if (pause.cause === 'concurrency') {
    if (concurrency.refused !== null) concurrency.patience *= 3;
    const refused = pause.inFlight;
    Object.assign(concurrency, { refused, allowed: Math.max(1, refused - 1), streak: 0 });
  } else if (pause.cause === 'rate' && !set.rate) slowDown(state, pause, now);
  Object.assign(rate, { nextAt: now, sinceAt: now, accepted: 0, calm: 0 });
}

/** A trial goes back to what lasted; else what was accepted, over the time with the recovery, is the rate; one a second if nothing was. */
function slowDown({ rate }: State, pause: Pause, now: number): void {
  const { perSecond, base, accepted } = rate;
  if (base !== null && perSecond > base)
    Object.assign(rate, { perSecond: base, patience: 3 * rate.patience });
  else if (base !== null && accepted < 10) rate.perSecond = 0.8 * perSecond;
  else {
    const seconds = Math.max(0.1, (pause.sinceAt - rate.sinceAt) / 1_000) + (now - pause.sinceAt) / 1_000;
    rate.perSecond = Math.min(0.95 * perSecond, accepted > 0 ? (0.95 * accepted) / seconds : 1);
  }
  rate.base = rate.perSecond;
}

/** Of requests that were in flight together, one refusal counts. */
function refuse(state: State, name: string, { id }: RequestInFlight, key: KeyMark | null, now: number): void {
  const known = state.refused[name];
  if (known && id < known.sinceId) return;
  const times = (known?.times ?? 0) + 1;
  state.refused[name] = { times, retryAt: now + refusedMs(name, times), sinceId: state.nextId };
  state.refusedKey = key;
}

const OUTAGE_PAUSES = { firstMs: 1_000, longestMs: 15 * MINUTE_MS };
/** A firewall may take calls too soon for another reason to block us. */
const BLOCK_PAUSES = { firstMs: MINUTE_MS, longestMs: HOUR_MS };

/** The endpoint waits, twice as long after each failure. Those in flight together are one failure. */
function beginOutage(state: State, { job, sentAt }: RequestInFlight, event: Response, now: number): void {
  const { roll, isBlocked = false } = event;
  const before = state.outages[job];
  const retryAfterMs = believedMs(event.retryAfterMs);
  const retryAfterUntil = retryAfterMs > 0 ? now + withJitter(retryAfterMs, roll) : now;
  if (before && (now < before.until || sentAt < before.until)) {
    before.retryAfterUntil = Math.max(before.retryAfterUntil, retryAfterUntil);
    before.until = Math.max(before.until, retryAfterUntil);
    return;
  }
  const failures = (before?.failures ?? 0) + 1;
  const ownMs = isBlocked
    ? withJitter(doubledMs(failures, BLOCK_PAUSES), roll)
    : doubledMs(failures, OUTAGE_PAUSES) * (1 + roll);
  state.outages[job] = {
    failures,
    until: Math.max(now + ownMs, retryAfterUntil),
    retryAfterUntil,
    isBlocked,
  };
}

/** A Retry-After in milliseconds, 0 for nonsense. More than a day is a ban that a person has to look at. */
function believedMs(ms: number | null): number {
  return ms !== null && Number.isFinite(ms) && ms > 0 ? Math.min(LONGEST_PAUSE_MS, Math.max(1_000, ms)) : 0;
}

/** A little later than told (a tenth, 0.25 to 5 s), so that processes that were refused together do not return together. */
function withJitter(ms: number, roll: number): number {
  return ms + roll * Math.min(5_000, Math.max(250, 0.1 * ms));
}
