/** The numbers of changes: each commit that changes rows takes one, greater than all before it, and a restore takes some back. */

import { type Connection, valueIn } from './connection.ts';

/**
 * Returns what gives a commit its number, for one that changes rows of the job: the time in epoch milliseconds, or,
 * where an earlier commit has that, one more than the latest. Call it inside the transaction, which must be immediate.
 * A reader that has seen everything up to some number misses nothing by going on from there: no later commit has the
 * same number or a smaller one, even where the clock stands still or goes back.
 * @param column where it is noted: as that of a change of rows, or of their order alone.
 */
export function createSequence(
  connection: Connection,
  column: 'last_seq' | 'order_seq' = 'last_seq',
): (job: string, now: number) => number {
  const latest = connection.prepare<[], number | null>(lastSeqSql).pluck();
  const keep = connection.prepare<[string, number]>(
    `INSERT INTO datasets (job, ${column}) VALUES (?, ?) ON CONFLICT DO UPDATE SET ${column} = excluded.${column}`,
  );
  return (job, now) => {
    // The clock tells parts of milliseconds, which no time in the mirror does.
    const seq = Math.max(Math.trunc(now), (latest.get() ?? 0) + 1);
    keep.run(job, seq);
    return seq;
  };
}

/** SQL for the greatest number that a change has, or a new order of rows, here or in the mirror before a restore. */
const lastSeqSql = `SELECT max(seq) FROM (
  SELECT max(coalesce(last_seq, 0), coalesce(order_seq, 0)) AS seq FROM datasets UNION ALL SELECT restored_seq FROM restores)`;

export const lastSeqOf = (connection: Connection): number => valueIn(connection, lastSeqSql) ?? 0;

/** Notes in a copy up to which number it has the changes of the mirror. */
export function beginRestore(copy: Connection): void {
  copy.exec('DELETE FROM restores WHERE restored_seq IS NULL');
  copy.prepare('INSERT INTO restores (backup_seq) VALUES (?)').run(lastSeqOf(copy));
}

/** Notes in a copy that takes the mirror's place, unless it is noted, up to which number the mirror before may have had changes. */
export function endRestore(copy: Connection, seq: number): void {
  copy
    .prepare('UPDATE restores SET restored_seq = max(?, backup_seq) WHERE restored_seq IS NULL')
    .run(Math.trunc(seq));
}

/**
 * Whether a change with the number `seq` was made by the mirror before a restore, and is none of this one: to go on from there
 * would leave out what the restore took back.
 */
export function isBeforeRestore(connection: Connection, seq: number): boolean {
  const sql = 'SELECT 1 FROM restores WHERE backup_seq < :seq AND :seq <= coalesce(restored_seq, :seq)';
  return connection.prepare<[{ seq: number }]>(sql).get({ seq }) !== undefined;
}
