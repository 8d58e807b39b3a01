/** The calendar of changes. */

import { expect, test } from 'vitest';
import type { PageCell } from '../../src/serve/page/wire.ts';
import { Database } from '../../src/store/sqlite.ts';
import type { Zone } from '../../web/formats.ts';
import { changesByDay, changesOfMonth, endOf, monthAfter, weeksOf } from '../../web/parts/calendar.ts';
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

const db = new Database(':memory:');
db.exec('CREATE TABLE walks (last_seq, inserted, updated, deleted)');

/** How many changes the calendar shows on each day, of a walk with one change at each of these times. */
function shownOf(times: readonly string[], month: string, zone: Zone) {
  db.exec('DELETE FROM walks');
  for (const time of times) db.prepare('INSERT INTO walks VALUES (?, 1, 0, 0)').run(Date.parse(time));
  const { sql, params } = changesOfMonth(month, zone);
  const rows = db
    .prepare<[Record<string, unknown>], PageCell[]>(sql)
    .raw()
    .all({ ...params });
  return [...changesByDay({ rows }, zone)];
}

test('changes count on the day on which they came, wherever one is', () => {
  const late = ['2026-10-31T23:59:59.999Z', '2026-11-21T23:59Z', '2026-11-22T00:00Z', '2026-11-22T23:00Z'];
  expect(shownOf(late, '2026-11', 'utc')).toEqual([
    ['2026-11-21', 1],
    ['2026-11-22', 2],
  ]);
  // Days begin at half and at quarter hours, too.
  inZone('Asia/Kolkata', () =>
    expect(shownOf(['2026-11-21T18:29Z', '2026-11-21T18:31Z'], '2026-11', 'local')).toEqual([
      ['2026-11-21', 1],
      ['2026-11-22', 1],
    ]),
  );
  inZone('Asia/Kathmandu', () =>
    expect(shownOf(['2026-11-21T18:14Z', '2026-11-21T18:16Z'], '2026-11', 'local')).toEqual([
      ['2026-11-21', 1],
      ['2026-11-22', 1],
    ]),
  );
});

test('a day ends where the next begins', () => {
  expect(endOf('2026-12-31', 'utc')).toBe(Date.UTC(2027, 0, 1));
});
