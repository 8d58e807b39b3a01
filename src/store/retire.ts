/**
 * Rows that a proof lacks: gone, or held. A published snapshot is whole: a row that it lacks is gone. A list whose rows move can hide a
 * row from a verified walk: there two proofs in a row must lack it. Rows of a mass removal are held until the next proof agrees. Where a
 * proof met rows without a readable key, any row that it lacks may be one of those: it is held until three proofs in a row lack it.
 */

import type { Job } from '../job.ts';
import type { Connection } from './connection.ts';
import { absentFrom } from './pages.ts';
import { FULL_PROOF, quoted } from './sql.ts';
import { noteUnversioned } from './volatile.ts';
import { lastWalk } from './walks.ts';

/** `unproven`: one proof does not suffice. `mass`: many rows would go at once. `unkeyed`: the row may have lost its key. */
type HeldReason = 'unproven' | 'mass' | 'unkeyed';

export type Proof = {
  walkId: number;
  verdict: 'snapshot' | 'verified';
  /** Rows that it or a glance beside it met, refused ones included. */
  met: number;
  /** Whether it met rows without a readable key. */
  hasUnkeyed: boolean;
};

/** So many proofs in a row hold a row that they lack; the next one removes it. */
const PROOFS_HELD_AS_UNKEYED = 2;

/**
 * Decides about the rows that a proof lacks. Call it in the transaction that ends the walk.
 * @param takeSeq takes the `seq` under which rows are removed; called if any are.
 * @param endTime tells when the walk ends, ISO 8601 UTC.
 * @returns how many rows were removed, and how many are held now.
 */
export function retireRows(
  connection: Connection,
  job: Job,
  proof: Proof,
  takeSeq: () => void,
  endTime: () => string,
): { deleted: number; held: number } {
  const table = quoted(job.rows);
  const { sql: absent, range } = absentFrom(proof.walkId);
  const count = (condition: string) =>
    connection
      .prepare<[typeof range], number>(`SELECT count(*) FROM ${table} WHERE ${absent} AND ${condition}`)
      .pluck()
      .get(range) ?? 0;
  const before = lastWalk(connection, job.name, `${FULL_PROOF} AND id < ${proof.walkId}`);
  const rowsBefore = before?.distinctKeys ?? proof.met + count('_held_since IS NULL');
  const reason = reasonToHold(proof, rowsBefore);
  const proofsSinceHeld = `(SELECT count(*) FROM walks WHERE job = '${job.name}' AND ${FULL_PROOF} AND id < ${proof.walkId} AND finished_at >= _held_since)`;
  const isGone =
    reason === null
      ? 'true'
      : reason === 'unkeyed'
        ? `_held_since IS NOT NULL AND ${proofsSinceHeld} >= ${PROOFS_HELD_AS_UNKEYED}`
        : '_held_since IS NOT NULL';
  let deleted = 0;
  if (count(isGone) > 0) {
    // The trigger that keeps the last version takes its time from `_datasets.last_seq`.
    takeSeq();
    deleted = connection
      .prepare<[typeof range]>(`DELETE FROM ${table} WHERE ${absent} AND ${isGone}`)
      .run(range).changes;
  }
  if (reason !== null) {
    const { changes } = connection
      .prepare<[typeof range & { at: string; reason: HeldReason }]>(
        `UPDATE ${table} SET _held_since = :at, _held_reason = :reason WHERE ${absent} AND _held_since IS NULL`,
      )
      .run({ ...range, at: endTime(), reason });
    if (changes > 0) noteUnversioned(connection, job.name)();
  }
  return { deleted, held: countHeld(connection, job) };
}

/** @param before how many rows the last proof met. */
function reasonToHold({ verdict, met, hasUnkeyed }: Proof, before: number): HeldReason | null {
  if (hasUnkeyed) return 'unkeyed';
  if (isMuchShorter(before, met)) return 'mass';
  return verdict === 'verified' ? 'unproven' : null;
}

/** A mass removal is more than this part of the rows, and at least so many; or all. */
const MUCH = { part: 0.2, rows: 10 };

/** Replaced rows make a list no shorter. */
export function isMuchShorter(before: number, now: number): boolean {
  const lost = before - now;
  return lost > 0 && (now === 0 || (lost >= MUCH.rows && lost > before * MUCH.part));
}

/** The numbers of the rows that are held. The plus lets SQLite use their index: else it reads the whole table in this order. */
export const heldRows = (connection: Connection, job: Job): number[] =>
  connection
    .prepare<[], number>(
      `SELECT number FROM ${quoted(job.rows)} WHERE _held_since IS NOT NULL ORDER BY +number`,
    )
    .pluck()
    .all();

export const countHeld = (connection: Connection, job: Job): number =>
  connection
    .prepare<[], number>(`SELECT count(*) FROM ${quoted(job.rows)} WHERE _held_since IS NOT NULL`)
    .pluck()
    .get() ?? 0;
