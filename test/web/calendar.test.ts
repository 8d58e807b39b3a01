/** The calendar of changes. */

import { expect, test } from 'vitest';
import type { Zone } from '../../web/formats.ts';
import { endOf, monthAfter, walksByDay, walksOfMonth, weeksOf } from '../../web/parts/calendar.ts';
import { inZone } from './in-zone.ts';

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

/** How many changes the calendar shows on each day, of a walk with one change at each of these times. */
const shownOf = (times: readonly string[], zone: Zone) =>
  [...walksByDay({ rows: times.map((time) => [Date.parse(time), 'news', 1, 0, 0]) }, zone)].map(
    ([day, walks]) => [day, walks.length],
  );

test('changes count on the day on which they came, wherever one is, and are asked for by the month of that place', () => {
  expect(shownOf(['2026-11-21T23:59Z', '2026-11-22T00:00Z', '2026-11-22T23:00Z'], 'utc')).toEqual([
    ['2026-11-21', 1],
    ['2026-11-22', 2],
  ]);
  // Days begin at half hours, too.
  inZone('Asia/Kolkata', () => {
    const { ask } = walksOfMonth('2026-11', 'local') as { ask: string };
    const [from, until] = new URLSearchParams(ask.split('?')[1]).getAll('last_seq');
    const at = (time: string) => Date.parse(time);
    expect([from, until]).toEqual([`gte.${at('2026-10-31T18:30Z')}`, `lt.${at('2026-11-30T18:30Z')}`]);
    expect(shownOf(['2026-11-21T18:29Z', '2026-11-21T18:31Z'], 'local')).toEqual([
      ['2026-11-21', 1],
      ['2026-11-22', 1],
    ]);
  });
  expect(endOf('2026-12-31', 'utc')).toBe(Date.UTC(2027, 0, 1));
});
