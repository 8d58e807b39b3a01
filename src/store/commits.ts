/**
 * Commits that cost less, or that keep other writers waiting for less long, and the write-ahead log that all of them go
 * through. SQLite copies the log into the database as it grows, and begins it again where no reader looks at an older state;
 * a reader that looks for long keeps it growing.
 */

import { statSync } from 'node:fs';
import { setImmediate as breath } from 'node:timers/promises';
import { type Connection, synchronous } from './connection.ts';

/**
 * Runs `work`, whose commits are kept through a crash of the process but not through a power cut: a tenth of the
 * price. Not within a transaction, where SQLite refuses to change its mind.
 */
export function relaxed<T>(connection: Connection, work: () => T): T {
  // This pragma acts when it is compiled, so a prepared one would do nothing.
  connection.exec(`PRAGMA synchronous = ${synchronous.normal}`);
  try {
    return work();
  } finally {
    connection.exec(`PRAGMA synchronous = ${synchronous.full}`);
  }
}

export const ROWS_AT_ONCE = 100;

/** Does a little, of `ROWS_AT_ONCE` rows at most; tells whether there may be more to do. */
export type Batch = () => boolean;

/**
 * Does work that would keep other writers waiting, some rows at a time: one transaction for a batch of each, until nothing
 * is left or `most` were made. For work that is done again where a power cut undoes it: no commit waits for the disk.
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
    await copyLog(connection);
  }
}

/** More than three times SQLite's own: pages written often reach the database less often, and no copy takes over 25 ms. */
const WORTH_COPYING_PAGES = 3_500;

/**
 * Lets all else go on after a commit, and copies the log into the database where it has grown long: in a turn of its own, since
 * what came during the commit is heard only between the two. What fails here is not reported: the next commit fails for the
 * same reason.
 */
export async function copyLog(connection: Connection): Promise<void> {
  await breath();
  try {
    if (!connection.open || pagesToCopy(connection) < WORTH_COPYING_PAGES) return;
    await breath();
    if (connection.open) connection.pragma('wal_checkpoint(PASSIVE)');
  } catch {}
  await breath();
}

function pagesToCopy(connection: Connection): number {
  const [state] = connection.pragma('wal_checkpoint(NOOP)') as [{ log: number; checkpointed: number }];
  return state.log - state.checkpointed;
}

/** More than this is left by no writer alone. */
export const LONG_LOG_BYTES = 64_000_000;

/** What is written again and again need not reach the database each time. */
const WORTH_EMPTYING_BYTES = 1_000_000;

/** Bytes of the log of the mirror `file`; 0 where there is none. */
export function logBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Empties the log, unless it is short or somebody else is at work: waits for nobody, and keeps no writer waiting. In two turns
 * of the event loop, since each may wait for the disk, and not in that of the commit before.
 */
export async function emptyLog(connection: Connection): Promise<void> {
  await breath();
  if (!connection.open || logBytes(connection.name) < WORTH_EMPTYING_BYTES) return;
  connection.pragma('wal_checkpoint(PASSIVE)');
  await breath();
  if (connection.open) emptyLogAtOnce(connection);
}

export function emptyLogAtOnce(connection: Connection): void {
  if (logBytes(connection.name) < WORTH_EMPTYING_BYTES) return;
  const lockWaitMs = Number(connection.pragma('busy_timeout', { simple: true }));
  // Others may write while this copies what there is; the second, which locks them out, finds little left.
  connection.pragma('wal_checkpoint(PASSIVE)');
  connection.pragma('busy_timeout = 0');
  try {
    connection.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    connection.pragma(`busy_timeout = ${lockWaitMs}`);
  }
}
