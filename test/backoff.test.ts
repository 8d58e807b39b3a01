import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs, doubledMs } from '../src/base/backoff.ts';

const pauses = { firstMs: 500, longestMs: 10_000 };

test('pauses double, and never pass the longest', () => {
  expect([1, 2, 3, 6, 60].map((failures) => doubledMs(failures, pauses))).toEqual([
    500, 1_000, 2_000, 10_000, 10_000,
  ]);
});

test('those that failed together come back at different times, within a half and all of the pause', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failures, roll) => {
        const most = doubledMs(failures, pauses);
        expect(backoffMs(failures, pauses, roll)).toBeGreaterThanOrEqual(most / 2);
        expect(backoffMs(failures, pauses, roll)).toBeLessThanOrEqual(most);
      },
    ),
  );
  expect(backoffMs(1, pauses, 0.1)).not.toBe(backoffMs(1, pauses, 0.9));
});
