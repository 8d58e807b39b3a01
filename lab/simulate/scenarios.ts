/** The worlds of the table: each kind of limit alone, then together, then with what makes them hard to see. */

import type { Scenario } from './run.ts';
import type { LimiterKind, WorldSpec } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const one = ['ai-signals'];
const five = [...one, 'news', 'smart-wallets', 'meme-signals', 'usage'];

const limited = (kind: LimiterKind, limit: number, periodMs: number, burst = limit) => ({
  kind,
  limit,
  periodMs,
  burst,
});
const pace: WorldSpec = { latencyMs: 80, rate: limited('bucket', 5, SECOND, 10), concurrency: 3 };
const pool = (limit: number, periodMs: number, kind: LimiterKind = 'fixed'): WorldSpec => ({
  ...pace,
  headers: 'all',
  quota: limited(kind, limit, periodMs),
});
const hourly = pool(1_000, HOUR);

const scenario = (name: string, spec: WorldSpec, first: number, after: number, jobs = five): Scenario => ({
  name,
  spec,
  jobs,
  first,
  after,
});

/** No first sync is a multiple of a quota: its last call would decide on a whole period. */
export const scenarios: readonly Scenario[] = [
  scenario('no limit felt, 1 ms, 1 job, 30 calls', { latencyMs: 1 }, 30, 3_000, one),
  scenario('no limit felt, 1 ms, 1 job', { latencyMs: 1 }, 1_000, 3_000, one),
  scenario('no limit felt, 150 ms, 5 jobs, 30 calls', { latencyMs: 150 }, 30, 3_000),
  scenario('no limit felt, 150 ms, 5 jobs', { latencyMs: 150 }, 1_000, 3_000),

  scenario('5/s burst 10, 3 at once', pace, 400, 5_000),
  scenario('5/s burst 10, 3 at once, 1 job', pace, 400, 5_000, one),
  scenario('50/s burst 50', { latencyMs: 40, rate: limited('bucket', 50, SECOND) }, 2_000, 5_000),
  scenario('10 each second, fixed', { latencyMs: 60, rate: limited('fixed', 10, SECOND) }, 1_000, 5_000),
  scenario('60 a minute, fixed', { latencyMs: 80, rate: limited('fixed', 60, MINUTE) }, 630, 5_000),
  scenario('60 a minute, sliding', { latencyMs: 80, rate: limited('sliding', 60, MINUTE) }, 630, 5_000),
  scenario('2 at once, 300 ms', { latencyMs: 300, concurrency: 2 }, 400, 5_000),

  scenario('30/10 s window', pool(30, 10 * SECOND), 310, 5_000),
  scenario('100/min window', pool(100, MINUTE), 540, 5_000),
  scenario('200/15 min window', pool(200, 15 * MINUTE), 650, 5_000),
  scenario('1,000/h window', hourly, 2_500, 5_000),
  scenario('1,000/h sliding', pool(1_000, HOUR, 'sliding'), 2_500, 5_000),
  scenario('1,000/h refill', pool(1_000, HOUR, 'bucket'), 2_500, 5_000),
  scenario('1,000/day window', pool(1_000, DAY), 2_500, 5_000),
  scenario('10,000/30 days window', pool(10_000, 30 * DAY), 25_000, 14_000),

  scenario('1,000/h window, 1 endpoint of 5 tells', { ...hourly, headers: 'one' }, 2_500, 5_000),
  // Where every quota probe is refused, the period takes more windows to learn than the first sync has.
  scenario('1,000/h window, no header', { ...hourly, headers: 'none' }, 2_500, 10_000),
  scenario(
    '1,000/h, no header, Retry-After',
    { ...hourly, headers: 'none', retryAfter: 'right' },
    2_500,
    10_000,
  ),
  scenario('1,000/h window, Retry-After wrong', { ...hourly, retryAfter: 'wrong' }, 2_500, 5_000),
  scenario('5/s, Retry-After right', { ...pace, retryAfter: 'right' }, 400, 5_000),
  scenario('5/s, Retry-After wrong', { ...pace, retryAfter: 'wrong' }, 400, 5_000),

  scenario('1,000/h window, others take 30%', { ...hourly, others: 0.3 }, 2_500, 10_000),
  scenario('1,000/h falls to 500/h', { ...hourly, change: { after: 1_500, quota: 0.5 } }, 2_300, 5_000),
  scenario('5/s falls to 2/s', { ...pace, change: { after: 400, rate: 0.4 } }, 800, 5_000),
  scenario('5/s rises to 10/s', { ...pace, change: { after: 400, rate: 2 } }, 2_500, 5_000),
  scenario('5/s, 1% answered 503', { ...pace, unavailable: 0.01 }, 400, 5_000),
];

const untold = (limit: number, periodMs: number, kind?: LimiterKind): WorldSpec => ({
  ...pool(limit, periodMs, kind),
  headers: 'none',
});

/** Worlds that nothing was aimed at, simulated by name only: they show how far what was learnt from the others holds. */
export const beyond: readonly Scenario[] = [
  scenario('beyond: 100/min sliding', pool(100, MINUTE, 'sliding'), 950, 5_000),
  scenario('beyond: 1,000/day sliding', pool(1_000, DAY, 'sliding'), 2_500, 5_000),
  scenario('beyond: 300/5 min window', pool(300, 5 * MINUTE), 950, 5_000),
  scenario('beyond: 500/90 min window', pool(500, 90 * MINUTE), 1_200, 5_000),
  scenario('beyond: 500/90 min window, no header', untold(500, 90 * MINUTE), 1_200, 5_000),
  scenario('beyond: 100/min window, no header', untold(100, MINUTE), 950, 5_000),
  scenario('beyond: 200/5 min window, no header', untold(200, 5 * MINUTE), 950, 5_000),
  scenario('beyond: 1,000/day window, no header', untold(1_000, DAY), 2_500, 5_000),
  scenario('beyond: 1,000/h sliding, no header', untold(1_000, HOUR, 'sliding'), 2_500, 5_000),
  scenario('beyond: 1,000/h refill, no header', untold(1_000, HOUR, 'bucket'), 2_500, 5_000),
  scenario('beyond: 10 a minute, fixed', { latencyMs: 80, rate: limited('fixed', 10, MINUTE) }, 200, 3_000),
  scenario('beyond: 100/s burst 100', { latencyMs: 40, rate: limited('bucket', 100, SECOND) }, 2_000, 5_000),
  scenario('beyond: 5/s, 8% answered 503', { ...pace, unavailable: 0.08 }, 400, 3_000),
];

export const worlds: readonly Scenario[] = [...scenarios, ...beyond];
