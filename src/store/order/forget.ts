/** Forgets orders that are older than history is kept, with the chunks that only they used. */

import { isoTime } from '../../clock.ts';
import { type Batch, ROWS_AT_ONCE } from '../commits.ts';
import type { Connection } from '../connection.ts';
import { seqOf } from '../sql.ts';
import { numberReader } from './runs.ts';

/** The latest order of a published snapshot: its rows are served as they were then. ISO 8601, or undefined. */
export function servedSince(connection: Connection, job: string): string | undefined {
  const latest = connection
    .prepare<[string], { seq: number; generatedAt: string | null }>(
      'SELECT seq, generated_at AS generatedAt FROM orders WHERE job = ? ORDER BY seq DESC LIMIT 1',
    )
    .get(job);
  return latest && latest.generatedAt !== null ? isoTime(latest.seq) : undefined;
}

/** @param horizon ISO 8601 UTC: what was superseded by then goes. */
export function pruneOrders(connection: Connection, job: string, horizon: string): Batch[] {
  return [
    pruneVersions(connection, job, Date.parse(horizon)),
    pruneChunks(connection, job),
    pruneNumbers(connection, job),
  ];
}

function pruneVersions(connection: Connection, job: string, horizon: number): Batch {
  const oldest = connection
    .prepare<[string, number], number>('SELECT seq FROM orders WHERE job = ? ORDER BY seq LIMIT ?')
    .pluck();
  const remove = connection.prepare<[string, number]>('DELETE FROM orders WHERE job = ? AND seq < ?');
  const note = connection.prepare<[string, string]>(
    `INSERT INTO datasets (job, history_from) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET history_from = max(excluded.history_from, coalesce(history_from, ''))`,
  );
  /** The first that is kept of so many; each holds until the next one. */
  const keptFrom = (rows: number) => oldest.all(job, rows).findLast((seq) => seq <= horizon);
  return () => {
    const [first] = oldest.all(job, 1);
    if ((keptFrom(2) ?? first) === first) return false;
    const from = keptFrom(ROWS_AT_ONCE) ?? 0;
    const { changes } = remove.run(job, from);
    note.run(job, isoTime(from));
    return changes === ROWS_AT_ONCE - 1;
  };
}

function pruneChunks(connection: Connection, job: string): Batch {
  const next = connection.prepare<[string, string], { id: number; chunks: Buffer }>(
    `SELECT id, chunks FROM order_releases
     WHERE job = ? AND seq <= (SELECT min(seq) FROM orders WHERE job = ?) ORDER BY id LIMIT 1`,
  );
  const removeChunk = connection.prepare<[number]>('DELETE FROM order_chunks WHERE id = ?');
  const removeNote = connection.prepare<[number]>('DELETE FROM order_releases WHERE id = ?');
  return () => {
    const note = next.get(job, job);
    if (!note) return false;
    for (const read = numberReader(note.chunks, 0); read.at < note.chunks.length; ) removeChunk.run(read());
    removeNote.run(note.id);
    return true;
  };
}

/** What a number meant is asked for no moment before the kept history. */
function pruneNumbers(connection: Connection, job: string): Batch {
  const remove = connection.prepare<[string, string, number]>(
    `DELETE FROM removed_rows WHERE rowid IN (
       SELECT rowid FROM removed_rows WHERE job = ?
         AND until <= (SELECT ${seqOf('history_from')} FROM datasets WHERE job = ?) LIMIT ?)`,
  );
  return () => remove.run(job, job, ROWS_AT_ONCE).changes === ROWS_AT_ONCE;
}
