import { describe, expect, it } from 'vitest';
import { isRestless, type Motion, motionsOfWalk, noMotion, observe } from '../../src/validate/motion.ts';

type Members = Record<string, unknown>;

/** What walks in a row show of rows of one page each. @param rows gives row `at` as walk `walk` shows it. */
function watch(walks: number, rows: (walk: number, at: number) => Members, count = 20): Motion[] {
  let known: Motion[] = [];
  for (let walk = 1; walk <= walks; walk += 1) {
    const seen = noMotion();
    observe(
      seen,
      Array.from({ length: count }, (_, at) => [rows(walk - 1, at), rows(walk, at)] as const),
    );
    known = motionsOfWalk(known, seen);
  }
  return known;
}

const agesOf = (motions: readonly Motion[]) =>
  motions.filter(({ isAge }) => isAge).map(({ path }) => path.join('.'));

describe('an age', () => {
  it.each<[string, (walk: number, at: number) => Members]>([
    ['moves by the same amount in all rows', (walk, at) => ({ id: at, age: at * 7 + walk * 60 })],
    ['may be a text', (walk, at) => ({ id: at, age: String(at * 7 + walk * 60) })],
    [
      'may be rounded',
      (walk, at) => ({ id: at, age: Number((at * 0.7 + walk * 1.04 + ((at * walk) % 2) / 10).toFixed(1)) }),
    ],
    ['may be a time', (walk, at) => ({ id: at, age: new Date(1e12 + at * 5e6 + walk * 6e4).toISOString() })],
    ['moves whatever else moves', (walk, at) => ({ id: at, price: at * walk * 1.37, age: at + walk * 60 })],
    ['may stand still in some rows', (walk, at) => ({ id: at, age: at === 3 ? 5 : at + walk * 60 })],
  ])('%s', (_, rows) => {
    expect(agesOf(watch(3, rows))).toEqual(['age']);
    expect(agesOf(watch(2, rows))).toEqual([]);
  });

  it('may lie in an object', () => {
    expect(agesOf(watch(3, (walk, at) => ({ id: at, stats: { age: at + walk } })))).toEqual(['stats.age']);
  });

  it.each<[string, (walk: number, at: number) => Members, number?]>([
    ['what moves by other amounts', (walk, at) => ({ id: at, views: at + walk * (at + 1) })],
    ['a status', (walk, at) => ({ id: at, status: walk % 2 ? 'open' : 'closed' })],
    ['what moves in a few rows', (walk, at) => ({ id: at, n: at < 5 ? walk : at })],
    ['what too few rows show', (walk, at) => ({ id: at, age: at + walk * 60 }), 9],
    ['what moves once', (walk, at) => ({ id: at, n: at + Math.min(walk, 1) })],
  ])('is not %s', (_, rows, count) => {
    expect(agesOf(watch(5, rows, count))).toEqual([]);
  });

  it('ends to be one where three walks in a row find it otherwise', () => {
    const rows = (until: number) => (walk: number, at: number) => ({
      id: at,
      n: at + Math.min(walk, until) * 60 + Math.max(walk - until, 0) * at * 3,
    });
    expect(agesOf(watch(5, rows(3)))).toEqual(['n']);
    expect(agesOf(watch(6, rows(3)))).toEqual([]);
  });
});

it('a field that changes most rows at each walk is named, and is no age', () => {
  const motions = watch(3, (walk, at) => ({ id: at, price: at * 10 + ((at * walk * 7) % 13) }));
  expect(motions.filter(isRestless).map(({ path }) => path)).toEqual([['price']]);
  expect(agesOf(motions)).toEqual([]);
});
