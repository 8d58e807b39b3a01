import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  parseConcurrency,
  parseQuota,
  parseRate,
  quotaKinds,
  renderQuota,
  renderRate,
} from '../../src/serve/service/limits.ts';

test('limits are read as they are written', () => {
  expect(parseQuota('1000/1h')).toEqual({ calls: 1_000, periodMs: 3_600_000, kind: 'fixed' });
  expect(parseQuota('7/90s,sliding')).toEqual({ calls: 7, periodMs: 90_000, kind: 'sliding' });
  expect(parseQuota('1000000/1d,refill')).toEqual({ calls: 1_000_000, periodMs: 86_400_000, kind: 'refill' });
  expect(parseRate('10/1s+20')).toEqual({ calls: 10, periodMs: 1_000, burst: 20 });
  expect(parseRate('10/1s')).toEqual({ calls: 10, periodMs: 1_000, burst: 10 });
  expect(parseConcurrency('4')).toBe(4);
});

test('and written as they are read, whatever they are', () => {
  const pace = { calls: fc.integer({ min: 1, max: 1_000 }), periodMs: fc.integer({ min: 1, max: 1e10 }) };
  fc.assert(
    fc.property(fc.record({ ...pace, kind: fc.constantFrom(...quotaKinds) }), (quota) => {
      expect(parseQuota(renderQuota(quota))).toEqual(quota);
    }),
  );
  fc.assert(
    fc.property(fc.record({ ...pace, burst: fc.integer({ min: 1, max: 1_000 }) }), (rate) => {
      expect(parseRate(renderRate(rate))).toEqual(rate);
    }),
  );
});

describe('what is no limit is refused, with what one looks like', () => {
  test.each([
    ...['', '1000', '1000/', '/1h', '0/1h', '-1/1h', '1.5/1h', '1e3/1h', '1000/1', '1000/0s', '1000/367d'],
    ...['1000/1h,fixd', '1000/1h,', '1000/1h,sliding,refill', '1000/1h+5', '1000/1h ', '2000000000/1h'],
    '1000000000/366d,refill',
  ])('a quota of %j', (text) => {
    expect(() => parseQuota(text)).toThrow(/such as 1000\/1h|fewer calls/);
  });

  test.each(['', '10', '10/1s+', '10/1s+0', '10/1s+1.5', '0/1s', '10/1s,refill', '1000000000/366d'])(
    'a rate of %j',
    (text) => {
      expect(() => parseRate(text)).toThrow(/such as 10\/1s|fewer calls/);
    },
  );

  test.each(['', '0', '-1', '1.5', '4x', '10001', '1e2'])('a concurrency of %j', (text) => {
    expect(() => parseConcurrency(text)).toThrow(/a whole number from 1 to 10000/);
  });

  test('but the ends of the range are limits', () => {
    expect(['1', '10000'].map(parseConcurrency)).toEqual([1, 10_000]);
  });
});
