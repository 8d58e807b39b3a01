/** Who decides when a call is made: ours, and what others do. Each is a gate, so all meet the same worlds. */

import type { Clock, Random } from '../../src/clock.ts';
import type { State } from '../../src/governor/state.ts';
import { createGovernor, type RequestOutcome } from '../../src/governor.ts';
import type { WorldSpec } from './world.ts';

export type Policy = {
  acquire(job: string, signal: AbortSignal): Promise<void>;
  complete(job: string, answer: RequestOutcome): void;
  close(): void;
};

export type PolicyName = 'governor' | 'jitter' | 'adaptive' | 'budget';

export type PolicyMaker = (clock: Clock, random: Random, spec: WorldSpec) => Policy;

export const policies: Record<PolicyName, PolicyMaker> = {
  governor: (clock, random) => ourGovernor(clock, random),
  jitter: (clock, random) => jitteredBackoff(60_000, clock, random),
  adaptive: awsAdaptive,
  budget: fixedBudget,
};

export function ourGovernor(
  clock: Clock,
  random: Random,
  shared: { state: State | undefined } = { state: undefined },
): Policy {
  return createGovernor({
    transact: (change) => {
      const { state, result } = change(shared.state);
      shared.state = state;
      return result;
    },
    clock,
    random,
    owner: 'simulated',
    longestWaitMs: Number.POSITIVE_INFINITY,
  });
}

/** Full-jitter exponential backoff, each worker for itself; Retry-After where it makes sense. */
function jitteredBackoff(longestMs: number, clock: Clock, random: Random): Policy {
  const failures = new Map<string, { times: number; toldMs: number }>();
  return {
    async acquire(job, signal) {
      const failed = failures.get(job);
      if (!failed) return;
      const backoff = random() * Math.min(longestMs, 500 * 2 ** failed.times);
      await clock.sleep(Math.max(backoff, failed.toldMs), signal);
    },
    complete(job, { status, retryAfterMs }) {
      if (status === 200) return void failures.delete(job);
      const toldMs = retryAfterMs !== null && retryAfterMs > 0 ? retryAfterMs : 0;
      failures.set(job, { times: (failures.get(job)?.times ?? 0) + 1, toldMs });
    },
    close() {},
  };
}

/**
 * AWS SDK "adaptive" retry mode, after the published algorithm: a token bucket whose fill rate follows CUBIC
 * (beta 0.7, scale constant 0.4) around the rate at the last throttle, capped at twice the measured rate, over
 * jittered exponential backoff of at most 20 s.
 */
function awsAdaptive(clock: Clock, random: Random): Policy {
  const [BETA, SCALE, SMOOTH, LEAST_FILL] = [0.7, 0.4, 0.8, 0.5];
  const backoff = jitteredBackoff(20_000, clock, random);
  const seconds = () => clock.now() / 1_000;
  let enabled = false;
  let [fillRate, capacity, level, filledAt] = [0, 0, 0, 0];
  let [measured, lastBucket, inBucket] = [0, Math.floor(seconds()), 0];
  let [lastMax, lastThrottle, timeWindow] = [0, seconds(), 0];

  function measure(): void {
    const bucket = Math.floor(seconds() * 2) / 2;
    inBucket += 1;
    if (bucket <= lastBucket) return;
    measured = (inBucket / (bucket - lastBucket)) * SMOOTH + measured * (1 - SMOOTH);
    [inBucket, lastBucket] = [0, bucket];
  }

  function fill(): void {
    level = Math.min(capacity, level + (seconds() - filledAt) * fillRate);
    filledAt = seconds();
  }

  return {
    async acquire(job, signal) {
      await backoff.acquire(job, signal);
      if (!enabled) return;
      fill();
      level -= 1;
      if (level < 0) await clock.sleep((-level / fillRate) * 1_000, signal);
    },
    complete(job, answer) {
      backoff.complete(job, answer);
      measure();
      let calculated: number;
      if (answer.status === 429) {
        lastMax = enabled ? Math.min(measured, fillRate) : measured;
        timeWindow = ((lastMax * (1 - BETA)) / SCALE) ** (1 / 3);
        lastThrottle = seconds();
        calculated = lastMax * BETA;
        enabled = true;
      } else {
        timeWindow = ((lastMax * (1 - BETA)) / SCALE) ** (1 / 3);
        calculated = SCALE * (seconds() - lastThrottle - timeWindow) ** 3 + lastMax;
      }
      const next = Math.min(calculated, 2 * measured);
      fill();
      fillRate = Math.max(next, LEAST_FILL);
      capacity = Math.max(next, 1);
      level = Math.min(level, capacity);
    },
    close() {},
  };
}

/**
 * Airbyte's API budget, as its connectors configure it: fixed windows written down by hand. Its author here
 * knows limit and period from documentation, which is more than our API shows; not known are phase, kind and
 * concurrency. Remaining only ever tightens the budget, and a 429 empties it.
 */
function fixedBudget(clock: Clock, random: Random, spec: WorldSpec): Policy {
  const backoff = jitteredBackoff(20_000, clock, random);
  const windows = [spec.quota, spec.rate]
    .filter((window) => window !== undefined)
    .map(({ limit, periodMs }) => ({ limit, periodMs, used: 0, endsAt: 0 }));
  const turn = () => {
    for (const window of windows)
      if (clock.now() >= window.endsAt)
        Object.assign(window, { used: 0, endsAt: clock.now() + window.periodMs });
  };
  return {
    async acquire(job, signal) {
      await backoff.acquire(job, signal);
      for (turn(); windows.some(({ limit, used }) => used >= limit); turn()) {
        const full = windows.filter(({ limit, used }) => used >= limit);
        await clock.sleep(Math.max(...full.map(({ endsAt }) => endsAt)) - clock.now(), signal);
      }
      for (const window of windows) window.used += 1;
    },
    complete(job, answer) {
      backoff.complete(job, answer);
      const [widest] = windows;
      if (!widest) return;
      if (answer.remaining !== null) widest.used = Math.max(widest.used, widest.limit - answer.remaining);
      if (answer.status === 429) widest.used = widest.limit;
    },
    close() {},
  };
}
