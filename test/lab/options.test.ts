/** The command lines of what measures: each option refuses what it cannot read. */

import { expect, test } from 'vitest';
import { median } from '../../lab/figures.ts';
import { listOf, oneOf, positive, whole } from '../../lab/options.ts';

test('an option takes what it names, and refuses the rest', () => {
  expect([whole(1)('5'), positive('0.5'), listOf(oneOf(['a', 'b']))('a,b')]).toEqual([5, 0.5, ['a', 'b']]);
  for (const read of [
    () => whole(1)('0'),
    () => whole()('many'),
    () => positive('0'),
    () => oneOf(['a'])('b'),
  ])
    expect(read).toThrow(/^It is /);
});

test('a median is the value in the middle, whatever the order', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([10, 9, 1, 2])).toBe(9);
  expect(median([])).toBeNaN();
});
