/** The worlds: datasets as the figures have them, what makes a head worthless, and quotas. */

import { DAY_MS, HOUR_MS, type Random } from '../../src/clock.ts';
import type { Budget } from '../../src/plan/spacing.ts';
import { seededRandom } from '../simulate/clock.ts';
import type { Spec } from './dataset.ts';

export type World = {
  name: string;
  specs: readonly Spec[];
  /** Time before what is measured: the mirror learns. Then what is measured, and the end. */
  begin: number;
  from: number;
  to: number;
};

export type Quota = { name: string; limit: number; periodMs: number; reserve: number };

const MINUTE_MS = 60_000;
const never = Number.POSITIVE_INFINITY;
const begin = Date.UTC(2026, 0, 1);

/** The reserves are those of the governor, once it knows the period (`src/governor/quota-probe.ts`). */
export const quotas = {
  few: { name: '300 a day', limit: 300, periodMs: DAY_MS, reserve: 2 },
  scarce: { name: '1,000 a day', limit: 1_000, periodMs: DAY_MS, reserve: 4 },
  /** Hardly enough: the schedules of the usual world ask for some 2 % more. */
  hardly: { name: '1,000 an hour', limit: 1_000, periodMs: HOUR_MS, reserve: 4 },
  ample: { name: '1,200 an hour', limit: 1_200, periodMs: HOUR_MS, reserve: 4 },
} as const satisfies Record<string, Quota>;

const still: Omit<Spec, 'name' | 'targetMs' | 'weight' | 'rows'> = {
  newPerDay: 0,
  newAt: 'head',
  expires: false,
  editShare: 0,
  editWithinMs: HOUR_MS,
  gonePerDay: 0,
  editsPerDay: 0,
  editsMove: false,
  published: undefined,
  pinned: 0,
  turnsAt: never,
  purgedAt: never,
};

/** Newest first, the oldest expire, some are deleted. */
const news: Spec = {
  ...still,
  name: 'news',
  targetMs: 5 * MINUTE_MS,
  weight: 2,
  rows: 3_000,
  newPerDay: 200,
  expires: true,
  editShare: 0.1,
  editWithinMs: 2 * HOUR_MS,
  gonePerDay: 30,
};

/** Newest first, each changed once within the hour. */
const memeSignals: Spec = {
  ...still,
  name: 'meme-signals',
  targetMs: 2 * MINUTE_MS,
  weight: 2,
  rows: 1_000,
  newPerDay: 400,
  expires: true,
  editShare: 1,
};

/** Ranked: who changes moves. */
const smartWallets: Spec = {
  ...still,
  name: 'smart-wallets',
  targetMs: 15 * MINUTE_MS,
  weight: 1,
  rows: 3_000,
  newPerDay: 20,
  newAt: 'anywhere',
  gonePerDay: 20,
  editsPerDay: 500,
  editsMove: true,
};

/** Published whole. */
const aiSignals: Spec = {
  ...still,
  name: 'ai-signals',
  targetMs: 2 * MINUTE_MS,
  weight: 3,
  rows: 1_000,
  expires: true,
  published: { everyMs: 10 * MINUTE_MS, newRows: 5, editedRows: 50 },
};

/** One call, one row. */
const usage: Spec = { ...still, name: 'usage', targetMs: 15 * MINUTE_MS, weight: 1, rows: 1 };

const usual = { begin, from: begin + 4 * DAY_MS, to: begin + 18 * DAY_MS };

export const usualWorld: World = {
  ...usual,
  name: 'the usual',
  specs: [news, memeSignals, smartWallets, aiSignals, usage],
};

const failing = { begin, from: begin + 10 * DAY_MS, to: begin + 18 * DAY_MS };

function withNews(name: string, change: Partial<Spec>): World {
  return { ...failing, name, specs: [{ ...news, ...change }, memeSignals, smartWallets, aiSignals, usage] };
}

/** News, with what may make its head worthless. What happens on a day happens on the first that is measured. */
export const failures: readonly World[] = [
  withNews('as it is', {}),
  withNews('10 rows pinned', { pinned: 10 }),
  withNews('60 rows pinned', { pinned: 60 }),
  withNews('120 rows pinned', { pinned: 120 }),
  withNews('new at the tail', { newAt: 'tail' }),
  withNews('new anywhere', { newAt: 'anywhere' }),
  withNews('the order turns', { turnsAt: failing.from }),
  withNews('the order turns, none expire', { turnsAt: failing.from, expires: false, gonePerDay: 0 }),
  withNews('40 % purged', { purgedAt: failing.from }),
  withNews('2,000 new a day', { newPerDay: 2_000 }),
];

/** Each dataset of a world gets its own chance, so that what is asked of one changes nothing in the others. */
export function chances(seed: number, count: number): Random[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => seededRandom(Math.floor(random() * 2 ** 31)));
}

/** What a call takes. */
export const CALL_MS = 250;

export type Pool = {
  /** Takes one call; false where none is left before the reset. */
  take(now: number): boolean;
  nextReset(now: number): number;
  budget(now: number): Budget;
};

export function createPool({ limit, periodMs, reserve }: Quota): Pool {
  const perPeriod = limit - reserve;
  let [period, used] = [-1, 0];
  const turn = (now: number) => {
    const current = Math.floor(now / periodMs);
    if (current !== period) [period, used] = [current, 0];
  };
  const nextReset = (now: number) => (Math.floor(now / periodMs) + 1) * periodMs;
  return {
    nextReset,
    take(now) {
      turn(now);
      if (used >= perPeriod) return false;
      used += 1;
      return true;
    },
    budget(now) {
      turn(now);
      return { remaining: perPeriod - used, nextInMs: nextReset(now) - now, perPeriod, periodMs };
    },
  };
}
