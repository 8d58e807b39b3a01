/** The worlds of the table: each kind of limit alone, then together, then with what makes them hard to see. */

import type { AccountLimits } from '../../src/config/values.ts';
import type { Scenario } from './run.ts';
import type { LimiterKind, WorldSpec } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const five = ['ai-signals', 'news', 'smart-wallets', 'meme-signals', 'usage'];

const limited = (kind: LimiterKind, limit: number, periodMs: number, burst = limit) => ({
  kind,
  limit,
  periodMs,
  burst,
});
const pace: WorldSpec = { latencyMs: 80, rate: limited('bucket', 5, SECOND, 10), concurrency: 3 };
const pool = (limit: number, periodMs: number, kind: LimiterKind = 'fixed'): WorldSpec => ({
  ...pace,
  headers: 'one',
  quota: limited(kind, limit, periodMs),
});
const hourly = pool(1_000, HOUR);

const scenario = (
  name: string,
  spec: WorldSpec,
  first: number,
  after: number,
  limits?: AccountLimits,
): Scenario => ({
  name,
  spec,
  jobs: five,
  first,
  after,
  ...(limits && { limits }),
});

const set = (calls: number, periodMs: number): AccountLimits => ({
  quota: { calls, periodMs, startMs: null },
  rate: { calls: 5, periodMs: SECOND, startMs: null },
  concurrency: 3,
});
const withoutBurst: WorldSpec = { ...pace, rate: limited('bucket', 5, SECOND) };

/**
 * What this API may be like: five endpoints, of which one says what is left. No first sync is a multiple of a quota: its last call
 * would decide on a whole period.
 */
export const scenarios: readonly Scenario[] = [
  scenario('no limit felt, 150 ms', { latencyMs: 150 }, 1_000, 3_000),
  scenario('5/s burst 10, 3 at once', pace, 400, 5_000),
  scenario('60 a minute, sliding', { latencyMs: 80, rate: limited('sliding', 60, MINUTE) }, 630, 5_000),
  scenario('2 at once, 300 ms', { latencyMs: 300, concurrency: 2 }, 400, 5_000),
  scenario('100/min window', pool(100, MINUTE), 540, 5_000),
  scenario('100/min window, every endpoint tells', { ...pool(100, MINUTE), headers: 'all' }, 540, 5_000),
  scenario('1,000/h window', hourly, 2_500, 5_000),
  scenario('1,000/day window', pool(1_000, DAY), 2_500, 5_000),
  scenario('1,000/day sliding', pool(1_000, DAY, 'sliding'), 2_500, 5_000),
  scenario('1,000/h window, no header', { ...hourly, headers: 'none' }, 2_500, 5_000),
  scenario('1,000/h window, others take 30%', { ...hourly, others: 0.3 }, 2_500, 5_000),
  scenario('5/s, 1% answered 503', { ...pace, unavailable: 0.01 }, 400, 5_000),
  scenario('all set: 1,000/h window', { ...hourly, ...withoutBurst }, 2_500, 5_000, set(1_000, HOUR)),
  scenario(
    'all set: 1,000/day sliding, no header',
    { ...pool(1_000, DAY, 'sliding'), ...withoutBurst, headers: 'none' },
    2_500,
    5_000,
    set(1_000, DAY),
  ),
];
