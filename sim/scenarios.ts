/** The worlds of the table: each kind of limit alone, then together, then with what makes them hard to see. */

import type { Scenario } from './run.ts';
import type { WorldSpec } from './world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const one = ['ai-signals'];
const five = ['ai-signals', 'news', 'smart-wallets', 'meme-signals', 'usage'];

const pace: WorldSpec = {
  latencyMs: 80,
  rate: { kind: 'bucket', limit: 5, periodMs: SECOND, burst: 10 },
  concurrency: 3,
};
const hourly: WorldSpec = { ...pace, headers: 'all', quota: { kind: 'fixed', limit: 1_000, periodMs: HOUR } };

const scenario = (name: string, spec: WorldSpec, first: number, then: number, jobs = five): Scenario => ({
  name,
  spec,
  jobs,
  first,
  then,
});

export const scenarios: readonly Scenario[] = [
  scenario('no limit felt, 1 ms, 1 job', { latencyMs: 1 }, 1_000, 2_000, one),
  scenario('no limit felt, 150 ms, 5 jobs', { latencyMs: 150 }, 1_000, 2_000),
  scenario('5/s burst 10, 3 at once', pace, 400, 5_000),
  scenario('5/s burst 10, 3 at once, 1 job', pace, 400, 5_000, one),
  scenario(
    '50/s burst 50',
    { latencyMs: 40, rate: { kind: 'bucket', limit: 50, periodMs: SECOND, burst: 50 } },
    2_000,
    10_000,
  ),
  scenario(
    '10 each second, fixed',
    { latencyMs: 60, rate: { kind: 'fixed', limit: 10, periodMs: SECOND } },
    1_000,
    5_000,
  ),
  scenario(
    '60 a minute, fixed',
    { latencyMs: 80, rate: { kind: 'fixed', limit: 60, periodMs: MINUTE } },
    600,
    3_000,
  ),
  scenario(
    '60 a minute, sliding',
    { latencyMs: 80, rate: { kind: 'sliding', limit: 60, periodMs: MINUTE } },
    600,
    3_000,
  ),
  scenario('2 at once, 300 ms', { latencyMs: 300, concurrency: 2 }, 400, 4_000),
  scenario(
    '30/10 s window',
    { ...pace, headers: 'all', quota: { kind: 'fixed', limit: 30, periodMs: 10 * SECOND } },
    300,
    3_000,
  ),
  scenario(
    '100/min window',
    { ...pace, headers: 'all', quota: { kind: 'fixed', limit: 100, periodMs: MINUTE } },
    500,
    3_000,
  ),
  scenario(
    '200/15 min window',
    { ...pace, headers: 'all', quota: { kind: 'fixed', limit: 200, periodMs: 15 * MINUTE } },
    600,
    5_000,
  ),
  scenario('1,000/h window', hourly, 2_500, 7_500),
  scenario('1,000/h window, 1 endpoint tells', { ...hourly, headers: 'one' }, 2_500, 7_500),
  scenario(
    '1,000/h sliding',
    { ...hourly, quota: { kind: 'sliding', limit: 1_000, periodMs: HOUR } },
    2_500,
    7_500,
  ),
  scenario(
    '1,000/h refill',
    { ...hourly, quota: { kind: 'bucket', limit: 1_000, periodMs: HOUR } },
    2_500,
    7_500,
  ),
  scenario(
    '1,000/day window',
    { ...hourly, quota: { kind: 'fixed', limit: 1_000, periodMs: DAY } },
    2_500,
    7_500,
  ),
  scenario(
    '10,000/30 days window',
    { ...hourly, quota: { kind: 'fixed', limit: 10_000, periodMs: 30 * DAY } },
    25_000,
    10_000,
  ),
  scenario('1,000/h window, no header', { ...hourly, headers: 'none' }, 2_500, 7_500),
  scenario(
    '1,000/h window, Retry-After right',
    { ...hourly, headers: 'none', retryAfter: 'right' },
    2_500,
    7_500,
  ),
  scenario('1,000/h window, Retry-After wrong', { ...hourly, retryAfter: 'wrong' }, 2_500, 7_500),
  scenario('5/s, Retry-After right', { ...pace, retryAfter: 'right' }, 400, 5_000),
  scenario('5/s, Retry-After wrong', { ...pace, retryAfter: 'wrong' }, 400, 5_000),
  scenario('1,000/h window, others take 30%', { ...hourly, others: 0.3 }, 2_500, 7_500),
  scenario('1,000/h falls to 500/h', { ...hourly, change: { after: 1_500, quota: 0.5 } }, 2_500, 5_000),
  scenario('5/s falls to 2/s', { ...pace, change: { after: 400, rate: 0.4 } }, 800, 4_000),
  scenario('5/s rises to 10/s', { ...pace, change: { after: 400, rate: 2 } }, 800, 8_000),
  scenario('5/s, 1% answered 503', { ...pace, unavailable: 0.01 }, 400, 5_000),
];
