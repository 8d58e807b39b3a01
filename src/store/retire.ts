/**
 * Removes rows that are gone upstream, and holds those that may be. A published snapshot is whole: a row that it lacks is gone. A
 * list whose rows move can hide a row from a verified walk: there two proofs in a row must lack it. A row that may only have lost
 * its key is held, and so are all rows of a mass removal.
 */

import { setImmediate as breath } from 'node:timers/promises';
import { isoTime } from '../clock.ts';
import type { Job } from '../job.ts';
import type { Connection } from './connection.ts';
import { countMet, countRows } from './orders.ts';
import { createSequence } from './sequence.ts';
import { FULL_PROOF, quoted } from './sql.ts';
import { noteUnversioned } from './staged-values.ts';
import { lastWalk, type OpenWalk } from './walks.ts';

/** `unproven`: one proof does not suffice. `mass`: many rows would go at once. `unkeyed`: the row may have lost its key. */
type HeldReason = 'unproven' | 'mass' | 'unkeyed';

/**
 * What a proof decides of the rows that it is the first to lack. `reason` says why they are held; it is null where they are gone.
 * No two proofs have the same `since`, so a walk that was killed knows by it which rows it has held itself.
 */
type Decision = { reason: HeldReason | null; since: string };

/** What a walk had proven when it broke off between two batches: kept with its checkpoint for the next run. */
export type Retiring = Decision & { verdict: 'snapshot' | 'verified'; error: string | null };

/** The rows that a proof did not meet, by their rowids. */
type Retirement = Decision & {
  toHold: readonly number[];
  gone: readonly number[];
  /** All that stay, held or met by a glance. */
  staying: readonly number[];
};

const READ_AT_ONCE = 5_000;

/**
 * Sorts the rows that the walk has not met. A held row is gone when the next proof does not meet it either. A row that a glance
 * has met since the walk began is not absent. Reads some rows at a time, and lets others work in between.
 */
export async function planRetirement(
  connection: Connection,
  { job, row, met, glanced }: OpenWalk,
  { reason, since }: Decision,
): Promise<Retirement> {
  const [toHold, gone, staying]: [number[], number[], number[]] = [[], [], []];
  const plan = { reason, since, toHold, gone, staying };
  if (met.rows.size === countRows(connection, job.name, job.rows)) return plan;
  const batch = connection.prepare<[number, number], StoredRow>(
    `SELECT rowid, _held_since AS heldSince, _held_reason AS heldReason
     FROM ${quoted(job.rows)} WHERE rowid > ? ORDER BY rowid LIMIT ?`,
  );
  const isGone = ({ heldSince, heldReason }: StoredRow) =>
    heldSince === null || heldSince === since
      ? reason === null
      : !(heldReason === 'unkeyed' && row.unkeyed > 0);
  for (let rows = batch.all(0, READ_AT_ONCE); rows.length > 0; ) {
    for (const stored of rows) {
      const { rowid } = stored;
      if (met.rows.has(rowid)) continue;
      const isAbsent = !glanced.rows.has(rowid);
      if (isAbsent && isGone(stored)) gone.push(rowid);
      else staying.push(rowid);
      if (isAbsent && stored.heldSince === null && reason !== null) toHold.push(rowid);
    }
    await breath();
    rows = batch.all(rows.at(-1)?.rowid ?? 0, READ_AT_ONCE);
  }
  return plan;
}

type StoredRow = { rowid: number; heldSince: string | null; heldReason: HeldReason | null };

export function decideRetirement(
  connection: Connection,
  walk: OpenWalk,
  verdict: 'snapshot' | 'verified',
  now: number,
): Decision {
  const isTaken = connection.prepare<[string]>(
    `SELECT 1 FROM ${quoted(walk.job.rows)} WHERE _held_since = ? LIMIT 1`,
  );
  let at = now;
  while (isTaken.get(isoTime(at))) at += 1;
  return { reason: reasonToHold(connection, walk, verdict), since: isoTime(at) };
}

function reasonToHold(
  connection: Connection,
  { job, row, met }: OpenWalk,
  verdict: 'snapshot' | 'verified',
): HeldReason | null {
  const before = lastWalk(connection, job.name, `${FULL_PROOF} AND id < ${row.id}`);
  // More rows without a readable key than before: those that are lacking may be among them.
  if (row.unkeyed > (before?.unkeyed ?? 0)) return 'unkeyed';
  const rowsBefore =
    countMet(connection, job.name) ?? countRows(connection, job.name, job.rows) - row.inserted;
  if (isMuchShorter(rowsBefore, met.rows.size)) return 'mass';
  return verdict === 'verified' ? 'unproven' : null;
}

/** A mass removal is more than this part of the rows, and at least so many; or all. */
const MUCH = { part: 0.2, rows: 10 };

/** Replaced rows make a list no shorter. */
export function isMuchShorter(before: number, now: number): boolean {
  const lost = before - now;
  return lost > 0 && (now === 0 || (lost >= MUCH.rows && lost > before * MUCH.part));
}

/** Rows held or removed in one transaction: more would keep the event loop and other writers waiting. */
const ROWS_A_BATCH = 1_000;

/** To be called in a transaction of its own. */
type RetireBatch = (now: number) => void;

/** The batches of a retirement: first those that hold rows. The last one belongs into the transaction that ends the walk. */
export function retireBatches(
  connection: Connection,
  { job, row }: OpenWalk,
  { toHold, gone, reason, since }: Retirement,
): RetireBatch[] {
  const table = quoted(job.rows);
  const hold = connection.prepare<[string, HeldReason | null, number]>(
    `UPDATE ${table} SET _held_since = ?, _held_reason = ? WHERE rowid = ?`,
  );
  const remove = connection.prepare<[number]>(`DELETE FROM ${table} WHERE rowid = ?`);
  const note = noteUnversioned(connection, job.name);
  const nextSeq = createSequence(connection);
  return [
    ...piecesOf(toHold).map((rowids) => () => {
      for (const rowid of rowids) hold.run(since, reason, rowid);
      note();
    }),
    ...piecesOf(gone).map((rowids) => (now: number) => {
      // The trigger that keeps the last version takes its time from this number.
      const seq = nextSeq(job.name, now);
      for (const rowid of rowids) remove.run(rowid);
      row.deleted += rowids.length;
      row.firstSeq ??= seq;
      row.lastSeq = seq;
    }),
  ];
}

function piecesOf(rowids: readonly number[]): number[][] {
  const pieces: number[][] = [];
  for (let from = 0; from < rowids.length; from += ROWS_A_BATCH)
    pieces.push(rowids.slice(from, from + ROWS_A_BATCH));
  return pieces;
}

/**
 * Rows that the last proof did not show, but that stay for now, with `_held_since` and `_held_reason`. Neither makes a version or
 * a change. The caller has the job's lock: nobody else begins or ends a hold.
 */
export function openHeld(connection: Connection, job: Job) {
  const table = quoted(job.rows);
  const count = connection
    .prepare<[], number>(`SELECT count(*) FROM ${table} WHERE _held_since IS NOT NULL`)
    .pluck();
  const endHold = connection.prepare<[number]>(
    `UPDATE ${table} SET _held_since = NULL, _held_reason = NULL WHERE rowid = ? AND _held_since IS NOT NULL`,
  );
  const note = noteUnversioned(connection, job.name);
  let held = count.get() ?? 0;
  return {
    count: () => count.get() ?? 0,
    /** Call it when a page has shown the row. */
    endHold(rowid: number): void {
      // Mostly no row is held.
      if (held === 0 || endHold.run(rowid).changes === 0) return;
      held -= 1;
      note();
    },
  };
}
