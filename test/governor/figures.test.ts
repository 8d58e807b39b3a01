/**
 * What the governor makes of small worlds, to the millisecond, as a snapshot: whatever changes its judgement shows there, for a
 * person to weigh (`npx vitest run test/governor/figures -u` writes it anew). What it must do is in the other files.
 */

import { expect, test } from 'vitest';
import { seededRandom, virtualClock } from '../../lab/simulate/clock.ts';
import { createWorld, type LimiterKind, type WorldSpec } from '../../lab/simulate/world.ts';
import { Snooze } from '../../src/errors.ts';
import { describeKept } from '../../src/governor/describe.ts';
import { never, setup } from './bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

type Life = WorldSpec & {
  jobs?: readonly string[];
  processes?: number;
  calls?: number;
  /** Of each walk, so many pages may be requested before their turn. */
  prefetch?: number;
  /** Nobody calls for so long after every fortieth call. */
  restMs?: number;
  seed?: number;
};

const one = ['ai-signals'];
const five = [...one, 'news', 'smart-wallets', 'meme-signals', 'usage'];
const limited = (limit: number, periodMs: number, kind: LimiterKind = 'fixed', burst = limit) => ({
  kind,
  limit,
  periodMs,
  burst,
});
const pace: Life = { latencyMs: 80, rate: limited(5, SECOND, 'bucket', 10), concurrency: 3, jobs: five };
const pool = (limit: number, periodMs: number, kind?: LimiterKind): Life => ({
  latencyMs: 80,
  headers: 'all',
  quota: limited(limit, periodMs, kind),
});
const ample: Life = { ...pool(10_000, DAY), prefetch: 4, calls: 270 };
const untold = (limit: number, periodMs: number, kind?: LimiterKind): Life => ({
  ...pool(limit, periodMs, kind),
  headers: 'none',
});

const lives: Record<string, Life> = {
  'no limit': { latencyMs: 100, jobs: five },
  'no limit, two processes': { latencyMs: 100, jobs: five, processes: 2 },
  'no limit, prefetch 4': { latencyMs: 100, prefetch: 4 },
  'ample calls, prefetch 4': { ...pool(10_000, DAY), prefetch: 4 },
  'ample calls, 5/s burst 10, prefetch 4': { ...ample, rate: limited(5, SECOND, 'bucket', 10) },
  'ample calls, 60 a minute, prefetch 4': { ...ample, rate: limited(60, MINUTE) },
  'scarce calls, prefetch 4': { ...pool(400, HOUR), prefetch: 4 },
  '5/s burst 10': { ...pace, jobs: one },
  '5/s burst 10, 3 at once': { ...pace, calls: 270 },
  '5/s burst 10, 3 at once, two processes': { ...pace, processes: 2 },
  '5/s burst 10, prefetch 4': { ...pace, jobs: one, prefetch: 4 },
  '5/s burst 10, with rests': { ...pace, restMs: 10 * MINUTE },
  '50/s burst 50': { latencyMs: 40, rate: limited(50, SECOND, 'bucket'), jobs: five, calls: 240 },
  '10 each second': { latencyMs: 60, rate: limited(10, SECOND), jobs: five },
  '60 a minute': { latencyMs: 80, rate: limited(60, MINUTE), jobs: five, calls: 240 },
  '60 a minute, sliding': { latencyMs: 80, rate: limited(60, MINUTE, 'sliding'), jobs: five },
  '10 a minute': { latencyMs: 80, rate: limited(10, MINUTE) },
  '2 at once': { latencyMs: 300, concurrency: 2, jobs: five },
  '2 at once, two processes': { latencyMs: 300, concurrency: 2, jobs: five, processes: 2 },
  '6 at once': { latencyMs: 300, concurrency: 6, jobs: five, processes: 2, calls: 270 },
  '5/s falls to 2/s': { ...pace, calls: 240, change: { after: 120, rate: 0.4 } },
  '5/s rises to 10/s': { ...pace, calls: 270, change: { after: 120, rate: 2 } },
  '5/s, Retry-After': { ...pace, retryAfter: 'right' },
  '5/s, Retry-After wrong': { ...pace, retryAfter: 'wrong', seed: 1 },
  '5/s, some 503': { ...pace, unavailable: 0.05, seed: 2 },
  '30 in 10 s': { ...pool(30, 10 * SECOND), jobs: five },
  '100 a minute': { ...pool(100, MINUTE), ...pace, headers: 'all', calls: 270 },
  '100 a minute, two processes': { ...pool(100, MINUTE), jobs: five, processes: 2, calls: 240 },
  '100 a minute, with rests': { ...pool(100, MINUTE), restMs: 25 * SECOND, calls: 270 },
  '60 in 15 min': { ...pool(60, 15 * MINUTE), calls: 270 },
  '60 in 15 min, varying': { ...pool(60, 15 * MINUTE), jobs: five, calls: 270, seed: 3 },
  '90 an hour, sliding': { ...pool(90, HOUR, 'sliding'), calls: 270 },
  '90 an hour, refill': { ...pool(90, HOUR, 'bucket'), calls: 270 },
  '90 an hour, one tells': { ...pool(90, HOUR), headers: 'one', jobs: five, calls: 240 },
  '90 an hour, others': { ...pool(90, HOUR), others: 0.3, calls: 270 },
  '90 an hour, falls': { ...pool(90, HOUR), calls: 270, change: { after: 120, quota: 0.5 } },
  '90 an hour, rises': { ...pool(90, HOUR), calls: 270, change: { after: 120, quota: 2 } },
  '8 an hour': { ...pool(8, HOUR), calls: 80 },
  '200 in 90 min': { ...pool(200, 90 * MINUTE), calls: 270 },
  '90 a day': { ...pool(90, DAY), calls: 270 },
  '500 in 30 days': { ...pool(500, 30 * DAY), calls: 620 },
  '90 an hour, untold': { ...untold(90, HOUR), calls: 240 },
  '90 an hour, untold, varying': { ...untold(90, HOUR), jobs: five, processes: 2, calls: 240, seed: 4 },
  '90 an hour, untold, Retry-After': { ...untold(90, HOUR), retryAfter: 'right', calls: 240 },
  '90 an hour, untold, with rests': { ...untold(90, HOUR), restMs: 9 * MINUTE, calls: 270 },
  '50 in 5 min, untold': { ...untold(50, 5 * MINUTE), calls: 240 },
  '50 in 90 min, untold': { ...untold(50, 90 * MINUTE), calls: 270 },
  '40 a day, untold': { ...untold(40, DAY), calls: 240 },
  '90 an hour, untold, sliding': { ...untold(90, HOUR, 'sliding'), calls: 270 },
  '90 an hour, untold, refill': { ...untold(90, HOUR, 'bucket'), calls: 240 },
};

test.each(Object.entries(lives))(
  'what changes how the governor judges shows in the world "%s"',
  async (_, life) => {
    expect(await figuresOf(life)).toMatchSnapshot();
  },
);

async function figuresOf(life: Life) {
  const { jobs = one, processes = 1, calls = 120, prefetch = 0, restMs = 0, seed } = life;
  const clock = virtualClock();
  const world = createWorld(life, clock, seed === undefined ? () => 0.5 : seededRandom(seed));
  const bench = setup({}, clock);
  const governors = [bench.governor];
  for (let number = 1; number < processes; number += 1)
    governors.push(bench.open(`process ${number}`).governor);
  const begunAt = clock.now();
  const asOf: string[] = [];
  let accepted = 0;
  let restsUntil = 0;
  const count = () => {
    accepted += 1;
    if (accepted % 40 === 0) restsUntil = clock.now() + restMs;
    if (accepted % Math.ceil(calls / 6) === 0)
      asOf.push(`${accepted} in ${((clock.now() - begunAt) / SECOND).toFixed(3)} s`);
  };
  await Promise.all(
    governors.flatMap((governor) =>
      jobs.map(async (job) => {
        const send = async (isPrefetch: boolean) => {
          const complete = await governor.acquire(job, never, { upcoming: prefetch && 20, isPrefetch });
          const outcome = await world.call(job);
          complete(outcome);
          if (outcome.status === 200) count();
        };
        while (accepted < calls) {
          if (restsUntil > clock.now()) await clock.sleep(restsUntil - clock.now());
          const ahead = [];
          while (ahead.length < prefetch && governor.reservePrefetch())
            ahead.push(
              send(true).then(
                () => governor.endPrefetch(accepted % 3 > 0),
                () => governor.endPrefetch(true),
              ),
            );
          try {
            await send(false);
          } catch (thrown) {
            if (!(thrown instanceof Snooze)) throw thrown;
            await clock.sleep(Math.max(1, thrown.until - clock.now()));
          }
          await Promise.all(ahead);
        }
      }),
    ),
  );
  const { quota, rate, concurrency } = describeKept(bench.shared.state, clock.now());
  const { refusals } = world;
  await Promise.all(governors.map((governor) => governor.close()));
  return [
    asOf.join(', '),
    `refused: ${refusals.rate} for the rate, ${refusals.concurrency} for the number, ${refusals.quota} for the quota; ${bench.shared.transactions} transactions`,
    `rate: ${rate.perSecond?.toFixed(4)}, ${rate.confidence}: ${rate.evidence}`,
    `at once: ${concurrency.allowed}, ${concurrency.confidence}: ${concurrency.evidence}`,
    `quota: ${quota.remaining} of ${quota.limit} by ${quota.source}, ${quota.reserve} kept, ${quota.othersPerHour} an hour to others`,
    `apart: ${quota.apart.join(', ')}; refill: ${Object.values(quota.refill).join(', ')}`,
  ].join('\n');
}
