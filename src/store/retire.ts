/**
 * Removing rows that are gone upstream. A row leaves the table after two proven walks in a row did not find it;
 * a removal that would take much of the table waits for a third.
 */

import { and, count, eq, gte, lt, ne, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { getTableConfig } from 'drizzle-orm/sqlite-core';
import { isoTime } from '../clock.ts';
import type { Connection } from './connection.ts';
import { absences } from './schema.ts';
import type { OpenWalk } from './walks.ts';

export type Retired = { deleted: number; held: number };

const PROOFS = 2;
const PROOFS_FOR_MUCH = 3;
/** More than this part of the table, and at least so many rows, is much; so is the whole table. */
const MUCH = { part: 0.2, rows: 10 };
const ROWS_AT_ONCE = 5_000;

/** Notes which rows the walk, which must be a proof, did not find; does not write to the dataset's table. */
export async function noteAbsences(connection: Connection, walk: OpenWalk, now: number): Promise<void> {
  const db = drizzle(connection);
  const { job, row } = walk;
  for await (const keys of absentKeys(connection, walk)) {
    const note = db
      .insert(absences)
      .values({ job: job.name, key: sql.placeholder('key'), walkId: row.id, since: isoTime(now), proofs: 1 })
      .onConflictDoUpdate({
        target: [absences.job, absences.key],
        set: { proofs: sql`${absences.proofs} + 1`, walkId: row.id },
        // A walk that ended, crashed before it was closed and ended again is one proof.
        setWhere: ne(absences.walkId, row.id),
      })
      .prepare();
    connection
      .transaction(() => {
        for (const key of keys) note.run({ key });
      })
      .immediate();
  }
}

/** Removes the rows that were absent often enough; call inside the transaction that closes the walk. */
export function retireRows(connection: Connection, walk: OpenWalk, now: number): Retired {
  const db = drizzle(connection);
  const { job, row } = walk;
  const ofJob = eq(absences.job, job.name);
  // Rows that this walk found again are no longer absent.
  db.delete(absences)
    .where(and(ofJob, lt(absences.walkId, row.id)))
    .run();
  const absent = db
    .select({ due: count() })
    .from(absences)
    .where(and(ofJob, gte(absences.proofs, PROOFS)))
    .get();
  const due = absent?.due ?? 0;
  const table = `"${getTableConfig(job.table).name}"`;
  const rows = connection.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
  const much = due === rows || (due >= MUCH.rows && due > rows * MUCH.part);
  const removable = and(ofJob, gte(absences.proofs, much ? PROOFS_FOR_MUCH : PROOFS));
  db.update(absences)
    .set({ removedAt: isoTime(now) })
    .where(removable)
    .run();
  const { changes } = connection
    .prepare(
      `DELETE FROM ${table} WHERE _key IN (SELECT key FROM absences WHERE job = ? AND removed_at IS NOT NULL)`,
    )
    .run(job.name);
  db.delete(absences)
    .where(and(ofJob, sql`${absences.removedAt} IS NOT NULL`))
    .run();
  return { deleted: changes, held: due - changes };
}

/** The keys of rows that the walk did not meet, some at a time, with a breath for the event loop between. */
async function* absentKeys(connection: Connection, { job, seen }: OpenWalk): AsyncGenerator<string[]> {
  const batch = connection
    .prepare<[number, number], [rowid: number, key: string]>(
      `SELECT rowid, _key FROM "${getTableConfig(job.table).name}" WHERE rowid > ? ORDER BY rowid LIMIT ?`,
    )
    .raw();
  for (let after = 0; ; ) {
    const rows = batch.all(after, ROWS_AT_ONCE);
    const last = rows.at(-1);
    if (!last) return;
    const absent = rows.filter(([rowid]) => !seen.has(rowid)).map(([, key]) => key);
    if (absent.length > 0) yield absent;
    after = last[0];
    await new Promise(setImmediate);
  }
}
