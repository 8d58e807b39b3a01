/**
 * Rows that the last proof did not show, but that stay for now. They say so in `_held_since` and `_held_reason`, in SQL as
 * everywhere else. Neither makes a version or a change.
 */

import { type Job, rowsOf } from '../../job.ts';
import type { Connection } from '../connection.ts';
import { quoted } from '../sql.ts';
import { noteUnversioned } from './volatile.ts';

/** `unproven`: one proof does not suffice. `mass`: much would go at once. `unkeyed`: it may have lost its key. */
export type HeldReason = 'unproven' | 'mass' | 'unkeyed';

export type HeldRows = {
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
