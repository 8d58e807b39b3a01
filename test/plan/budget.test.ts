import { describe, expect, it } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import { budgetOf } from '../../src/plan/budget.ts';
import type { QuotaStatus } from '../../src/plan/limits.ts';

const HOUR = 3_600_000;
const now = Date.parse('2026-11-21T12:00:00Z');

/** 60 calls of 100 left; 100 more in 20 minutes, and every hour. */
const quota: QuotaStatus = {
  limit: 100,
  remaining: 60,
  asOf: isoTime(now - 60_000),
  reserve: 4,
  refill: {
    kind: 'window',
    nextBy: isoTime(now + HOUR / 3),
    periodSeconds: 3_600,
    perHour: null,
    confidence: 'sure',
    evidence: 'it was seen to',
  },
  othersPerHour: 0,
  apart: [],
};
const refill = (changes: Partial<QuotaStatus['refill']>) => ({
  ...quota,
  refill: { ...quota.refill, ...changes },
});

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
    expect(budgetOf({ ...quota, asOf: isoTime(now - HOUR) }, now)).toMatchObject({ remaining: 96 });
  });

  it('is what comes back by and by', () => {
    const trickle = refill({ kind: 'trickle', nextBy: null, periodSeconds: null, perHour: 10 });
    expect(budgetOf(trickle, now)).toMatchObject({ remaining: 56 + 240, nextInMs: 24 * HOUR });
  });

  it.each([
    ['a quota never reported', { ...quota, remaining: null }, /not reported/],
    ['a period never seen', refill({ kind: 'unknown', nextBy: null }), /when more calls come is not known/],
    ['a guess', refill({ confidence: 'guess' }), /when more calls come is not known: it was seen to/],
  ])('is unknown, of %s', (_, unknown, why) => {
    expect(budgetOf(unknown, now)).toEqual({ unknown: expect.stringMatching(why) });
  });

  it('counts on what is likely', () => {
    expect(budgetOf(refill({ confidence: 'likely' }), now)).toMatchObject({ perPeriod: 96 });
  });
});
