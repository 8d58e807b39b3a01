/**
 * Removing rows that are gone upstream, and holding those of which that is not proven yet. A published snapshot is whole, so a
 * row leaves with the first one that lacks it. A list whose rows move can hide a row from a walk that was verified, so there it
 * leaves with the second proof in a row. Much is not removed at once, and no row that may merely have lost its key.
 */

import { setImmediate as breath } from 'node:timers/promises';
import { isoTime } from '../../clock.ts';
import { rowsOf } from '../../job.ts';
import type { Connection } from '../connection.ts';
import { countMet, countRows } from '../orders.ts';
import { createSequence } from '../records/changes.ts';
import { lastWalk } from '../records/walks.ts';
import type { WalkRow } from '../schema.ts';
import { FULL_PROOF, quoted } from '../sql.ts';
import { type HeldReason, openHeld } from './held.ts';
import type { OpenWalk } from './open-walk.ts';

/** What becomes of the walk's row. */
export type Retired = Pick<WalkRow, 'deleted' | 'held' | 'firstSeq' | 'lastSeq'>;

/** A list is much shorter if it has lost more than this part of its rows, and at least so many; or all. */
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
    await breath();
  }
}

/**
 * Removes the rows that are proven to be gone, and holds the others that the walk has not met. A held row leaves with the next
 * proof that does not meet it either. Call it inside the transaction that ends the walk, which must be a proof.
 * @param unmet what `findUnmet` found. A row that a glance has met since the walk began is not absent.
 */
export function retireRows(
  connection: Connection,
  walk: OpenWalk,
  verdict: 'snapshot' | 'verified',
  unmet: readonly number[],
  now: number,
): Retired {
  const { job, row, glanced } = walk;
  const held = openHeld(connection, job);
  const before = held.all();
  const absent = unmet.filter((number) => !glanced.rows.has(number));
  const isAgain = (number: number) => before.has(number);
  const mayBeHere = (number: number) => before.get(number) === 'unkeyed' && row.unkeyed > 0;
  const reason = reasonToHold(connection, walk, verdict);
  const gone = absent.filter((number) => (isAgain(number) ? !mayBeHere(number) : reason === undefined));
  if (reason !== undefined)
    held.hold(
      absent.filter((number) => !isAgain(number)),
      reason,
      isoTime(now),
    );
  const { firstSeq, lastSeq } = row;
  if (gone.length === 0) return { deleted: 0, held: held.all().size, firstSeq, lastSeq };

  // The trigger that keeps the last version has its time from this number.
  const seq = createSequence(connection)(job.name, now);
  const remove = connection.prepare<[number]>(`DELETE FROM ${quoted(rowsOf(job))} WHERE rowid = ?`);
  for (const number of gone) remove.run(number);
  return { deleted: gone.length, held: held.all().size, firstSeq: firstSeq ?? seq, lastSeq: seq };
}

/** Why rows that this proof is the first to lack stay for now; undefined where they are gone. */
function reasonToHold(
  connection: Connection,
  { job, row, met }: OpenWalk,
  verdict: 'snapshot' | 'verified',
): HeldReason | undefined {
  const before = lastWalk(connection, job.name, `${FULL_PROOF} AND id < ${row.id}`);
  // More rows without a readable key than before: those that vanish now may be among them.
  if (row.unkeyed > (before?.unkeyed ?? 0)) return 'unkeyed';
  const rowsBefore =
    countMet(connection, job.name) ?? countRows(connection, job.name, rowsOf(job)) - row.inserted;
  if (isMuchShorter(rowsBefore, met.rows.size)) return 'mass';
  return verdict === 'verified' ? 'unproven' : undefined;
}

/** Rows that others have replaced make a list no shorter. */
export function isMuchShorter(before: number, now: number): boolean {
  const lost = before - now;
  return lost > 0 && (now === 0 || (lost >= MUCH.rows && lost > before * MUCH.part));
}
