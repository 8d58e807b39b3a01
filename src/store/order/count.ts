/** How many rows a dataset holds, without a look at all of them. */

import type { Connection } from '../connection.ts';
import { quoted } from '../sql.ts';

/**
 * The last order names all rows that were held at its proof; those that came since have the numbers behind `top`, one after
 * the other, for rows leave with a proof alone. Where there is no order yet the rows are counted.
 * @param table the one in which they lie.
 */
export function countRows(connection: Connection, job: string, table: string): number {
  const number = (sql: string) => connection.prepare<string[], number | null>(sql).pluck();
  const last = connection
    .prepare<[string], { rows: number; top: number }>(
      'SELECT rows, top FROM orders WHERE job = ? ORDER BY seq DESC LIMIT 1',
    )
    .get(job);
  if (!last) return number(`SELECT count(*) FROM ${quoted(table)}`).get() ?? 0;
  const greatest = number(`SELECT max(rowid) FROM ${quoted(table)}`).get() ?? 0;
  return last.rows + Math.max(0, greatest - last.top);
}

/** How many rows the last proof found; undefined where there was none. */
export function countMet(connection: Connection, job: string): number | undefined {
  return connection
    .prepare<[string], number>('SELECT met FROM orders WHERE job = ? ORDER BY seq DESC LIMIT 1')
    .pluck()
    .get(job);
}
