/** Work that would keep other writers waiting, done some rows a transaction, with a breath between. */

import { type Connection, relaxed } from './connection.ts';

export const ROWS_AT_ONCE = 100;

/** Does a little, of `ROWS_AT_ONCE` rows at most; tells whether there may be more to do. */
export type Batch = () => boolean;

/**
 * One transaction for a batch of each, until nothing is left or `most` were made. For work that is done again where a
 * power cut undoes it: no commit waits for the disk.
 */
export async function inBatches(
  connection: Connection,
  batches: readonly Batch[],
  most = Number.POSITIVE_INFINITY,
): Promise<void> {
  const all = connection.transaction((due: readonly Batch[]) => due.filter((batch) => batch()));
  let due = batches;
  for (let done = 0; done < most && due.length > 0; done += 1) {
    const now = due;
    due = relaxed(connection, () => all.immediate(now));
    await new Promise(setImmediate);
  }
}
