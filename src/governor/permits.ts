/** Who asks for permits meets seven gates in turn; the first that is closed says when to ask again, and why. */

import type { WaitReason } from '../errors.ts';
import { giveStakes, takeStakesBack } from './ahead.ts';
import { mostAhead } from './ample.ts';
import { allowedInFlight, mostOfOne } from './concurrency.ts';
import type { Decision, EventOf } from './events.ts';
import * as paces from './pace.ts';
import { reasonOf, startProbe } from './pause.ts';
import { isApart, levelAt, writeOff } from './quota.ts';
import { nextQuotaProbe, reserveOf } from './quota-probe.ts';
import { DAY_MS, HOUR_MS, type JobState, type Lease, type State } from './state.ts';

type Ask = EventOf<'ask'>;

/** Open for at most so many calls, with what is noted where all gates are; or closed, with the decision. */
type Passage = { open: number; note?: () => void } | Decision;

const open: Passage = { open: Number.POSITIVE_INFINITY };
/** One call goes to see whether a refusal is over. */
const one = (note: () => void): Passage => ({ open: 1, note });
const wait = (until: number, reason: WaitReason): Passage => ({ wait: { until, reason } });

/** Long enough that an outage costs one call a minute at most, short enough that its end is soon noticed. */
const UNPAID_RETRY_MS = 60_000;
/** Asking again costs a transaction. */
const LEAST_WAIT_MS = 10;
/** What an answer takes where none has come yet. */
const USUAL_LATENCY_MS = 100;
/** Who waits asks again within three seconds: in two, one that sees will have asked. */
const BLIND_GRACE_MS = 2_000;
/** No call takes longer than its deadline of a minute; a process silent for two is gone. */
const OWNER_TTL_MS = 120_000;
/** Hardly any answer takes longer. */
const QUIET_MS = 10_000;

const gates = [keyGate, scopeGate, outageGate, pauseGate, quotaGate, concurrencyGate, rateGate];

export function ask(state: State, event: Ask, now: number): Decision {
  jobOf(state, event.job, now).askedAt = now;
  const others = parallelOfOthers(state, event.owner);
  const ahead = mostAhead(state, event, others, outstanding(state), now);
  // Nobody waits for it, nor is it any use as a probe.
  if (event.isAhead && ahead === 0) return { wait: { until: now, reason: 'quota' } };
  const passages: Exclude<Passage, Decision>[] = [];
  for (const gate of gates) {
    const passage = gate(state, event, now);
    if (!('open' in passage)) return passage;
    passages.push(passage);
  }
  for (const { note } of passages) note?.();
  const most = Math.min(event.want, paces.blockSize(state.rate), ...passages.map(({ open }) => open));
  const go = Math.max(1, Math.floor(most));
  const parallel = freeOfOthers(state, event.owner);
  const stakes = giveStakes(state.ahead, ahead - (event.staked ?? 0), now);
  const held = state.leases[event.owner]?.calls ?? 0;
  state.leases[event.owner] = { calls: held + go, parallel, underWay: event.underWay, heardAt: now };
  // A probe tells of the limit that was met, not of the pace.
  if (!state.pause) paces.takeSlots(state.rate, go, now);
  const parallelAhead = mostOfOne(state.concurrency) - others;
  return { go, parallel, others, stakes, parallelAhead, answersBefore: state.quota.answers };
}

/** What is known of a job: who asks is known from then on. */
function jobOf({ jobs }: State, job: string, now: number): JobState {
  jobs[job] ??= { forbidden: null, outage: null, seesQuota: false, askedAt: now };
  return jobs[job];
}

function keyGate({ keyRefused }: State, _: Ask, now: number): Passage {
  return refusalGate(keyRefused, 'key_refused', HOUR_MS, now);
}

function scopeGate(state: State, { job }: Ask, now: number): Passage {
  return refusalGate(jobOf(state, job, now).forbidden, 'forbidden', DAY_MS, now);
}

/** What the API refuses is tried by one call each time that `everyMs` has passed. */
function refusalGate(
  denied: { probeAt: number } | null,
  refused: 'key_refused' | 'forbidden',
  everyMs: number,
  now: number,
): Passage {
  if (!denied) return open;
  if (now < denied.probeAt) return { refused, until: denied.probeAt };
  return one(() => {
    denied.probeAt = now + everyMs;
  });
}

/** What failed is tried again by one call, where successes have paid for it, or where nobody tried for a minute. */
function outageGate(state: State, { job }: Ask, now: number): Passage {
  const { outage } = jobOf(state, job, now);
  if (!outage) return open;
  if (now < outage.resumeAt) return wait(outage.resumeAt, 'unavailable');
  if (state.retryCredit >= 1) return { open: 1 };
  if (now < state.unpaidAt) return wait(state.unpaidAt, 'unavailable');
  return one(() => {
    state.unpaidAt = now + UNPAID_RETRY_MS;
  });
}

/** While a pause is on, nobody goes; when it is over, one call alone goes to see. */
function pauseGate(state: State, { owner, job }: Ask, now: number): Passage {
  const { pause } = state;
  if (!pause) return open;
  if (now < pause.resumeAt) return wait(pause.resumeAt, reasonOf(pause));
  if (outstanding(state) > 0) return wait(soon(state, now), reasonOf(pause));
  return one(() => startProbe(pause, { owner, job }, now));
}

/** Above the reserve calls go; at the reserve, now and then a quota probe. */
function quotaGate(state: State, { job }: Ask, now: number): Passage {
  const { quota } = state;
  const level = levelAt(quota, now);
  if (level === null || state.pause || isApart(quota, job)) return open;
  const unanswered = outstanding(state);
  const left = level - unanswered - reserveOf(quota);
  if (left >= 1) return { open: left };
  // A quota probe by a job whose answers tell what is left is worth more than one by a job whose answers do not.
  const next = nextQuotaProbe(quota) + (isBestToSee(state, job) ? 0 : BLIND_GRACE_MS);
  const reason = level >= 1 ? 'reserve' : 'quota';
  const isProbing = unanswered > 0 && quota.probedAt > quota.asOfAt;
  if (now < next && !isProbing) return wait(next, reason);
  if (unanswered > 0) return wait(soon(state, now), reason);
  return one(() => {
    // While calls wait for quota, a faster pace would be of no use.
    state.rate.calm = 0;
    quota.probedAt = now;
    quota.dueAt = null;
  });
}

/** Whether no job that sees the quota better than this one has been waiting since it was last seen. */
function isBestToSee({ jobs, quota }: State, asking: string): boolean {
  if (jobs[asking]?.seesQuota) return true;
  return !Object.values(jobs).some((job) => job.seesQuota && job.askedAt > quota.asOfAt);
}

function concurrencyGate(state: State, { owner }: Ask, now: number): Passage {
  return freeOfOthers(state, owner) >= 1 ? open : wait(soon(state, now), 'concurrency');
}

function rateGate({ rate }: State, _: Ask, now: number): Passage {
  return rate.freeAt <= now ? open : wait(rate.freeAt, 'rate');
}

/** About when something under way will have been answered. */
function soon({ latencyMs }: State, now: number): number {
  return now + Math.max(LEAST_WAIT_MS, latencyMs ?? USUAL_LATENCY_MS);
}

function freeOfOthers(state: State, owner: string): number {
  return allowedInFlight(state.concurrency) - parallelOfOthers(state, owner);
}

/** How many calls the other processes may have under way at once. */
export function parallelOfOthers(state: State, owner: string): number {
  return sumOfOthers(state, owner, ({ calls, parallel }) => Math.min(calls, parallel));
}

/** How many they have, by what each was about to send when it asked last. */
export function underWayOfOthers(state: State, owner: string): number {
  return sumOfOthers(state, owner, ({ calls, underWay }) => Math.min(calls, underWay));
}

function sumOfOthers({ leases }: State, owner: string, of: (lease: Lease) => number): number {
  return Object.entries(leases).reduce((sum, [name, lease]) => (name === owner ? sum : sum + of(lease)), 0);
}

/** Calls that may be made or answered at any moment. */
export function outstanding({ leases }: State): number {
  return Object.values(leases).reduce((sum, { calls }) => sum + calls, 0);
}

/** `calls` of a process were answered or given back. */
export function settle({ leases }: State, owner: string, calls: number, now: number): void {
  const held = leases[owner];
  if (!held) return;
  held.calls -= calls;
  held.heardAt = now;
  if (held.calls <= 0) delete leases[owner];
}

/** The lease of a process is what it says itself. */
export function hold(
  state: State,
  { owner, calls, parallel, underWay }: EventOf<'holds'>,
  now: number,
): void {
  if (calls > 0) state.leases[owner] = { calls, parallel, underWay, heardAt: now };
  else delete state.leases[owner];
}

/** Permits for `unused` calls are given back, and stakes. */
export function release(state: State, { owner, unused, stakes = 0 }: EventOf<'release'>, now: number): void {
  takeStakesBack(state.ahead, stakes, now);
  const held = Math.min(unused, state.leases[owner]?.calls ?? 0);
  settle(state, owner, held, now);
  paces.giveBackSlots(state.rate, held, now);
}

/** Nobody will say how the calls of a process that is gone ended: they count as made. */
export function writeOffOwner({ leases, quota }: State, owner: string): void {
  writeOff(quota, leases[owner]?.calls ?? 0);
  delete leases[owner];
}

/**
 * Permits of processes that have been silent for a while, where nobody else may go because of them: until when that can last at
 * most. A call may take a minute; but who waits wants to know for whom.
 */
export function heldUp(
  state: State,
  now: number,
): { owners: string[]; until: number; reason: WaitReason } | null {
  const silent = Object.entries(state.leases).filter(([, { heardAt }]) => now - heardAt > QUIET_MS);
  const until = Math.max(...silent.map(([, { heardAt }]) => heardAt + OWNER_TTL_MS));
  if (!(until > now)) return null;
  const reason = shutByPermits(state, now);
  return reason && { owners: silent.map(([owner]) => owner), until, reason };
}

/** Which gate is shut only because calls that were allowed have not been answered yet. */
function shutByPermits(state: State, now: number): WaitReason | null {
  const { pause, quota, concurrency } = state;
  const unanswered = outstanding(state);
  if (pause) return pause.resumeAt <= now && unanswered > 0 ? reasonOf(pause) : null;
  if (parallelOfOthers(state, '') >= allowedInFlight(concurrency)) return 'concurrency';
  const level = levelAt(quota, now);
  if (level === null) return null;
  const left = level - reserveOf(quota);
  return left >= 1 && left - unanswered < 1 ? 'reserve' : null;
}

/** Processes not heard of for so long that none of their calls can still be under way. */
export function silentOwners({ leases }: State, now: number): string[] {
  return Object.keys(leases).filter((owner) => now - (leases[owner]?.heardAt ?? 0) > OWNER_TTL_MS);
}
