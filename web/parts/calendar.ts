/** When something changed: days and moments, as clocks show them. */

import type { PageQuestion } from '../../src/serve/page/wire.ts';
import { clockTime, DAY_MS, fromClock, type Zone } from '../formats.ts';
import { askOf, condition } from '../question.ts';
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

const columns = ['last_seq', 'job', 'inserted', 'updated', 'deleted'];
/** A walk each half a minute, all month long. */
const MOST_WALKS = 90_000;

/** The walks of a month that changed something, the latest first. */
export function walksOfMonth(month: Month, zone: Zone): PageQuestion {
  const [from, until] = [month, monthAfter(month, 1)].map((one) => String(startOf(`${one}-01`, zone)));
  return {
    ask: askOf({
      ...{ table: 'walks', select: columns, limit: MOST_WALKS },
      where: [condition('last_seq', 'gte', from), condition('last_seq', 'lt', until)],
      order: [{ column: 'last_seq', descending: true }],
    }),
    limit: MOST_WALKS,
  };
}

/** `at`: the moment of its latest change, in epoch milliseconds. */
export type ChangingWalk = { at: number; job: string; inserted: number; updated: number; deleted: number };

export function walksByDay({ rows }: Pick<Answer, 'rows'>, zone: Zone): Map<Day, ChangingWalk[]> {
  const days = new Map<Day, ChangingWalk[]>();
  for (const [seq, job, ...counts] of rows) {
    const [inserted = 0, updated = 0, deleted = 0] = counts.map(Number);
    const walk = { at: Number(seq), job: String(job), inserted, updated, deleted };
    const day = dayOf(walk.at, zone);
    const known = days.get(day);
    if (known) known.push(walk);
    else days.set(day, [walk]);
  }
  return days;
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
