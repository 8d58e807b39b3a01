/** *The* rows of a dataset as they were at a moment: a version holds from `_valid_from` until just before `_valid_to`, the present one from `_changed_at`. */

import { quoted } from '../store/read.ts';

/**
 * SQL for those rows. Volatile values are the latest that there are: no version keeps those that were shown with it.
 * @param table as it is named behind FROM, and its history; null where that is the table itself.
 * @param columns of the table, and of them those that the history has.
 * @param at SQL for the moment, a text of ISO 8601 UTC with milliseconds.
 */
export function rowsAt(
  { table, history }: { table: string; history: string | null },
  columns: { present: readonly string[]; past: ReadonlySet<string> },
  at: string,
): string {
  // A row that became held later was not held then.
  const present = columns.present.map((name) =>
    name.startsWith('_held_')
      ? `CASE WHEN _held_since <= ${at} THEN ${quoted(name)} END AS ${quoted(name)}`
      : quoted(name),
  );
  const standing = `SELECT ${present.join(', ')} FROM ${table} WHERE _changed_at <= ${at}`;
  if (history === null) return standing;
  const past = columns.present.map((name) =>
    columns.past.has(name) ? quoted(name) : `NULL AS ${quoted(name)}`,
  );
  return `${standing}
UNION ALL SELECT ${past.join(', ')} FROM ${history} WHERE _valid_from <= ${at} AND _valid_to > ${at}`;
}
