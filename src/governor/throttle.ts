/** An answer 429 may mean the pace, the number under way, or the quota; the API does not say which. */

import type { Event } from './events.ts';
import * as pauses from './pause.ts';
import { atCountedLimit, exhausted, levelAt, type Quota } from './quota.ts';
import { nextQuotaProbe, reserveOf } from './quota-probe.ts';
import { forgivesSoon, hasSettled, LONG_RECOVERY_MS, recoveries } from './rate.ts';
import type { State } from './state.ts';

type Answer = Extract<Event, { type: 'answer' }>;

/** The first 429 begins a pause; one that answers the probe lengthens it; others were already under way. */
export function refused(state: State, event: Answer, now: number): State {
  const { pause } = state;
  if (pause && !pauses.isProbe(pause, event.owner, event.job)) return state;
  const next = pause ? pauses.lengthened(pause, now) : pauses.begun(event.inflight, now);
  const cause = suspect(state, next, now);
  const again = pause?.cause === 'quota';
  const quota = cause === 'quota' ? dried(state, next, again, now) : state.quota;
  const own = cause === 'quota' ? nextQuotaProbe(quota) - now : ownWait(state, next, now);
  const told = pauses.usableRetryAfter(event.retryAfterMs);
  const resumeAt = now + pauses.withJitter(told ?? Math.max(pauses.SHORTEST_MS, own), event.roll);
  const toldAt = told === null ? null : now + told;
  return { ...state, quota, pause: { ...next, cause, toldAt, toldMs: told ?? 0, resumeAt } };
}

/** Where calls were made as fast as may be, the pool had not been in use for longer than that takes. */
export function dried({ quota, rate }: State, pause: pauses.Pause, again: boolean, now: number): Quota {
  const usedAt = pause.sinceAt - (1_000 * quota.spent) / rate.perSecond;
  return exhausted(quota, { again, sinceAt: pause.sinceAt, usedAt }, now);
}

/** Where a pace is refused that lasted so far, it fell, or a quota ran dry that is not told: that takes longer. */
function ownWait({ rate, quota }: State, pause: pauses.Pause, now: number): number {
  const usual = recoveries(rate, now);
  const isUnexpected = quota.source !== 'header' && forgivesSoon(rate) && hasSettled(rate) && rate.calm > 20;
  return pauses.ownWait(pause, isUnexpected ? { ...usual, soon: 2 * LONG_RECOVERY_MS } : usual);
}

/** What a pause is most likely about, by all the evidence there is now. */
export function suspect(state: State, pause: pauses.Pause, now: number): pauses.Cause {
  const { quota, rate, concurrency } = state;
  // What was told and what is reckoned since: the more pessimistic of the two.
  const level = quota.level === null ? null : Math.min(quota.level, levelAt(quota, now) ?? 0);
  if (level !== null && level <= Math.max(1, reserveOf(quota))) return 'quota';
  const neverTookLong = forgivesSoon(rate) && pause.refusedMs > LONG_RECOVERY_MS;
  const lasting = pauses.lastsTooLongForRate(pause) || neverTookLong;
  if (quota.source !== 'header' && (lasting || (atCountedLimit(quota) && !rate.trial))) return 'quota';
  // One that is refused alone is not refused for their number.
  return pause.failures === 0 && pause.inflight > concurrency.proven ? 'concurrency' : 'rate';
}
