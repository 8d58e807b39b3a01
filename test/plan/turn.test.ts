import { expect, it } from 'vitest';
import { type DatasetState, nextTurn } from '../../src/plan/turn.ts';
import type { Intervals } from '../../src/plan.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = 1_000 * DAY;

const intervals: Intervals = { everySeconds: 300, glanceEverySeconds: null, waitsForMore: false };
const glancing: Intervals = { ...intervals, everySeconds: 5 * 3_600, glanceEverySeconds: 1_800 };

/** Every five minutes; walked just now, unless told otherwise. */
const turn = (given: Partial<DatasetState>) => {
  const walkedAt = given.walkedAt === undefined ? NOW : given.walkedAt;
  const state: DatasetState = {
    schedule: { every: 5 * MINUTE },
    targetSeconds: 300,
    intervals,
    walkedAt,
    lookedAt: walkedAt,
    moreAt: Number.POSITIVE_INFINITY,
    ...given,
  };
  const { at, kind } = nextTurn(state, NOW);
  return [kind, at - NOW];
};

it('leaves it to the schedule where that is kept', () => {
  expect(turn({})).toEqual(['walk', 0]);
});

it('is a walk at once where none has finished, or nothing is planned', () => {
  const slow = { ...intervals, everySeconds: 3_600 };
  expect(turn({ intervals: slow })).toEqual(['walk', HOUR]);
  expect(turn({ intervals: slow, walkedAt: null })).toEqual(['walk', 0]);
  expect(turn({ intervals: glancing, walkedAt: null, lookedAt: NOW })).toEqual(['walk', 0]);
  expect(turn({ intervals: null })).toEqual(['walk', 0]);
  expect(turn({ intervals: slow, schedule: 'off' })).toEqual(['walk', 0]);
});

it('spaces the runs of a pattern by as much as the plan makes them rarer, and by a day at most', () => {
  const daily = { schedule: { cron: '0 9-17 * * *' }, targetSeconds: 16 * 3_600 };
  const rarer = { ...intervals, everySeconds: 24 * 3_600 };
  // 1,000 days are full days: midnight. The next slots are nine and ten, an hour apart.
  expect(turn({ ...daily, intervals: rarer })).toEqual(['walk', 1.5 * HOUR]);
  expect(turn({ intervals: { ...intervals, everySeconds: 1e9 } })).toEqual(['walk', DAY]);
});

it('is a glance until a walk is due', () => {
  expect(turn({ intervals: glancing })).toEqual(['glance', 30 * MINUTE]);
  expect(turn({ intervals: glancing, lookedAt: NOW - 20 * MINUTE })).toEqual(['glance', 10 * MINUTE]);
  expect(turn({ intervals: glancing, walkedAt: NOW - 4.5 * HOUR, lookedAt: NOW - HOUR })).toEqual([
    'glance',
    0,
  ]);
  expect(turn({ intervals: glancing, walkedAt: NOW - 5 * HOUR, lookedAt: NOW - HOUR })).toEqual(['walk', 0]);
});

it('goes on with a glance that is unfinished', () => {
  expect(turn({ intervals: glancing, lookedAt: null })).toEqual(['glance', 0]);
});

it('leaves out a glance so shortly before a walk that the walk may as well look', () => {
  const looked = { intervals: glancing, walkedAt: NOW - 4 * HOUR };
  expect(turn({ ...looked, lookedAt: NOW + 25 * MINUTE })).toEqual(['glance', 30 * MINUTE]);
  expect(turn({ ...looked, lookedAt: NOW })).toEqual(['glance', 30 * MINUTE]);
  expect(turn({ intervals: glancing, walkedAt: NOW - 4.45 * HOUR, lookedAt: NOW })).toEqual([
    'walk',
    33 * MINUTE,
  ]);
  // Where glances keep the schedule, a tick that comes a moment before the walk is due.
  const thrifty = { ...intervals, everySeconds: 3_600, glanceEverySeconds: 300 };
  expect(turn({ intervals: thrifty, walkedAt: NOW - HOUR + 3, lookedAt: NOW - 5 * MINUTE })).toEqual([
    'walk',
    3,
  ]);
  expect(turn({ intervals: thrifty, walkedAt: NOW - HOUR / 2, lookedAt: NOW - 1 })).toEqual(['glance', 0]);
});

it('asks again when more calls come', () => {
  const slow = { ...intervals, everySeconds: 3_600 };
  expect(turn({ intervals: slow, moreAt: NOW + MINUTE })[1]).toBe(MINUTE);
  expect(turn({ intervals: glancing, moreAt: NOW + MINUTE })[1]).toBe(MINUTE);
  expect(turn({ intervals: slow, moreAt: NOW - MINUTE })[1]).toBe(0);
});

it('is not put off by a clock that was ahead', () => {
  const slow = { ...intervals, everySeconds: 3_600 };
  expect(turn({ intervals: slow, walkedAt: NOW + 365 * DAY })).toEqual(['walk', HOUR]);
  expect(turn({ intervals: glancing, lookedAt: NOW + 365 * DAY })).toEqual(['glance', 30 * MINUTE]);
});

it('begins no walk that the calls left would cut in two, for a day at most', () => {
  const dear = { ...intervals, waitsForMore: true };
  expect(turn({ intervals: dear, moreAt: NOW + 2 * HOUR })).toEqual(['walk', 2 * HOUR]);
  expect(turn({ intervals: dear, moreAt: NOW + 2 * HOUR, walkedAt: null })).toEqual(['walk', 0]);
  expect(turn({ intervals: dear, moreAt: NOW + 20 * DAY, walkedAt: NOW - HOUR })).toEqual([
    'walk',
    23 * HOUR,
  ]);
  const glancing = { ...dear, glanceEverySeconds: 1_800 };
  expect(turn({ intervals: glancing, moreAt: NOW + 2 * HOUR, lookedAt: NOW })).toEqual([
    'glance',
    30 * MINUTE,
  ]);
});

it('asks again at half of the time where it waits for more calls: others may have left some', () => {
  const asks = (everySeconds: number, moreAt: number) =>
    nextTurn(
      {
        schedule: { every: 5 * MINUTE },
        targetSeconds: 300,
        intervals: { ...intervals, everySeconds },
        walkedAt: NOW,
        lookedAt: NOW,
        moreAt,
      },
      NOW,
    ).askAt - NOW;
  expect(asks(3_600, NOW + 10 * HOUR)).toBe(HOUR);
  expect(asks(24 * 3_600, NOW + 10 * HOUR)).toBe(5 * HOUR);
  expect(asks(3_600, NOW + 90_000)).toBe(60_000);
  expect(asks(3_600, NOW + 20_000)).toBe(20_000);
  expect(asks(3_600, Number.POSITIVE_INFINITY)).toBe(HOUR);
});
