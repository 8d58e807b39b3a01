/** The calendar of changes. */

import { expect, test } from 'vitest';
import { changesByDay, endOf, monthAfter, weeksOf } from '../../web/parts/calendar.ts';

test('a month has all its days once, in weeks from Monday on', () => {
  for (let month = '2024-01'; month < '2029-01'; month = monthAfter(month, 1)) {
    const weeks = weeksOf(month);
    const days = weeks.flat().filter((day) => day !== null);
    expect(weeks.every((week) => week.length === 7)).toBe(true);
    expect(days.at(-1)?.slice(8)).toBe(String(days.length));
    expect(monthAfter(month, -1) < month).toBe(true);
    for (const week of weeks)
      for (const [place, day] of week.entries())
        if (day) expect((new Date(day).getUTCDay() + 6) % 7).toBe(place);
  }
  expect(weeksOf('2024-02').flat().filter(Boolean)).toHaveLength(29);
});

test('changes count on the day on which they came', () => {
  const hour = (text: string) => Date.parse(text) / 3_600_000;
  const rows = [
    [hour('2026-11-21T23:00Z'), 1],
    [hour('2026-11-22T00:00Z'), 2],
    [hour('2026-11-22T23:00Z'), 4],
  ];
  expect([...changesByDay({ rows } as never, 'utc')]).toEqual([
    ['2026-11-21', 1],
    ['2026-11-22', 6],
  ]);
});

test('a day ends where the next begins', () => {
  expect(endOf('2026-12-31', 'utc')).toBe(Date.UTC(2027, 0, 1));
});
