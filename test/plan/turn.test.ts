import { describe, expect, it } from 'vitest';
import { type DatasetState, nextTurn } from '../../src/plan/turn.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const now = Date.UTC(2026, 0, 1);
const kept = { targetSeconds: 300, everySeconds: 300, glanceEverySeconds: null };
const longer = { targetSeconds: 300, everySeconds: 3_600, glanceEverySeconds: null };
const glanced = { ...longer, glanceEverySeconds: 600 };
const state: DatasetState = {
  planned: longer,
  walkedAt: now - MINUTE,
  lookedAt: now - MINUTE,
  moreAt: Number.POSITIVE_INFINITY,
};

describe('a dataset runs', () => {
  it.each<[string, Partial<DatasetState>, 'walk' | 'glance', number]>([
    ['a walk when the schedule says', { planned: kept }, 'walk', 0],
    ['a walk at once where nothing is planned', { planned: undefined }, 'walk', 0],
    ['a walk at once where one is unfinished, or a glance left a gap', { walkedAt: null }, 'walk', 0],
    ['a walk after the longer interval', {}, 'walk', 59 * MINUTE],
    ['a walk at once where that is over', { walkedAt: now - 2 * HOUR }, 'walk', 0],
    ['a walk in time after a clock that was ahead', { walkedAt: now + 9 * HOUR }, 'walk', HOUR],
    ['a glance between', { planned: glanced }, 'glance', 9 * MINUTE],
    ['a glance at once where one is unfinished', { planned: glanced, lookedAt: null }, 'glance', 0],
    ['no glance just before a walk', { planned: glanced, walkedAt: now - 51 * MINUTE }, 'walk', 9 * MINUTE],
  ])('%s', (_, changes, kind, inMs) => {
    const turn = nextTurn({ ...state, ...changes }, now);
    expect([turn.kind, turn.at - now]).toEqual([kind, inMs]);
  });

  it('and asks again after half of its wait, a minute at least, and when more calls come', () => {
    expect(nextTurn(state, now).askAt - now).toBe(29.5 * MINUTE);
    expect(nextTurn({ ...state, walkedAt: now - 58.5 * MINUTE }, now).askAt - now).toBe(MINUTE);
    expect(nextTurn({ ...state, moreAt: now + 2 * MINUTE }, now).askAt - now).toBe(2 * MINUTE);
    expect(nextTurn({ ...state, moreAt: now - MINUTE }, now).askAt - now).toBe(29.5 * MINUTE);
  });
});
