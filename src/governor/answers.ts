/** What each answer teaches: an accepted call of pace, number and quota; a refused one of what was met. */

import * as bounds from './bounds.ts';
import * as concurrency from './concurrency.ts';
import type { Event } from './events.ts';
import { failed } from './jobs.ts';
import * as leases from './leases.ts';
import { isProbe, type Pause, usableRetryAfter, withJitter } from './pause.ts';
import * as quotas from './quota.ts';
import * as rates from './rate.ts';
import { DAY_MS, HOUR_MS, type State, withJob } from './state.ts';
import { dried, refused, suspect } from './throttle.ts';

type Answer = Extract<Event, { type: 'answer' }>;
type Lost = Extract<Event, { type: 'lost' }>;

export function answer(before: State, event: Answer, now: number): State {
  const state = answered(before, event, now);
  switch (event.status) {
    case 401:
      return {
        ...spent(state, event),
        keyRefused: { sinceAt: now, probeAt: now + HOUR_MS },
        refusedKey: event.key,
      };
    case 403:
      return forbid({ ...spent(state, event), refusedKey: event.key }, event.job, now);
    case 429:
      return refused(state, { ...event, inflight: together(state, event) }, now);
    case 503:
      return unavailable(spent(state, event), event, usableRetryAfter(event.retryAfterMs), now);
  }
  return event.status >= 200 && event.status < 300 ? accepted(state, event, now) : spent(state, event);
}

/** No answer came: the call may or may not have been made. Where we stopped, the endpoint is not to blame. */
export function lost(state: State, event: Lost, now: number): State {
  const settled = { ...state, leases: leases.settle(state.leases, event.owner, 1, now) };
  const after = spent(settled, event);
  return event.stopped ? after : unavailable(after, event, null, now);
}

function answered(state: State, { owner, latencyMs }: Answer, now: number): State {
  const usual = state.latencyMs ?? latencyMs;
  return {
    ...state,
    latencyMs: usual + 0.1 * (latencyMs - usual),
    leases: leases.settle(state.leases, owner, 1, now),
  };
}

function accepted(before: State, event: Answer, now: number): State {
  const { pause } = before;
  const state = pause && isProbe(pause, event.owner, event.job) ? resume(before, pause, now) : before;
  const known = state.jobs[event.job];
  const seesQuota = known?.seesQuota || event.remaining !== null;
  return {
    ...(known ? withJob(state, event.job, { ...known, seesQuota, forbidden: null, outage: null }) : state),
    keyRefused: null,
    retryCredit: Math.min(MOST_CREDIT, state.retryCredit + CREDIT_PER_SUCCESS),
    rate: bounds.accepted(state.rate, now),
    concurrency: concurrency.accepted(state.concurrency, together(state, event)),
    quota: quotaAfter(state, event, now),
  };
}

/** The probe was accepted: the pause is over, and how it ended tells what it was about. */
function resume(state: State, pause: Pause, now: number): State {
  const cause = suspect(state, pause, now);
  const over = { ...state, pause: null };
  if (cause === 'rate') return { ...over, rate: bounds.throttled(state.rate, pause, now) };
  if (cause === 'quota')
    return { ...over, rate: rates.wasFastEnough(state.rate), quota: ranDry(state, pause) };
  return { ...over, concurrency: concurrency.refusedAt(state.concurrency, pause.inflight) };
}

/** It was the quota; where the API said how long to wait, more came at the end of that. */
function ranDry(state: State, pause: Pause): quotas.Quota {
  const { cause, sinceAt, toldAt } = pause;
  const emptyAt = toldAt === null ? sinceAt : toldAt - RETRY_AFTER_UNIT_MS;
  return dried(state, pause, cause === 'quota', Math.max(state.quota.asOfAt, emptyAt));
}

/** Retry-After counts in whole seconds. */
const RETRY_AFTER_UNIT_MS = 1_000;

function quotaAfter({ quota, leases: given }: State, event: Answer, now: number): quotas.Quota {
  const { job, limit, remaining } = event;
  const sound = limit !== null && remaining !== null && remaining >= 0 && remaining <= limit;
  return sound
    ? quotas.observe(quota, limit, remaining, leases.outstanding(given), now)
    : quotas.spend(quota, job, now);
}

/** The call counts as made, and tells nothing of the limits; if it was a probe, another may go. */
function spent(state: State, { owner, job }: { owner: string; job: string }): State {
  const { pause } = state;
  const freed = pause && isProbe(pause, owner, job) ? { ...pause, probe: null } : pause;
  return { ...state, pause: freed, quota: quotas.writeOff(state.quota, 1) };
}

/** A tenth of what succeeds may be spent on trying again what failed. */
const CREDIT_PER_SUCCESS = 0.1;
/** In calls: what a blip of some seconds costs, of five jobs with a second try each. */
const MOST_CREDIT = 10;

/** The endpoint alone is left in peace. */
function unavailable(
  state: State,
  { job, roll }: { job: string; roll: number },
  retryAfterMs: number | null,
  now: number,
): State {
  const known = state.jobs[job];
  const retryCredit = Math.max(0, state.retryCredit - 1);
  if (!known) return { ...state, retryCredit };
  const toldMs = retryAfterMs === null ? null : withJitter(retryAfterMs, roll);
  return { ...withJob(state, job, failed(known, { toldMs, roll }, now)), retryCredit };
}

function forbid(state: State, job: string, now: number): State {
  const known = state.jobs[job];
  if (!known) return state;
  return withJob(state, job, { ...known, forbidden: { sinceAt: now, probeAt: now + DAY_MS } });
}

/** Calls under way at once with this one, those of other processes included. */
function together({ leases: given }: State, { owner, inflight }: Answer): number {
  return inflight + leases.parallelOfOthers(given, owner);
}
