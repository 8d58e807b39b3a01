import { describe, expect, test } from 'vitest';
import { intervalOf, nextDue, parseSchedule, runsWithin } from '../src/base/schedule.ts';

const minute = 60_000;
const noon = Date.UTC(2026, 10, 20, 12); // a Friday

test.each([
  ['every 2m', { every: 2 * minute }],
  ['  every   1.5h ', { every: 90 * minute }],
  ['every 1 day', { every: 24 * 60 * minute }],
  ['*/5 * * * *', { cron: '*/5 * * * *' }],
  ['off', 'off'],
])('a schedule is %s', (text, schedule) => {
  expect(parseSchedule(text)).toEqual(schedule);
});

test('what is no schedule is refused with an example of one', () => {
  const intervals = ['every 10ms', 'every 31d', 'every -5m', 'every NaN', 'every two minutes'];
  for (const text of [...intervals, `every ${'9'.repeat(200)}`])
    expect(() => parseSchedule(text), text).toThrow('"every 2m"');
  for (const text of ['', 'never', '2m', '61 * * * *', '* * *', '0 0 30 2 *', 'every'])
    expect(() => parseSchedule(text), text).toThrow('"*/5 * * * *"');
});

test.each([
  ['every 2m', 2 * minute],
  ['*/5 * * * *', 5 * minute],
  ['0 9 * * *', 24 * 60 * minute],
  ['off', Number.POSITIVE_INFINITY],
])('under %s a copy may become so old: %d', (text, interval) => {
  expect(intervalOf(parseSchedule(text), noon)).toBe(interval);
});

describe('a day of runs', () => {
  const day = 24 * 60 * minute;

  test.each([
    ['every 2m', 720, 2 * minute],
    ['every 2d', 0.5, 2 * day],
    ['*/5 * * * *', 288, 5 * minute],
    ['*/30 9-16 * * *', 16, 16.5 * 60 * minute],
    ['0 12 * * *', 1, day],
    ['0 9 * * 1', 0, 7 * day],
    ['off', 0, Number.POSITIVE_INFINITY],
  ])('under %s is %d of them, at most so far apart', (text, runs, longestMs) => {
    expect(runsWithin(parseSchedule(text), noon, day)).toEqual({ runs, longestMs });
  });
});

test.each([
  ['one interval after it was begun', { every: 5 * minute }, noon - minute, noon + 4 * minute],
  ['now, where that is past', { every: minute }, noon - 60 * minute, noon],
  ['now, where it was never begun', { every: minute }, null, noon],
  [
    'at the next time that its pattern names, in UTC',
    { cron: '30 9 * * *' },
    noon - minute,
    noon + 21.5 * 60 * minute,
  ],
  ['never, where it is off', 'off', noon, null],
] as const)('a dataset is next due %s', (_, schedule, begunAt, due) => {
  expect(nextDue(schedule, begunAt, noon)).toBe(due);
});
