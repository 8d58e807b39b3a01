/** Who asks for permits meets six gates in turn; the first that is closed says when to ask again, and why. */

import type { WaitReason } from '../errors.ts';
import * as concurrency from './concurrency.ts';
import type { Decision, Event } from './events.ts';
import { type JobState, newJob } from './jobs.ts';
import * as leases from './leases.ts';
import { isApart } from './membership.ts';
import { probed, reasonOf } from './pause.ts';
import { levelAt } from './quota.ts';
import { nextQuotaProbe, reserveOf } from './quota-probe.ts';
import * as rates from './rate.ts';
import { DAY_MS, HOUR_MS, type State, withJob } from './state.ts';

type Ask = Extract<Event, { type: 'ask' }>;
type Release = Extract<Event, { type: 'release' }>;
type Outage = NonNullable<JobState['outage']>;

/** Open, with the state as it is then and the most calls at once; or closed, with the decision. */
type Passage = { state: State; most?: number } | Decision;

const gates = [keyGate, jobGate, pauseGate, quotaGate, concurrencyGate, rateGate];

export function ask(before: State, event: Ask, now: number): [State, Decision] {
  const known = meet(before, event, now);
  let state = known;
  let most = Math.min(event.want, rates.blockSize(state.rate));
  for (const gate of gates) {
    const passage = gate(state, event, now);
    if (!('state' in passage)) return [known, passage];
    state = passage.state;
    most = Math.min(most, passage.most ?? most);
  }
  const calls = Math.max(1, Math.floor(most));
  return [take(state, event, calls, now), { go: calls, parallel: freeOfOthers(state, event.owner) }];
}

function keyGate(state: State, _: Ask, now: number): Passage {
  const { keyRefused } = state;
  if (!keyRefused) return { state };
  if (now < keyRefused.probeAt) return { refused: 'key_refused', until: keyRefused.probeAt };
  return { state: { ...state, keyRefused: { ...keyRefused, probeAt: now + HOUR_MS } }, most: 1 };
}

function jobGate(state: State, { job }: Ask, now: number): Passage {
  const known = state.jobs[job];
  if (!known) return { state };
  const { forbidden, outage } = known;
  if (forbidden && now < forbidden.probeAt) return { refused: 'forbidden', until: forbidden.probeAt };
  const passage = outage ? retryGate(state, outage, now) : { state };
  if (!('state' in passage) || !forbidden) return passage;
  const tried = { ...known, forbidden: { ...forbidden, probeAt: now + DAY_MS } };
  return { state: withJob(passage.state, job, tried), most: 1 };
}

/** Long enough that an outage costs one call a minute at most, short enough that its end is soon noticed. */
const UNPAID_RETRY_MS = 60_000;

/** What failed is tried again by one call, where successes have paid for it, or where nobody tried for a minute. */
function retryGate(state: State, { resumeAt }: Outage, now: number): Passage {
  if (now < resumeAt) return wait(resumeAt, 'unavailable');
  if (state.retryCredit >= 1) return { state, most: 1 };
  if (now < state.unpaidAt) return wait(state.unpaidAt, 'unavailable');
  return { state: { ...state, unpaidAt: now + UNPAID_RETRY_MS }, most: 1 };
}

/** While a pause is on, nobody goes; when it is over, one call alone goes to see. */
function pauseGate(state: State, { owner, job }: Ask, now: number): Passage {
  const { pause } = state;
  if (!pause) return { state };
  if (now < pause.resumeAt) return wait(pause.resumeAt, reasonOf(pause));
  if (leases.outstanding(state.leases) > 0) return wait(soon(state, now), reasonOf(pause));
  return { state: { ...state, pause: probed(pause, { owner, job }, now) }, most: 1 };
}

/** Above the reserve calls go; at the reserve, now and then a quota probe. */
function quotaGate(state: State, { job }: Ask, now: number): Passage {
  const { quota } = state;
  const level = levelAt(quota, now);
  if (level === null || state.pause || isApart(quota.members, job)) return { state };
  const unanswered = leases.outstanding(state.leases);
  const left = level - unanswered - reserveOf(quota);
  if (left >= 1) return { state, most: left };
  // A quota probe by a job whose answers tell what is left is worth more than one by a job whose answers do not.
  const next = nextQuotaProbe(quota) + (sighted(state, job) ? 0 : BLIND_GRACE_MS);
  const reason = level >= 1 ? 'reserve' : 'quota';
  const isProbing = unanswered > 0 && quota.probedAt > quota.asOfAt;
  if (now < next && !isProbing) return wait(next, reason);
  if (unanswered > 0) return wait(soon(state, now), reason);
  const rate = rates.wasFastEnough(state.rate);
  return { state: { ...state, rate, quota: { ...quota, probedAt: now, dueAt: null } }, most: 1 };
}

/** Whether no job that sees the quota better than this one has been waiting since it was last seen. */
function sighted({ jobs, quota }: State, asking: string): boolean {
  const better = Object.values(jobs).some((job) => job.seesQuota && job.askedAt > quota.asOfAt);
  return jobs[asking]?.seesQuota === true || !better;
}

function concurrencyGate(state: State, { owner }: Ask, now: number): Passage {
  return freeOfOthers(state, owner) >= 1 ? { state } : wait(soon(state, now), 'concurrency');
}

function rateGate(state: State, _: Ask, now: number): Passage {
  const { freeAt } = state.rate;
  return freeAt <= now ? { state } : wait(freeAt, 'rate');
}

/** Asking again costs a transaction. */
const LEAST_WAIT_MS = 10;
/** Who waits asks again within three seconds: in two, one that sees will have asked. */
const BLIND_GRACE_MS = 2_000;

function wait(until: number, reason: WaitReason): Decision {
  return { wait: { until, reason } };
}

/** About when something under way will have been answered. */
function soon({ latencyMs }: State, now: number): number {
  return now + Math.max(LEAST_WAIT_MS, latencyMs ?? 100);
}

function freeOfOthers({ concurrency: learnt, leases: given }: State, owner: string): number {
  return concurrency.allowedInFlight(learnt) - leases.parallelOfOthers(given, owner);
}

/** Who asks is known from then on. */
function meet(state: State, { job }: Ask, now: number): State {
  return withJob(state, job, { ...(state.jobs[job] ?? newJob(now)), askedAt: now });
}

function take(state: State, { owner }: Ask, calls: number, now: number): State {
  return {
    ...state,
    leases: leases.grant(state.leases, owner, calls, freeOfOthers(state, owner), now),
    // A probe tells of the limit that was met, not of the pace.
    rate: state.pause ? state.rate : rates.takeSlots(state.rate, calls, now),
  };
}

export function release(state: State, { owner, unused }: Release, now: number): State {
  const held = Math.min(unused, state.leases[owner]?.calls ?? 0);
  return {
    ...state,
    leases: leases.settle(state.leases, owner, held, now),
    rate: rates.giveBackSlots(state.rate, held, now),
  };
}
