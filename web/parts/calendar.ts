/** When something changed: days and moments, as clocks show them. */

import type { PageQuestion } from '../../src/serve/page/wire.ts';
import { clockTime, DAY_MS, fromClock, MINUTE_MS, type Zone } from '../formats.ts';
import type { Answer } from '../service.ts';

/** `2026-11-22`. */
export type Day = string;
/** `2026-11`. */
export type Month = string;

export const dayOf = (at: number, zone: Zone): Day => clockTime(at, zone, 'day');
export const monthOf = (day: Day): Month => day.slice(0, 7);

export function monthAfter(month: Month, months: number): Month {
  const date = new Date(`${month}-01T00:00:00Z`);
  date.setUTCMonth(date.getUTCMonth() + months);
  return date.toISOString().slice(0, 7);
}

/** Weeks from Monday on; null outside of the month. */
export function weeksOf(month: Month): (Day | null)[][] {
  const first = new Date(`${month}-01T00:00:00Z`);
  const before = (first.getUTCDay() + 6) % 7;
  const days = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const places = Array.from({ length: Math.ceil((before + days) / 7) * 7 }, (_, place) => {
    const day = place - before + 1;
    return day < 1 || day > days ? null : `${month}-${String(day).padStart(2, '0')}`;
  });
  return Array.from({ length: places.length / 7 }, (_, week) => places.slice(week * 7, week * 7 + 7));
}

/** A day by the clock of some place begins at any of them. */
const QUARTER_MS = 15 * MINUTE_MS;

export function changesOfMonth(month: Month, zone: Zone): PageQuestion {
  return {
    sql: `SELECT last_seq / ${QUARTER_MS} AS quarter, sum(inserted + updated + deleted) AS changes
FROM walks WHERE last_seq >= :from AND last_seq < :until GROUP BY 1`,
    params: { from: startOf(`${month}-01`, zone), until: startOf(`${monthAfter(month, 1)}-01`, zone) },
    limit: 4_000,
  };
}

export function changesByDay({ rows }: Pick<Answer, 'rows'>, zone: Zone): Map<Day, number> {
  const days = new Map<Day, number>();
  for (const [quarter, changes] of rows) {
    const day = dayOf(Number(quarter) * QUARTER_MS, zone);
    days.set(day, (days.get(day) ?? 0) + Number(changes));
  }
  return days;
}

/** The latest first. */
export function changesOfDay(day: Day, zone: Zone, limit: number): PageQuestion {
  return {
    sql: `SELECT last_seq, job, inserted, updated, deleted
FROM walks WHERE last_seq >= :from AND last_seq < :until ORDER BY last_seq DESC`,
    params: { from: startOf(day, zone), until: endOf(day, zone) },
    limit,
  };
}

const startOf = (day: Day, zone: Zone) => fromClock(`${day}T00:00:00`, zone) ?? 0;

/** The parameters of the view of changes for this day. */
export const dayOfChanges = (day: Day, zone: Zone) => ({
  from: new Date(startOf(day, zone)).toISOString(),
  to: new Date(endOf(day, zone) - 1).toISOString(),
});

/** A day of a changed clock has 23 or 25 hours. */
export function endOf(day: Day, zone: Zone): number {
  const next = new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);
  return startOf(next, zone);
}
