/**
 * `seq`, the count of changes: each transaction that changes rows takes one, greater than all before it, and another where it changes a row
 * twice. A restore takes some back.
 */

import { type Connection, valueIn } from './connection.ts';

/**
 * Returns what takes the next `seq`: the time in epoch milliseconds, or one more than the latest, if that is greater. So no later
 * transaction has the same or a smaller one, even where the clock goes back, and a reader may go on from any. Call it inside the
 * transaction, which must be immediate.
 * @param column whether rows have changed, or their order alone.
 */
export function createSequence(
  connection: Connection,
  column: 'last_seq' | 'reordered_seq' = 'last_seq',
): (job: string, now: number) => number {
  const latest = connection.prepare<[], number | null>(lastSeqSql).pluck();
  const keep = connection.prepare<[string, number]>(
    `INSERT INTO _datasets (job, ${column}) VALUES (?, ?) ON CONFLICT DO UPDATE SET ${column} = excluded.${column}`,
  );
  return (job, now) => {
    // A clock may tell parts of milliseconds.
    const seq = Math.max(Math.trunc(now), (latest.get() ?? 0) + 1);
    keep.run(job, seq);
    return seq;
  };
}

/** SQL for the greatest `seq` of a change or order, here or in the mirror before a restore. */
const lastSeqSql = `SELECT max(seq) FROM (
  SELECT max(coalesce(last_seq, 0), coalesce(reordered_seq, 0)) AS seq FROM _datasets UNION ALL SELECT restored_seq FROM _restores)`;

export const lastSeqOf = (connection: Connection): number => valueIn(connection, lastSeqSql) ?? 0;

/** Notes in a copy the `seq` up to which it has the changes of the mirror. */
export function noteBackupSeq(copy: Connection): void {
  copy.exec('DELETE FROM _restores WHERE restored_seq IS NULL');
  copy.prepare('INSERT INTO _restores (backup_seq) VALUES (?)').run(lastSeqOf(copy));
}

/** Notes once, in a copy that takes the mirror's place, the `seq` up to which the mirror before may have had changes. */
export function noteRestoredSeq(copy: Connection, seq: number): void {
  copy
    .prepare('UPDATE _restores SET restored_seq = max(?, backup_seq) WHERE restored_seq IS NULL')
    .run(Math.trunc(seq));
}

/** Whether a restore took back the change of this `seq`: a reader must not go on from there. */
export function isBeforeRestore(connection: Connection, seq: number): boolean {
  const sql = 'SELECT 1 FROM _restores WHERE backup_seq < :seq AND :seq <= coalesce(restored_seq, :seq)';
  return connection.prepare<[{ seq: number }]>(sql).get({ seq }) !== undefined;
}
