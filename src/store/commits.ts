/**
 * Cheap commits, work in small batches, and the write-ahead log. SQLite copies the log into the database as it grows, and begins it
 * again where no reader needs it; a long reader lets it grow.
 */

import { statSync } from 'node:fs';
import { setImmediate as breath } from 'node:timers/promises';
import { type Connection, synchronous } from './connection.ts';

/**
 * Runs `work`, whose commits survive a crash of the process but not a power cut, at a tenth of the price. Not within a transaction,
 * where SQLite refuses the pragma.
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
 * Does long work in short transactions of one batch each, until nothing is left or `most` were made. No commit waits for the disk:
 * only for work that is repeated after a power cut.
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

/** Pages that are worth copying, over three times SQLite's own threshold: few copies, and none takes over 25 ms. */
const WORTH_COPYING_PAGES = 3_500;

/**
 * Copies a long log into the database, in a turn of the event loop of its own, so that others are heard between it and the commit.
 * An error is not reported: the next commit meets it, too.
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

/** Only a long reader leaves a log of more bytes. */
export const LONG_LOG_BYTES = 64_000_000;

/** A shorter log need not be emptied. */
const WORTH_EMPTYING_BYTES = 1_000_000;

/** Bytes of the log of the mirror `file`; 0 where there is none. */
export function logBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Empties the log, unless it is short or somebody else is at work; waits for nobody. In two turns of the event loop, since each may
 * wait for the disk.
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
  // Others may write during the first; the second locks them out, and finds little left.
  connection.pragma('wal_checkpoint(PASSIVE)');
  connection.pragma('busy_timeout = 0');
  try {
    connection.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    connection.pragma(`busy_timeout = ${lockWaitMs}`);
  }
}
