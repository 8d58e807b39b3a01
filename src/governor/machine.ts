/**
 * The governor: may this call be made now, and if not, when and why. A pure function of what is known, what
 * happens and the time; chance comes in with the events. docs/governor.md draws it.
 */

import type { WaitReason } from '../errors.ts';
import * as concurrency from './concurrency.ts';
import type { Decision, Event } from './events.ts';
import * as jobs from './jobs.ts';
import * as leases from './leases.ts';
import { nextLook, reserveOf } from './look.ts';
import { isApart } from './membership.ts';
import * as pauses from './pause.ts';
import * as quotas from './quota.ts';
import * as rates from './rate.ts';
import { isFurthestBehind, keptForOthers, sighted } from './share.ts';
import { onTime, type State } from './state.ts';
import { nextReset } from './window.ts';

type Ask = Extract<Event, { type: 'ask' }>;
type Answer = Extract<Event, { type: 'answer' }>;

const noted: Decision = { noted: true };
const BLIND_GRACE_MS = 2_000;
/** Whoever is further behind asks again within this time. */
const TURN_MS = 2_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function govern(before: State, event: Event, now: number): [State, Decision] {
  const state = writeOffSilent(onTime(before, now), now);
  switch (event.type) {
    case 'start':
      return [tryRefusedAgain(writeOff(state, event.owner)), noted];
    case 'gone':
      return [writeOff(state, event.owner), noted];
    case 'key':
      return [tryRefusedAgain(state), noted];
    case 'ask':
      return ask(meet(state, event, now), event, now);
    case 'answer':
      return [learn(answered(state, event, now), event, now), noted];
    case 'lost':
      return [lost(state, event, now), noted];
    case 'release':
      return [release(state, event, now), noted];
  }
}

// --- Leave ---------------------------------------------------------------------------------------------------

/** Each gate in turn; the first that is closed says when and why. */
function ask(state: State, event: Ask, now: number): [State, Decision] {
  const gates = [keyGate, jobGate, pauseGate, concurrencyGate, rateGate, quotaGate];
  let probing = state;
  let most = Math.min(event.want, rates.blockSize(state.rate));
  for (const gate of gates) {
    const passed = gate(probing, event, now);
    if (!('state' in passed)) return [state, passed];
    probing = passed.state;
    most = Math.min(most, passed.most ?? most);
  }
  const parallel =
    concurrency.allowedInFlight(state.concurrency) - leases.parallelOfOthers(state.leases, event.owner);
  const calls = Math.max(1, Math.floor(most));
  return [spend(probing, event, calls, parallel, now), { go: calls, parallel }];
}

/** Open, with the state as it is then and the most calls at once; or closed, with the decision. */
type Passed = { state: State; most?: number } | Decision;

function keyGate(state: State, _: Ask, now: number): Passed {
  const { keyRefused } = state;
  if (!keyRefused) return { state };
  if (now < keyRefused.probeAt) return { refused: 'key_refused', until: keyRefused.probeAt };
  return { state: { ...state, keyRefused: { ...keyRefused, probeAt: now + HOUR_MS } }, most: 1 };
}

function jobGate(state: State, { job }: Ask, now: number): Passed {
  const known = state.jobs[job];
  if (known?.outage && now < known.outage.resumeAt) return wait(known.outage.resumeAt, 'unavailable');
  if (!known?.forbidden) return { state, ...(known?.outage ? { most: 1 } : {}) };
  if (now < known.forbidden.probeAt) return { refused: 'forbidden', until: known.forbidden.probeAt };
  const forbidden = { ...known.forbidden, probeAt: now + DAY_MS };
  return { state: withJob(state, job, { ...known, forbidden }), most: 1 };
}

function pauseGate(state: State, { owner, job }: Ask, now: number): Passed {
  const { pause } = state;
  if (!pause) return { state };
  if (now < pause.resumeAt) return wait(pause.resumeAt, pauseReason(pause));
  // What is under way must come back first, so that the probe is one call alone.
  if (pauses.probeIsOut(pause, now) || leases.outstanding(state.leases) > 0)
    return wait(now + (state.latencyMs ?? 100), pauseReason(pause));
  return { state: { ...state, pause: { ...pause, probe: { owner, job, sentAt: now } } }, most: 1 };
}

function pauseReason(pause: pauses.Pause): WaitReason {
  return pause.told ? 'retry_after' : pause.cause;
}

function concurrencyGate(state: State, { owner }: Ask, now: number): Passed {
  const free = concurrency.allowedInFlight(state.concurrency) - leases.parallelOfOthers(state.leases, owner);
  return free >= 1 ? { state } : wait(now + (state.latencyMs ?? 100), 'concurrency');
}

function rateGate(state: State, _: Ask, now: number): Passed {
  const { freeAt } = state.rate;
  return freeAt <= now ? { state } : wait(freeAt, 'rate');
}

function quotaGate(state: State, { job }: Ask, now: number): Passed {
  const { quota } = state;
  const level = quotas.levelAt(quota, now);
  if (level === null || state.pause || isApart(quota.members, job)) return { state };
  const unanswered = leases.outstanding(state.leases);
  const left = level - unanswered - reserveOf(quota);
  const more = nextReset(quota.window, now);
  const free = left - keptForOthers(state.jobs, job, left, more && more - now, now);
  if (free >= 1) return { state, most: free };
  if (left >= 1)
    return isFurthestBehind(state.jobs, job, now) ? { state, most: 1 } : wait(now + TURN_MS, 'quota');
  // A look by a job whose answers tell what is left is worth more than one by a job whose answers do not.
  const look = nextLook(quota) + (sighted(state.jobs, job, quota.asOfAt) ? 0 : BLIND_GRACE_MS);
  if (now < look) return wait(look, level >= 1 ? 'reserve' : 'quota');
  if (unanswered > 0) return wait(now + (state.latencyMs ?? 100), 'reserve');
  return { state: { ...state, quota: { ...quota, lookedAt: now } }, most: 1 };
}

function wait(until: number, reason: WaitReason): Decision {
  return { wait: { until, reason } };
}

function spend(state: State, { owner, job }: Ask, calls: number, parallel: number, now: number): State {
  const known = state.jobs[job];
  return {
    ...state,
    jobs: known ? { ...state.jobs, [job]: jobs.use(known, calls, now) } : state.jobs,
    leases: leases.grant(state.leases, owner, calls, parallel, now),
    // A probe tells of the limit that was met, not of the pace.
    rate: state.pause ? state.rate : rates.takeSlots(state.rate, calls, now),
  };
}

function release(state: State, { owner, unused }: Extract<Event, { type: 'release' }>, now: number): State {
  const held = Math.min(unused, state.leases[owner]?.calls ?? 0);
  return {
    ...state,
    leases: leases.settle(state.leases, owner, held, now),
    rate: rates.giveBackSlots(state.rate, held, now),
  };
}

// --- Answers -------------------------------------------------------------------------------------------------

function answered(state: State, { owner, latencyMs }: Answer, now: number): State {
  const usual = state.latencyMs ?? latencyMs;
  return {
    ...state,
    latencyMs: usual + 0.1 * (latencyMs - usual),
    leases: leases.settle(state.leases, owner, 1, now),
  };
}

function learn(state: State, event: Answer, now: number): State {
  switch (event.status) {
    case 401:
      return { ...spent(state, event), keyRefused: { sinceAt: now, probeAt: now + HOUR_MS } };
    case 403:
      return forbid(spent(state, event), event.job, now);
    case 429:
      return throttled(state, event, now);
    case 503:
      return unavailable(
        spent(state, event),
        event.job,
        pauses.usableRetryAfter(event.retryAfterMs),
        event.roll,
        now,
      );
  }
  return event.status >= 200 && event.status < 300 ? accepted(state, event, now) : spent(state, event);
}

function accepted(state: State, event: Answer, now: number): State {
  const { pause } = state;
  const resumed = pause && pauses.isProbe(pause, event.owner, event.job) ? resume(state, pause, now) : state;
  const calm = {
    ...resumed,
    keyRefused: null,
    rate: rates.accepted(resumed.rate, now),
    concurrency: concurrency.accepted(resumed.concurrency, inflightOf(resumed, event)),
    quota: quotaAfter(resumed, event, now),
  };
  const known = calm.jobs[event.job];
  if (!known) return calm;
  const seesQuota = known.seesQuota || event.remaining !== null;
  return withJob(calm, event.job, { ...known, seesQuota, forbidden: null, outage: null });
}

function quotaAfter(state: State, { job, limit, remaining }: Answer, now: number): quotas.Quota {
  const { quota } = state;
  if (limit !== null && remaining !== null && remaining >= 0 && remaining <= limit)
    return quotas.observe(quota, limit, remaining, leases.outstanding(state.leases), now);
  return quotas.spend(quota, job, now);
}

/** The call counts as made, and tells nothing of the limits. */
function spent(state: State, event: { owner: string; job: string }): State {
  const { pause } = state;
  const freed = pause && pauses.isProbe(pause, event.owner, event.job) ? { ...pause, probe: null } : pause;
  return { ...state, pause: freed, quota: quotas.writeOff(state.quota, 1) };
}

function lost(state: State, event: Extract<Event, { type: 'lost' }>, now: number): State {
  const settled = { ...state, leases: leases.settle(state.leases, event.owner, 1, now) };
  return unavailable(spent(settled, event), event.job, null, event.roll, now);
}

function unavailable(
  state: State,
  job: string,
  retryAfterMs: number | null,
  roll: number,
  now: number,
): State {
  const known = state.jobs[job];
  return known ? withJob(state, job, jobs.failed(known, retryAfterMs, roll, now)) : state;
}

function forbid(state: State, job: string, now: number): State {
  const known = state.jobs[job];
  return known
    ? withJob(state, job, { ...known, forbidden: { sinceAt: now, probeAt: now + DAY_MS } })
    : state;
}

// --- 429 -----------------------------------------------------------------------------------------------------

/** The first 429 begins a pause; one that answers the probe lengthens it; others were already under way. */
function throttled(state: State, event: Answer, now: number): State {
  const { pause } = state;
  if (pause && !pauses.isProbe(pause, event.owner, event.job)) return state;
  const begun = pause ?? {
    sinceAt: now,
    failures: -1,
    inflight: inflightOf(state, event),
    code: event.errorCode?.slice(0, 64) ?? null,
  };
  const told = pauses.usableRetryAfter(event.retryAfterMs);
  const next = {
    ...begun,
    failures: begun.failures + 1,
    probe: null,
    told: told !== null,
    resumeAt: now,
    cause: 'rate' as const,
  };
  const cause = suspect(state, next, now);
  const quota =
    cause === 'quota' ? quotas.exhausted(state.quota, pause?.cause === 'quota', now) : state.quota;
  const ms =
    told ??
    (cause === 'quota'
      ? Math.max(1_000, nextLook(quota) - now)
      : pauses.ownWait(next.failures, state.rate.span.recovery ?? 0));
  return { ...state, quota, pause: { ...next, cause, resumeAt: now + pauses.withJitter(ms, event.roll) } };
}

/** What a pause is most likely about. */
function suspect(state: State, pause: pauses.Pause, now: number): pauses.Cause {
  const { quota, rate } = state;
  // What was told and what is reckoned since: the more pessimistic of the two.
  const level = quota.level === null ? null : Math.min(quota.level, quotas.levelAt(quota, now) ?? 0);
  const known = pauses.knownCause(state.verdicts, pause.code);
  if (known) return known;
  if (level !== null && level <= Math.max(1, reserveOf(quota))) return 'quota';
  const lasting = pauses.lastsTooLongForRate(pause, now) || (pause.failures > 1 && rates.forgivesSoon(rate));
  if (quota.source !== 'header' && (lasting || quotas.atCountedLimit(quota))) return 'quota';
  return pause.inflight > state.concurrency.proven ? 'concurrency' : 'rate';
}

/** The probe was accepted: the pause is over, and how long it took tells what it was about. */
function resume(state: State, pause: pauses.Pause, now: number): State {
  const cause = suspect(state, pause, now);
  const verdicts = pauses.noteVerdict(state.verdicts, pause.code, cause);
  const over = { ...state, pause: null, verdicts };
  if (cause === 'concurrency')
    return { ...over, concurrency: concurrency.refusedAt(state.concurrency, pause.inflight) };
  return cause === 'rate' ? { ...over, rate: rates.objected(state.rate, pause.sinceAt, now) } : over;
}

// --- Upkeep --------------------------------------------------------------------------------------------------

/** Who asks is known from then on. */
function meet(state: State, { job, age, target, weight }: Ask, now: number): State {
  const standing = { age: Math.min(age, 365 * DAY_MS), target: Math.min(target, 365 * DAY_MS), weight };
  const known = state.jobs[job] ?? jobs.newJob(standing, now);
  return withJob(state, job, { ...known, standing: { ...standing, askedAt: now } });
}

function inflightOf(state: State, { owner, inflight }: Answer): number {
  return inflight + leases.parallelOfOthers(state.leases, owner);
}

function withJob(state: State, job: string, changed: jobs.JobState): State {
  return { ...state, jobs: { ...state.jobs, [job]: changed } };
}

/** A person who starts a command, or changes the key, gets one try. */
function tryRefusedAgain(state: State): State {
  const allowed = Object.entries(state.jobs).map(([name, job]) => [name, { ...job, forbidden: null }]);
  return { ...state, keyRefused: null, jobs: Object.fromEntries(allowed) };
}

/** Calls whose end nobody will tell count as made. */
function writeOff(state: State, owner: string): State {
  const calls = state.leases[owner]?.calls ?? 0;
  return calls === 0
    ? state
    : { ...state, leases: leases.without(state.leases, owner), quota: quotas.writeOff(state.quota, calls) };
}

function writeOffSilent(state: State, now: number): State {
  return leases.silentOwners(state.leases, now).reduce(writeOff, state);
}
