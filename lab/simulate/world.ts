/** An API in virtual time: its limits in the shapes in which they are commonly built, its latency, its headers, and others who use the same account. */

import type { Clock, Random } from '../../src/clock.ts';
import type { RequestOutcome } from '../../src/governor.ts';

type LimiterSpec = { kind: LimiterKind; limit: number; periodMs: number; burst?: number };

export type WorldSpec = {
  quota?: LimiterSpec;
  rate?: LimiterSpec;
  concurrency?: number;
  /** Median time of an answer; single answers lie between half and twice of it. */
  latencyMs: number;
  /** Which endpoints' successes tell Limit and Remaining. */
  headers?: 'all' | 'one' | 'none';
  retryAfter?: 'absent' | 'right' | 'wrong';
  /** Share of the quota that others take, evenly over time. */
  others?: number;
  /** Part of the calls that are answered 503. */
  unavailable?: number;
  /** After so many accepted calls the limits are multiplied. */
  change?: { after: number; quota?: number; rate?: number };
};

export type World = {
  call(job: string): Promise<RequestOutcome>;
  /** When all limits will accept a call; takes it if that is now. For the optimum that knows them. */
  takeOrNext(): number;
  refusals: { all: number; rate: number; concurrency: number; quota: number };
};

/** The endpoint that tells Limit and Remaining where just one does. */
const TELLING = 'ai-signals';

export function createWorld(spec: WorldSpec, clock: Clock, random: Random): World {
  const quota = spec.quota && build(spec.quota, random());
  const rate = spec.rate && build(spec.rate, random());
  const refusals = { all: 0, rate: 0, concurrency: 0, quota: 0 };
  const begunAt = clock.now();
  let accepted = 0;
  let underWay = 0;
  let othersTook = 0;

  /** What others took by now, each call at its own time. */
  function othersTake(): void {
    if (!spec.quota || !quota || !spec.others) return;
    const everyMs = spec.quota.periodMs / (spec.quota.limit * spec.others);
    for (; begunAt + (othersTook + 1) * everyMs <= clock.now(); othersTook += 1)
      quota.take(begunAt + (othersTook + 1) * everyMs);
  }

  function change(): void {
    accepted += 1;
    if (accepted !== spec.change?.after) return;
    if (quota) quota.limit = Math.round(quota.limit * (spec.change.quota ?? 1));
    if (rate) rate.limit *= spec.change.rate ?? 1;
  }

  function refusedBy(): 'rate' | 'concurrency' | 'quota' | null {
    const now = clock.now();
    if (underWay >= (spec.concurrency ?? Number.POSITIVE_INFINITY)) return 'concurrency';
    if (rate && !rate.take(now)) return 'rate';
    othersTake();
    if (quota && !quota.take(now)) return 'quota';
    return null;
  }

  function retryAfter(by: 'rate' | 'concurrency' | 'quota'): number | null {
    if (!spec.retryAfter || spec.retryAfter === 'absent') return null;
    if (spec.retryAfter === 'wrong')
      return [0, -3_600_000, Number.NaN, 1_000, null][Math.floor(random() * 5)] ?? null;
    const now = clock.now();
    const ready = by === 'quota' ? quota?.nextAt(now) : by === 'rate' ? rate?.nextAt(now) : now + 1_000;
    return Math.max(1, Math.ceil(((ready ?? now) - now) / 1_000)) * 1_000;
  }

  return {
    refusals,
    async call(job) {
      const latencyMs = spec.latencyMs * 2 ** (2 * random() - 1);
      const silent = { limit: null, remaining: null, retryAfterMs: null, latencyMs };
      await clock.sleep(latencyMs / 4);
      if (random() < (spec.unavailable ?? 0)) {
        await clock.sleep(latencyMs / 4);
        return { ...silent, status: 503 };
      }
      const by = refusedBy();
      if (by) {
        refusals.all += 1;
        refusals[by] += 1;
        const told = retryAfter(by);
        await clock.sleep(latencyMs / 4);
        return { ...silent, status: 429, retryAfterMs: told, latencyMs: latencyMs / 2 };
      }
      change();
      const tells = quota && (spec.headers === 'all' || (spec.headers !== 'none' && job === TELLING));
      const pair = tells ? { limit: quota.limit, remaining: quota.left(clock.now()) } : {};
      underWay += 1;
      await clock.sleep(latencyMs * 0.75);
      underWay -= 1;
      return { ...silent, status: 200, ...pair };
    },
    takeOrNext() {
      const now = clock.now();
      othersTake();
      const at = Math.max(rate?.nextAt(now) ?? now, quota?.nextAt(now) ?? now);
      if (at > now) return at;
      rate?.take(now);
      quota?.take(now);
      change();
      return now;
    },
  };
}

function build({ kind, limit, periodMs, burst }: LimiterSpec, phase: number): Limiter {
  return createLimiter(kind, limit, periodMs, phase, burst);
}

type Limiter = {
  limit: number;
  /** Takes one call; false where none is left. */
  take(now: number): boolean;
  left(now: number): number;
  /** When a call will next be accepted; `now` if one is. */
  nextAt(now: number): number;
};

export type LimiterKind = 'fixed' | 'sliding' | 'bucket';

/** `limit` calls in `periodMs`; a bucket holds `burst` of them. */
function createLimiter(
  kind: LimiterKind,
  limit: number,
  periodMs: number,
  phase: number,
  burst = limit,
): Limiter {
  if (kind === 'fixed') return fixedWindow(limit, periodMs, phase * periodMs);
  if (kind === 'sliding') return slidingWindow(limit, periodMs);
  return bucket(limit, periodMs, burst);
}

function fixedWindow(limit: number, periodMs: number, offset: number): Limiter {
  let window = Number.NaN;
  let used = 0;
  const turn = (now: number) => {
    const current = Math.floor((now - offset) / periodMs);
    if (current !== window) [window, used] = [current, 0];
  };
  return {
    limit,
    take(now) {
      turn(now);
      if (used >= this.limit) return false;
      used += 1;
      return true;
    },
    left(now) {
      turn(now);
      return Math.max(0, this.limit - used);
    },
    nextAt(now) {
      return this.left(now) > 0 ? now : (window + 1) * periodMs + offset;
    },
  };
}

function slidingWindow(limit: number, periodMs: number): Limiter {
  const times: number[] = [];
  let first = 0;
  const forget = (now: number) => {
    while (first < times.length && (times[first] as number) <= now - periodMs) first += 1;
  };
  return {
    limit,
    take(now) {
      if (this.left(now) <= 0) return false;
      times.push(now);
      return true;
    },
    left(now) {
      forget(now);
      return Math.max(0, this.limit - (times.length - first));
    },
    nextAt(now) {
      if (this.left(now) > 0) return now;
      return (times[times.length - this.limit] as number) + periodMs;
    },
  };
}

function bucket(limit: number, periodMs: number, burst: number): Limiter {
  let level = burst;
  let filledAt = Number.NaN;
  const share = burst / limit;
  return {
    limit,
    take(now) {
      if (this.left(now) < 1) return false;
      level -= 1;
      return true;
    },
    left(now) {
      if (!Number.isNaN(filledAt))
        level = Math.min(this.limit * share, level + (Math.max(0, now - filledAt) * this.limit) / periodMs);
      filledAt = now;
      return Math.floor(level + 1e-9);
    },
    nextAt(now) {
      return this.left(now) >= 1 ? now : now + ((1 - level) * periodMs) / this.limit + 1e-3;
    },
  };
}
