/** Describes the governor's state for people: what it knows, how sure it is and why, and why requests wait. */

import ms from 'ms';
import { HOUR_MS } from '../clock.ts';
import { type WaitReason, waitReasons } from '../errors.ts';
import { allowedInFlight } from './concurrency.ts';
import { reasonOf } from './pause.ts';
import { blockedBySilence } from './permits.ts';
import { isApart, levelAt, type Quota, unexplainedRate } from './quota.ts';
import { nextReset, periodOf, type Window } from './quota-period.ts';
import { reserveOf } from './quota-probe.ts';
import { hasSettled, type Rate } from './rate.ts';
import { onTime, readState, type State } from './state.ts';

type Confidence = 'none' | 'guess' | 'likely' | 'sure';

/** Times in epoch milliseconds, durations in milliseconds, rates in the unit of their name. */
export type Description = {
  quota: {
    limit: number | null;
    remaining: number | null;
    /** When the API last reported `remaining`, or it was counted. */
    asOf: number | null;
    source: Quota['source'];
    /** Calls kept to see when more come. */
    reserve: number;
    refill: Refill;
    /** Other users' calls on the account; 0 where nothing points to any. */
    othersPerHour: number;
    /** Jobs seen not to draw on this quota. */
    apart: string[];
  };
  /** `perSecond` is null while no limit was felt. */
  rate: { perSecond: number | null; confidence: Confidence; evidence: string };
  concurrency: { allowed: number; confidence: Confidence; evidence: string };
  waits: Wait[];
};

type Refill = { confidence: Confidence; evidence: string } & (
  | { kind: 'window'; periodMs: number; nextBy: number }
  | { kind: 'trickle'; perHour: number }
  | { kind: 'unknown' }
);

/** `job` is null where all jobs wait. */
type Wait = { job: string | null; until: number; reason: WaitReason | 'forbidden'; why: string };

/** The same for a kept state; one that is damaged or of another version knows nothing. */
export function describeKept(kept: unknown, now: number): Description {
  const state = onTime(readState(kept), now);
  const described = describe(state, now);
  // On one machine the next question finds out which processes have ended.
  const isShared = typeof kept === 'object' && kept !== null && 'account' in kept;
  return isShared ? { ...described, waits: [...described.waits, ...waitsForOthers(state, now)] } : described;
}

export function describe(state: State, now: number): Description {
  const { quota } = state;
  const trickle = unexplainedRate(quota);
  const level = levelAt(quota, now);
  return {
    quota: {
      limit: quota.limit,
      remaining: level === null ? null : Math.floor(level),
      asOf: quota.asOfAt || null,
      source: quota.source,
      reserve: reserveOf(quota),
      refill: describeRefill(quota, trickle, now),
      othersPerHour: Math.round(Math.max(0, -trickle) * HOUR_MS),
      apart: Object.keys(quota.members).filter((job) => isApart(quota, job)),
    },
    rate: describeRate(state.rate),
    concurrency: describeConcurrency(state),
    waits: [...accountWaits(state, now), ...jobWaits(state, now)],
  };
}

function describeRefill({ window, unexplained, asOfAt }: Quota, trickle: number, now: number): Refill {
  if (trickle > 0) {
    const evidence = `${Math.round(unexplained.calls)} calls came back in ${ms(asOfAt - unexplained.sinceAt)}`;
    return { kind: 'trickle', perHour: trickle * HOUR_MS, confidence: 'likely', evidence };
  }
  const nextBy = nextReset(window, now);
  const evidence = evidenceOf(window, asOfAt);
  // No figure before it is known: somebody would plan by a guess.
  const { least, most, sure } = periodOf(window);
  if (nextBy === null || !sure) return { kind: 'unknown', confidence: 'none', evidence };
  return { kind: 'window', periodMs: (least + most) / 2, nextBy, confidence: 'sure', evidence };
}

function evidenceOf({ last, least, most, periods, quietSinceAt }: Window, asOfAt: number): string {
  if (last === null)
    return quietSinceAt && asOfAt > quietSinceAt
      ? `it did not reset in ${ms(asOfAt - quietSinceAt)}`
      : 'nothing was seen of it yet';
  if (most === null) return 'it was seen to reset, and not yet how long that takes';
  const times = periods > 1 ? `${periods + 1} times` : 'twice';
  return `it was seen to reset ${times}, ${ms(Math.round(least))} to ${ms(Math.round(most))} apart`;
}

function describeRate(rate: Rate): Description['rate'] {
  const { opening, least, most, perSecond } = rate;
  if (!opening) return { perSecond: null, confidence: 'none', evidence: 'the API never throttled' };
  const between = `${least.toFixed(2)} a second lasted${most === null ? '' : `, ${most.toFixed(2)} did not`}`;
  return {
    perSecond,
    confidence: hasSettled(rate) ? 'sure' : 'guess',
    evidence: least > 0 ? between : 'the API throttled once, and the pace is being measured',
  };
}

function describeConcurrency({ concurrency }: State): Description['concurrency'] {
  const { proven, refused } = concurrency;
  const evidence =
    refused === null
      ? `${proven} at once were accepted; more were never refused`
      : `${refused} at once were refused; ${proven} are proven`;
  return {
    allowed: allowedInFlight(concurrency),
    confidence: refused === null ? 'none' : 'likely',
    evidence,
  };
}

function accountWaits({ keyRefused, pause }: State, now: number): Wait[] {
  const waits: Wait[] = [];
  if (keyRefused) {
    const why = 'the API refused the key; one call an hour tries it again, and doctor at once';
    waits.push({ job: null, until: keyRefused.retryAt, reason: 'key_refused', why });
  }
  if (pause && pause.resumeAt > now) {
    const by = pause.toldAt === null ? `most likely for its ${pause.cause}` : 'the API said for how long';
    const why = `the API answered 429${inARow(pause.failures + 1)}: ${by}`;
    waits.push({ job: null, until: pause.resumeAt, reason: reasonOf(pause), why });
  }
  return waits;
}

const inARow = (times: number) => (times > 1 ? ` ${times} times in a row` : '');

function waitsForOthers(state: State, now: number): Wait[] {
  const block = blockedBySilence(state, now);
  if (!block) return [];
  const permits = block.permits === 1 ? 'a permit' : `permits for ${block.permits} calls`;
  const why = `${block.owners.join(' and ')} took ${permits} and fell silent; by then they count as used`;
  return [{ job: null, until: block.until, reason: block.reason, why }];
}

function jobWaits({ jobs, retryCredit, unpaidRetryAt }: State, now: number): Wait[] {
  return Object.entries(jobs).flatMap(([job, { forbidden, outage }]): Wait[] => {
    if (forbidden) {
      const next = forbidden.refusals > 1 ? 'one call a day tries again' : 'one call tries again then';
      const why = `the key lacks the scope, or may not be used from this address; ${next}, and doctor at once`;
      return [{ job, until: forbidden.retryAt, reason: 'forbidden', why }];
    }
    if (!outage) return [];
    const until = retryCredit < 1 ? Math.max(outage.resumeAt, unpaidRetryAt) : outage.resumeAt;
    if (until <= now) return [];
    const { isBlocked, failures } = outage;
    const why = isBlocked
      ? `${waitReasons.blocked}${inARow(failures)}`
      : `the endpoint was unavailable${inARow(failures)}`;
    return [{ job, until, reason: isBlocked ? 'blocked' : 'unavailable', why }];
  });
}
