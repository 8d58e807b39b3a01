/**
 * The write-ahead log kept small. SQLite copies it into the database as it grows, and begins it anew where no reader
 * looks at an older state; one that looks for long keeps it growing.
 */

import { statSync } from 'node:fs';
import type { Connection } from './connection.ts';

/** More than this is left by no writer alone. */
export const LONG_LOG_BYTES = 64_000_000;

/** What is written again and again need not reach the database each time. */
const WORTH_EMPTYING_BYTES = 1_000_000;

/** Bytes of the log of the mirror `file`; 0 where there is none. */
export function logBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** Empties the log, unless it is short or somebody else is at work: waits for nobody, and keeps no writer waiting. */
export function emptyLog(connection: Connection): void {
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
