import { expect, it } from 'vitest';
import { budgetOf, type Limits } from '../../src/plan/limits.ts';

const HOUR = 3_600_000;
const now = Date.parse('2026-11-21T12:00:00Z');

/** 60 calls of 100 left; 100 more in 20 minutes, and every hour. */
const window = { kind: 'window', nextBy: now + HOUR / 3, periodMs: HOUR } as const;
const known = { confidence: 'sure', evidence: 'it was seen to' } as const;
const quota: Limits['quota'] = {
  ...{ limit: 100, remaining: 60, asOf: now - 60_000, reserve: 4, othersPerHour: 0, apart: [] },
  refill: { ...window, ...known },
};
const refill = (changes: object) => ({ refill: { ...quota.refill, ...changes } });
const budget = { remaining: 56, nextInMs: HOUR / 3, perPeriod: 96, periodMs: HOUR };

it.each([
  ['what is left until more come, then the limit of each period, but for the reserve', {}, budget],
  ['less by what others take meanwhile', { othersPerHour: 30 }, { ...budget, remaining: 46, perPeriod: 66 }],
  [
    'a full period where it began anew since the API last said',
    { asOf: now - HOUR },
    { ...budget, remaining: 96 },
  ],
  [
    'what comes back by and by',
    refill({ kind: 'trickle', perHour: 10 }),
    { remaining: 56 + 240, nextInMs: 24 * HOUR, perPeriod: 240, periodMs: 24 * HOUR },
  ],
  [
    'unknown of a quota never reported',
    { remaining: null },
    { unknown: expect.stringMatching(/not reported/) },
  ],
  [
    'unknown of a period not known',
    refill({ kind: 'unknown' }),
    { unknown: expect.stringMatching(/reset time not known yet: it was seen to/) },
  ],
])('what may be spent is %s', (_, changes, expected) => {
  expect(budgetOf({ ...quota, ...changes } as Limits['quota'], now)).toEqual(expected);
});
