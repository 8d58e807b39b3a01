/** An API in virtual time: its limits in the shapes in which they are commonly built, its latency, its headers, and others who use the same account. */

import { type Counter, fixedWindow, refill, slidingWindow } from '../../model-api/limits.ts';
import type { Clock, Random } from '../../src/base/clock.ts';
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
  const quota = spec.quota && createLimiter(spec.quota, random());
  const rate = spec.rate && createLimiter(spec.rate, random());
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
    const ready = by === 'quota' ? quota?.readyAt(now) : by === 'rate' ? rate?.readyAt(now) : now + 1_000;
    return Math.max(1, Math.ceil(((ready ?? now) - now) / 1_000)) * 1_000;
  }

  return {
    refusals,
    async call(job) {
      const latencyMs = spec.latencyMs * 2 ** (2 * random() - 1);
      const silent = { limit: null, remaining: null, retryAfterMs: null };
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
        return { ...silent, status: 429, retryAfterMs: told };
      }
      change();
      const tells = quota && (spec.headers === 'all' || (spec.headers !== 'none' && job === TELLING));
      const pair = tells ? { limit: quota.limit, remaining: quota.remaining(clock.now()) } : {};
      underWay += 1;
      await clock.sleep(latencyMs * 0.75);
      underWay -= 1;
      return { ...silent, status: 200, ...pair };
    },
    takeOrNext() {
      const now = clock.now();
      othersTake();
      const at = Math.max(rate?.readyAt(now) ?? now, quota?.readyAt(now) ?? now);
      if (at > now) return at;
      rate?.take(now);
      quota?.take(now);
      change();
      return now;
    },
  };
}

export type LimiterKind = 'fixed' | 'sliding' | 'bucket';

/** `limit` may be changed at any time. */
type Limiter = Counter & { limit: number };

/** @param phase where the windows of `fixed` begin, as a part of the period. */
function createLimiter({ kind, limit, periodMs, burst = limit }: LimiterSpec, phase: number): Limiter {
  const pool = { limit };
  const allowed = () => pool.limit;
  const counters: Record<LimiterKind, () => Counter> = {
    fixed: () => shifted(fixedWindow(allowed, periodMs), phase * periodMs),
    sliding: () => slidingWindow(allowed, periodMs),
    bucket: () =>
      refill(
        () => (pool.limit * burst) / limit,
        () => pool.limit / periodMs,
      ),
  };
  return Object.assign(pool, counters[kind]());
}

function shifted(counter: Counter, byMs: number): Counter {
  return {
    take: (now) => counter.take(now - byMs),
    giveBack: (at, now) => counter.giveBack(at - byMs, now - byMs),
    remaining: (now) => counter.remaining(now - byMs),
    readyAt: (now) => counter.readyAt(now - byMs) + byMs,
  };
}
