import { expect, test } from 'vitest';
import { openFairShares } from '../../src/serve/fair-shares.ts';

function setup(places: number) {
  const shares = openFairShares(places);
  const gone: string[] = [];
  const take = (owner: string, name = owner) => shares.take(owner, () => gone.push(name));
  return { shares, gone, take };
}

test('one viewer may have all places, and then no more of them', () => {
  const { gone, take } = setup(3);
  expect(['1', '2', '3', '4'].map((name) => take('a', name) !== undefined)).toEqual([
    true,
    true,
    true,
    false,
  ]);
  expect(gone).toEqual([]);
});

test('another takes from who has most the oldest, until both have as many', () => {
  const { shares, gone, take } = setup(4);
  for (const name of ['1', '2', '3', '4']) take('a', name);
  expect(['5', '6', '7'].map((name) => take('b', name) !== undefined)).toEqual([true, true, false]);
  expect(gone).toEqual(['1', '2']);
  expect([shares.heldBy('a'), shares.heldBy('b')]).toEqual([2, 2]);
});

test('nobody gives way to one who would have as much', () => {
  const { gone, take } = setup(2);
  take('a');
  take('b');
  expect(take('c')).toBeUndefined();
  expect(gone).toEqual([]);
});

test('what was left, or taken away, is left once', () => {
  const { shares, take } = setup(2);
  const first = take('a');
  take('a');
  take('b');
  first?.leave();
  first?.leave();
  expect([shares.heldBy('a'), shares.heldBy('b')]).toEqual([1, 1]);
});
