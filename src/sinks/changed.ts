/**
 * Which rows and versions of a dataset came, changed or ended after some change. No index says so, for every change would pay
 * for it; but rows are numbered as they come, and versions as they end, so the latest are found from the end.
 */

import { isoTime } from '../clock.ts';
import type { ListedJob } from '../job-list.ts';
import { type Connection, quoted } from '../store/read.ts';

/** SQL for the WHERE of a table: of the rows as queries name them, and of the history. */
export type Changed = { rows: string; versions: string };

/** @param seq see the view `changes`. */
export function changedAfter(connection: Connection, job: ListedJob, seq: number): Changed {
  const at = isoTime(seq);
  /** The last number by then: only rows that have changed since lie before it, and they left a version. */
  const lastBy = (table: string, column: string) =>
    connection
      .prepare<[string], number>(
        `SELECT rowid FROM ${quoted(table)} WHERE ${quoted(column)} <= ? ORDER BY rowid DESC LIMIT 1`,
      )
      .pluck()
      .get(at) ?? 0;
  const { rows: stored, versions: ended } = job;
  const came = `SELECT _key FROM ${quoted(stored)} WHERE rowid > ${lastBy(stored, '_changed_at')}`;
  if (ended === null) return { rows: `_key IN (${came})`, versions: 'false' };
  const versions = `rowid > ${lastBy(ended, '_valid_to')}`;
  const changed = `SELECT _key FROM ${quoted(ended)} WHERE ${versions} AND _ended_by = 'update'`;
  return { rows: `_key IN (${came} UNION ${changed})`, versions };
}
