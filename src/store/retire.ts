/**
 * Removing rows that are gone upstream, and holding those of which that is not proven yet. A published snapshot is whole, so a
 * row leaves with the first one that lacks it. A list whose rows move can hide a row from a walk that was verified, so there it
 * leaves with the second proof in a row. Much is not removed at once, and no row that may merely have lost its key.
 */

import { setImmediate as breath } from 'node:timers/promises';
import { isoTime } from '../clock.ts';
import { type Job, rowsOf } from '../job.ts';
import { createSequence } from './changes.ts';
import type { Connection } from './connection.ts';
import { countMet, countRows } from './orders.ts';
import type { WalkRow } from './schema.ts';
import { FULL_PROOF, quoted } from './sql.ts';
import { noteUnversioned } from './staged-values.ts';
import { lastWalk, type OpenWalk } from './walks.ts';

/** What becomes of the walk's row. */
type Retired = Pick<WalkRow, 'deleted' | 'held' | 'firstSeq' | 'lastSeq'>;

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

/**
 * Rows that the last proof did not show, but that stay for now. They say so in `_held_since` and `_held_reason`, in SQL as
 * everywhere else. Neither makes a version or a change.
 */

/** `unproven`: one proof does not suffice. `mass`: much would go at once. `unkeyed`: it may have lost its key. */
type HeldReason = 'unproven' | 'mass' | 'unkeyed';

type HeldRows = {
  /** Whether any row of the dataset is held. */
  any(): boolean;
  /** The reason, by the number of the row. */
  all(): Map<number, HeldReason>;
  hold(numbers: readonly number[], reason: HeldReason, since: string): void;
  /** A page has shown the row of this number, which is held no longer. */
  show(number: number): void;
};

/** The held rows of a job, whose lock the caller has: nobody else holds or shows some. */
export function openHeld(connection: Connection, job: Job): HeldRows {
  const table = quoted(rowsOf(job));
  const select = connection.prepare<[], { number: number; reason: HeldReason }>(
    `SELECT rowid AS number, _held_reason AS reason FROM ${table} WHERE _held_since IS NOT NULL`,
  );
  const update = connection.prepare<[string | null, HeldReason | null, number]>(
    `UPDATE ${table} SET _held_since = ?, _held_reason = ? WHERE rowid = ?`,
  );
  const note = noteUnversioned(connection, job.name);
  const read = () => new Map(select.all().map(({ number, reason }) => [number, reason]));
  let held = read();
  return {
    any: () => held.size > 0,
    all: () => {
      held = read();
      return held;
    },
    hold(numbers, reason, since) {
      for (const number of numbers) {
        update.run(since, reason, number);
        held.set(number, reason);
      }
      if (numbers.length > 0) note();
    },
    show(number) {
      // Mostly no row is held.
      if (held.size === 0 || !held.delete(number)) return;
      update.run(null, null, number);
      note();
    },
  };
}
