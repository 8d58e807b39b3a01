/** Rows of a moment that match, found by looking at them one by one. */

import type { ListedJob } from '../../job-list.ts';
import type { Connection } from '../../store/read.ts';
import type { Moment, Pages } from '../pages.ts';

export type Look = {
  moment: Moment;
  matches(json: string): boolean;
  /** Asked now and then. Where it says no, nothing is found: `undefined`. */
  isWanted(): boolean;
};

/** How many rows are looked at before it is asked again whether anybody waits. */
export const ROWS_AT_ONCE = 256;

/**
 * Reads the rows as they are now one after the other, which is much faster, and those that have changed since the moment as
 * they were then.
 * @param numbers those of all its rows, in any order.
 */
export function lookAtAll(
  connection: Connection,
  { numbered, rowJson }: ListedJob,
  pages: Pages,
  numbers: Float64Array,
  look: Look,
): Set<number> | undefined {
  const { moment, matches, isWanted } = look;
  const rows = connection
    .prepare<[string], [number, string]>(
      `SELECT rowid, ${rowJson} FROM ${numbered} AS row WHERE _changed_at <= ? ORDER BY rowid`,
    )
    .raw();
  const upwards = numbers.toSorted();
  const found = new Set<number>();
  const changedSince: number[] = [];
  let next = 0;
  let looked = 0;
  for (const [number, json] of rows.iterate(moment.at.at)) {
    for (; (upwards[next] ?? number) < number; next += 1) changedSince.push(upwards[next] as number);
    if (upwards[next] !== number) continue;
    next += 1;
    looked += 1;
    if (matches(json)) found.add(number);
    if (looked % ROWS_AT_ONCE === 0 && !isWanted()) return undefined;
  }
  return lookAt(pages, [...changedSince, ...upwards.subarray(next)], look, found);
}

/** @param found what is found is added to it. */
export function lookAt(
  pages: Pages,
  numbers: readonly number[],
  { moment, matches, isWanted }: Look,
  found = new Set<number>(),
): Set<number> | undefined {
  for (let from = 0; from < numbers.length; from += ROWS_AT_ONCE) {
    if (!isWanted()) return undefined;
    const some = numbers.slice(from, from + ROWS_AT_ONCE);
    for (const [place, json] of pages.readRows(moment, some).entries())
      if (json !== undefined && matches(json)) found.add(some[place] as number);
  }
  return found;
}
