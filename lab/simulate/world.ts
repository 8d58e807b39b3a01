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
  /** Share of the quota that others take, evenly over time. */
  others?: number;
  /** Part of the calls that are answered 503. */
  unavailable?: number;
};

export type World = {
  call(job: string): Promise<RequestOutcome>;
  /** When all limits will accept a call; takes it if that is now. For the optimum that knows them. */
  takeOrNext(): number;
  /** How many calls were refused. */
  refused: number;
};

/** The endpoint that tells Limit and Remaining where just one does. */
const TELLING = 'ai-signals';

export function createWorld(spec: WorldSpec, clock: Clock, random: Random): World {
  const quota = spec.quota && createLimiter(spec.quota, random());
  const rate = spec.rate && createLimiter(spec.rate, random());
  const begunAt = clock.now();
  let refused = 0;
  let underWay = 0;
  let othersTook = 0;

  /** What others took by now, each call at its own time. */
  function othersTake(): void {
    if (!spec.quota || !quota || !spec.others) return;
    const everyMs = spec.quota.periodMs / (spec.quota.limit * spec.others);
    for (; begunAt + (othersTook + 1) * everyMs <= clock.now(); othersTook += 1)
      quota.take(begunAt + (othersTook + 1) * everyMs);
  }

  function isAccepted(): boolean {
    const now = clock.now();
    if (underWay >= (spec.concurrency ?? Number.POSITIVE_INFINITY)) return false;
    if (rate && !rate.take(now)) return false;
    othersTake();
    return !quota || quota.take(now);
  }

  return {
    get refused() {
      return refused;
    },
    async call(job) {
      const latencyMs = spec.latencyMs * 2 ** (2 * random() - 1);
      const silent = { limit: null, remaining: null, retryAfterMs: null };
      await clock.sleep(latencyMs / 4);
      if (random() < (spec.unavailable ?? 0)) {
        await clock.sleep(latencyMs / 4);
        return { ...silent, status: 503 };
      }
      if (!isAccepted()) {
        refused += 1;
        await clock.sleep(latencyMs / 4);
        return { ...silent, status: 429 };
      }
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
      return now;
    },
  };
}

export type LimiterKind = 'fixed' | 'sliding' | 'bucket';

type Limiter = Counter & { readonly limit: number };

/** @param phase where the windows of `fixed` begin, as a part of the period. */
function createLimiter({ kind, limit, periodMs, burst = limit }: LimiterSpec, phase: number): Limiter {
  const counters: Record<LimiterKind, () => Counter> = {
    fixed: () =>
      shifted(
        fixedWindow(() => limit, periodMs),
        phase * periodMs,
      ),
    sliding: () => slidingWindow(() => limit, periodMs),
    bucket: () =>
      refill(
        () => burst,
        () => limit / periodMs,
      ),
  };
  return { limit, ...counters[kind]() };
}

function shifted(counter: Counter, byMs: number): Counter {
  return {
    take: (now) => counter.take(now - byMs),
    giveBack: (at, now) => counter.giveBack(at - byMs, now - byMs),
    remaining: (now) => counter.remaining(now - byMs),
    readyAt: (now) => counter.readyAt(now - byMs) + byMs,
  };
}
