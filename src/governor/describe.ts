/** Describes the governor's state for people: what is set, what was learnt, and why requests wait. Times in epoch milliseconds. */

import { type WaitReason, waitReasons } from '../base/errors.ts';
import type { CallLimit } from '../config/values.ts';
import { duration, number } from '../output/numbers.ts';
import { type Ledger, nextReset, periodOf, reserveOf } from './ledger.ts';
import { isApart, isRefusedAnyway, otherLimit, REFUSED_ANYWAY, reasonOf } from './machine.ts';
import { draftOf, readState, type State } from './state.ts';
import { nextPeriod, spentOf } from './window.ts';

export type Description = {
  quota: Pool & {
    /** Jobs whose calls were seen not to lower it. */
    apart: string[];
    /** Another limit that the header names beside the one that is set: both hold. */
    other: Pool | null;
  };
  /** Null while no limit was felt. */
  rate: { perSecond: number | null; source: Source; evidence: string };
  concurrency: { allowed: number; source: Source; evidence: string };
  waits: Wait[];
  /** What contradicts the settings. */
  notes: string[];
};

export type Source = 'set' | 'header' | 'count' | 'learnt' | null;

export type Pool = {
  limit: number | null;
  remaining: number | null;
  /** When that was last said or counted. */
  asOf: number | null;
  source: Source;
  /** Calls kept to see when more come. */
  reserve: number;
  resets: Resets;
};

/** `says` follows a semicolon: `resets at 00:00 UTC (set)`. `at`: the next one, at the latest. */
export type Resets = {
  known: 'set' | 'seen' | 'no';
  at: number | null;
  everyMs: number | null;
  says: string;
};

/** `job` is null where all jobs wait. */
type Wait = { job: string | null; until: number; reason: WaitReason | 'forbidden'; why: string };

/** A kept state that is damaged or of another version knows nothing. */
export function describeKept(kept: unknown, now: number): Description {
  return describe(draftOf(readState(kept, now), now), now);
}

export function describe(state: State, now: number): Description {
  const { set, pools, apart, rate, concurrency } = state;
  const main = pools[''] as Ledger;
  const learnt = describeLedger(main, now);
  const isOther = set.quota !== null && main.hasHeader && main.limit !== set.quota.calls;
  const allowed = set.concurrency ?? concurrency.allowed;
  return {
    quota: {
      ...(set.quota ? describeSet(set.quota, state, now) : learnt),
      apart: Object.keys(apart).filter((job) => isApart(apart, job)),
      other: isOther ? learnt : null,
    },
    rate: set.rate
      ? { perSecond: (1_000 * set.rate.calls) / set.rate.periodMs, source: 'set', evidence: 'set' }
      : rate.base === null
        ? { perSecond: null, source: null, evidence: 'no limit was met yet' }
        : { perSecond: rate.perSecond, source: 'learnt', evidence: 'measured at a refusal' },
    concurrency: {
      allowed,
      source: set.concurrency !== null ? 'set' : concurrency.refused === null ? null : 'learnt',
      evidence:
        set.concurrency !== null
          ? 'set'
          : concurrency.refused === null
            ? 'more were not refused yet'
            : `${concurrency.refused} at once were refused`,
    },
    waits: [...accountWaits(state, now), ...jobWaits(state, now)],
    notes: [...otherLimits(state), ...(isRefusedAnyway(state, now) ? [REFUSED_ANYWAY] : [])],
  };
}

/** Of any endpoint's header, those that are not what is set. */
function otherLimits({ set: { quota }, pools }: State): string[] {
  if (!quota) return [];
  const named = Object.values(pools).flatMap(({ hasHeader, limit }) =>
    hasHeader && limit !== null ? [limit] : [],
  );
  return [...new Set(named)]
    .filter((limit) => limit !== quota.calls)
    .map((limit) => otherLimit(quota.calls, limit));
}

function describeSet(limit: CallLimit, { spent, inFlight, seenAt }: State, now: number): Pool {
  const { calls, periodMs, startMs } = limit;
  const remaining = Math.max(0, calls - spentOf(spent.quota, limit, now) - inFlight.length);
  const at = nextPeriod(limit, now);
  const start = startMs === null ? '' : `${new Date(startMs).toISOString().slice(11, 16)} UTC`;
  const says =
    at === null
      ? `each call comes back after ${duration(periodMs)} (set)`
      : periodMs === 86_400_000
        ? `resets at ${start} (set)`
        : `resets every ${duration(periodMs)} from ${start} on (set)`;
  const resets: Resets = { known: 'set', at, everyMs: periodMs, says };
  return { limit: calls, remaining, asOf: seenAt, source: 'set', reserve: 0, resets };
}

function describeLedger(ledger: Ledger, now: number): Pool {
  const { limit, left, knownAt, hasHeader, resets } = ledger;
  const period = periodOf(ledger);
  const times = resets === 2 ? 'twice' : `${number(resets)} times`;
  return {
    ...{ limit: left === null ? null : limit, remaining: left, asOf: left === null ? null : knownAt },
    source: left === null ? null : hasHeader ? 'header' : 'count',
    reserve: reserveOf(ledger),
    // No figure before it is known: somebody would plan by a guess.
    resets:
      period === null
        ? { known: 'no', at: null, everyMs: null, says: 'when it resets is not known yet' }
        : {
            ...{ known: 'seen', at: nextReset(ledger, now), everyMs: period },
            says: `resets about every ${duration(period)} (seen ${times})`,
          },
  };
}

function accountWaits({ refused, pause }: State, now: number): Wait[] {
  const waits: Wait[] = [];
  if (refused['']) {
    const why = 'the API refused the key; one call an hour tries it again, and doctor at once';
    waits.push({ job: null, until: refused[''].retryAt, reason: 'key_refused', why });
  }
  if (pause && pause.until > now) {
    const by = pause.retryAfterMs > 0 ? 'the API said for how long' : `most likely for its ${pause.cause}`;
    const why = `the API answered 429${inARow(pause.refusals)}: ${by}`;
    waits.push({ job: null, until: pause.until, reason: reasonOf(pause), why });
  }
  return waits;
}

const inARow = (times: number) => (times > 1 ? ` ${times} times in a row` : '');

function jobWaits({ refused, outages }: State, now: number): Wait[] {
  const forbidden = Object.entries(refused).flatMap(([job, { times, retryAt }]): Wait[] => {
    const next = times > 1 ? 'one call a day tries again' : 'one call tries again then';
    const why = `the key lacks the scope, or may not be used from this address; ${next}, and doctor at once`;
    return job === '' ? [] : [{ job, until: retryAt, reason: 'forbidden', why }];
  });
  const failing = Object.entries(outages).flatMap(([job, { failures, until, isBlocked }]): Wait[] => {
    if (until <= now || refused[job]) return [];
    const why = isBlocked ? waitReasons.blocked : 'the endpoint was unavailable';
    return [{ job, until, reason: isBlocked ? 'blocked' : 'unavailable', why: why + inARow(failures) }];
  });
  return [...forbidden, ...failing];
}
