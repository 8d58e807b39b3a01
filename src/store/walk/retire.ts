/**
 * Removing rows that are gone upstream. A row leaves the table after two proven walks in a row did not find it;
 * a removal that would take much of the table waits for a third, and none takes a row that may merely have lost
 * its key.
 */

import { and, count, eq, gte, isNotNull, lt, type SQL } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { isoTime } from '../../clock.ts';
import { rowsOf } from '../../job.ts';
import type { Connection } from '../db/connection.ts';
import { countRows } from '../order/count.ts';
import { createSequence } from '../records/changes.ts';
import { lastWalk } from '../records/walks.ts';
import type { WalkRow } from '../schema.ts';
import { absences } from '../schema.ts';
import { FULL_PROOF, quoted } from '../sql.ts';
import type { OpenWalk } from './open-walk.ts';

/** What becomes of the walk's row. */
export type Retired = Pick<WalkRow, 'deleted' | 'held' | 'firstSeq' | 'lastSeq'>;

export const PROOFS = 2;
const PROOFS_FOR_MUCH = 3;
/** More than this part of the table, and at least so many rows, is much; so is the whole table. */
const MUCH = { part: 0.2, rows: 10 };
const ROWS_AT_ONCE = 5_000;

/** The numbers of the rows that the walk has not met; looks at some at a time, with a breath between, unless it met all. */
export async function findUnmet(connection: Connection, { job, met }: OpenWalk): Promise<number[]> {
  if (met.rows.size === countRows(connection, job.name, rowsOf(job))) return [];
  const batch = connection
    .prepare<[number, number], number>(
      `SELECT rowid FROM ${quoted(rowsOf(job))} WHERE rowid > ? ORDER BY rowid LIMIT ?`,
    )
    .pluck();
  const unmet: number[] = [];
  for (let after = 0; ; ) {
    const rowids = batch.all(after, ROWS_AT_ONCE);
    const last = rowids.at(-1);
    if (last === undefined) return unmet;
    unmet.push(...rowids.filter((rowid) => !met.rows.has(rowid)));
    after = last;
    await new Promise(setImmediate);
  }
}

/**
 * Counts one more proof against each absent row and removes those with enough. Call it inside the transaction
 * that ends the walk, which must be a proof.
 * @param unmet what `findUnmet` found. A row that a glance has met since the walk began is not absent.
 */
export function retireRows(
  connection: Connection,
  walk: OpenWalk,
  unmet: readonly number[],
  now: number,
): Retired {
  const absent = unmet.filter((rowid) => !walk.glanced.rows.has(rowid));
  noteAbsences(connection, walk, absent, now);
  forgetFound(connection, walk);
  const { job, row } = walk;
  const db = drizzle(connection);
  const gone = (proofs: number) => and(eq(absences.job, job.name), gte(absences.proofs, proofs));
  const certain = row.unkeyed > 0 ? eq(absences.doubtful, 0) : undefined;
  const countOf = (absent: SQL | undefined) =>
    db.select({ rows: count() }).from(absences).where(absent).get()?.rows ?? 0;

  const due = countOf(and(gone(PROOFS), certain));
  const proofs = proofsFor(due, countRows(connection, job.name, rowsOf(job)));
  const removable = and(gone(proofs), certain);
  const { firstSeq, lastSeq } = row;
  if (countOf(removable) === 0) return { deleted: 0, held: countOf(gone(PROOFS)), firstSeq, lastSeq };

  const seq = createSequence(connection)(job.name, now);
  db.update(absences)
    .set({ removedAt: isoTime(seq) })
    .where(removable)
    .run();
  const { changes: deleted } = connection
    .prepare(
      `DELETE FROM ${quoted(rowsOf(job))}
       WHERE _key IN (SELECT absences.key FROM absences WHERE absences.job = ? AND absences.removed_at IS NOT NULL)`,
    )
    .run(job.name);
  db.delete(absences)
    .where(and(eq(absences.job, job.name), isNotNull(absences.removedAt)))
    .run();
  return { deleted, held: countOf(gone(PROOFS)), firstSeq: firstSeq ?? seq, lastSeq: seq };
}

/** Rows that a walk met are not absent, be it a proof or not. */
export function forgetMet(connection: Connection, { job, met }: OpenWalk): void {
  const db = drizzle(connection);
  const table = quoted(rowsOf(job));
  const noted = connection
    .prepare<[string], { rowid: number; key: string }>(
      `SELECT ${table}.rowid AS rowid, absences.key AS key
       FROM absences JOIN ${table} ON ${table}._key = absences.key WHERE absences.job = ?`,
    )
    .all(job.name);
  for (const { rowid, key } of noted)
    if (met.rows.has(rowid))
      db.delete(absences)
        .where(and(eq(absences.job, job.name), eq(absences.key, key)))
        .run();
}

/** Whether rows of this job await another proof that they are gone. */
export function hasAbsences(connection: Connection, job: string): boolean {
  return (
    drizzle(connection).select().from(absences).where(eq(absences.job, job)).limit(1).get() !== undefined
  );
}

function noteAbsences(connection: Connection, walk: OpenWalk, absent: readonly number[], now: number): void {
  const note = connection.prepare<[string, number, string, number, number]>(
    `INSERT INTO absences (job, key, walk_id, since, proofs, doubtful)
     SELECT ?, _key, ?, ?, 1, ? FROM ${quoted(rowsOf(walk.job))} WHERE rowid = ?
     ON CONFLICT DO UPDATE SET proofs = proofs + 1, walk_id = excluded.walk_id`,
  );
  const before = lastWalk(connection, walk.job.name, `${FULL_PROOF} AND id < ${walk.row.id}`);
  // More rows without a readable key than before: those that vanish now may be among them.
  const doubtful = Number(walk.row.unkeyed > (before?.unkeyed ?? 0));
  for (const rowid of absent) note.run(walk.job.name, walk.row.id, isoTime(now), doubtful, rowid);
}

function forgetFound(connection: Connection, { job, row }: OpenWalk): void {
  drizzle(connection)
    .delete(absences)
    .where(and(eq(absences.job, job.name), lt(absences.walkId, row.id)))
    .run();
}

/** How many proofs the removal of so many rows of a table takes. */
export function proofsFor(due: number, rows: number): number {
  const isMuch = due === rows || (due >= MUCH.rows && due > rows * MUCH.part);
  return isMuch ? PROOFS_FOR_MUCH : PROOFS;
}
