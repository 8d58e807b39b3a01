import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs } from '../../src/api/backoff.ts';

test('pauses grow, are jittered, and never pass ten seconds', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, roll) => {
        const step = Math.min(10_000, 500 * 2 ** (attempt - 1));
        expect(backoffMs(attempt, roll)).toBeGreaterThanOrEqual(step / 4);
        expect(backoffMs(attempt, roll)).toBeLessThanOrEqual(step);
      },
    ),
  );
  expect(backoffMs(1, 0.1)).not.toBe(backoffMs(1, 0.9));
});
