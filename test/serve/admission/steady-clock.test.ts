import fc from 'fast-check';
import { expect, test } from 'vitest';
import { steadyClock } from '../../../src/serve/service/limits.ts';
import { virtualClock } from '../../helpers/virtual-clock.ts';

const moves = fc.array(
  fc.record({
    passes: fc.integer({ min: 0, max: 10_000 }),
    jumps: fc.oneof(fc.constant(0), fc.integer({ min: -1e9, max: 1e9 })),
  }),
);

test('it never goes back, and never stands still, whatever is done to the clock', () => {
  fc.assert(
    fc.property(moves, fc.integer({ min: -1e9, max: 1e9 }), (steps, ahead) => {
      const clock = virtualClock();
      const now = steadyClock(clock, clock.now() + ahead);
      let before = now();
      for (const { passes, jumps } of steps) {
        clock.advance(passes);
        clock.jump(jumps);
        const at = now();
        expect(at - before).toBeGreaterThanOrEqual(passes);
        expect(at).toBeGreaterThanOrEqual(clock.now());
        before = at;
      }
    }),
  );
});

test('it follows the clock that nobody touches, and one that was set ahead or slept', () => {
  const clock = virtualClock();
  const now = steadyClock(clock, 0);
  clock.advance(5_000);
  expect(now()).toBe(clock.now());
  clock.jump(3_600_000);
  expect(now()).toBe(clock.now());
});

test('a clock that is set back and ahead again has not moved', () => {
  const clock = virtualClock();
  const now = steadyClock(clock, 0);
  const before = now();
  clock.jump(-3_600_000);
  expect(now()).toBe(before);
  clock.jump(3_600_000);
  expect(now()).toBe(before);
});
