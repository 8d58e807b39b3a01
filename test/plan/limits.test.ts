import { describe, expect, it } from 'vitest';
import { budgetOf, type Limits } from '../../src/plan/limits.ts';

const HOUR = 3_600_000;
const now = Date.parse('2026-11-21T12:00:00Z');

/** 60 calls of 100 left; 100 more in 20 minutes, and every hour. */
const quota: Limits['quota'] = {
  limit: 100,
  remaining: 60,
  asOf: now - 60_000,
  reserve: 4,
  refill: {
    kind: 'window',
    nextBy: now + HOUR / 3,
    periodMs: HOUR,
    confidence: 'sure',
    evidence: 'it was seen to',
  },
  othersPerHour: 0,
  apart: [],
};
const refill = (changes: object): Limits['quota'] => ({ ...quota, refill: { ...quota.refill, ...changes } });

describe('what may be spent', () => {
  it('is what is left until more come, then the limit of each period, but for the reserve', () => {
    expect(budgetOf(quota, now)).toEqual({
      remaining: 56,
      nextInMs: HOUR / 3,
      perPeriod: 96,
      periodMs: HOUR,
    });
  });

  it('is less by what others take meanwhile', () => {
    expect(budgetOf({ ...quota, othersPerHour: 30 }, now)).toMatchObject({ remaining: 46, perPeriod: 66 });
  });

  it('is a full period where it began anew since the API last told', () => {
    expect(budgetOf({ ...quota, asOf: now - HOUR }, now)).toMatchObject({ remaining: 96 });
  });

  it('is what comes back by and by', () => {
    const trickle = refill({ kind: 'trickle', perHour: 10 });
    expect(budgetOf(trickle, now)).toMatchObject({ remaining: 56 + 240, nextInMs: 24 * HOUR });
  });

  it.each([
    ['a quota never reported', { ...quota, remaining: null }, /not reported/],
    ['a period not known', refill({ kind: 'unknown' }), /reset time not known yet: it was seen to/],
  ])('is unknown, of %s', (_, unknown, why) => {
    expect(budgetOf(unknown, now)).toEqual({ unknown: expect.stringMatching(why) });
  });
});
