/** Forgetting what is older than it is to be kept: some rows a transaction, so that no writer waits long. */

import { isoTime } from '../clock.ts';
import { type Job, tableOf } from '../job.ts';
import type { Connection } from './connection.ts';

/** For how long, in milliseconds; infinite for ever. */
export type Keep = { requestsMs: number; historyMs: number };

/** A clock that went on by more than this since the last call before is not believed until it has stood for as long. */
const DAY_MS = 24 * 3_600_000;

const ROWS_AT_ONCE = 100;
/** The rest waits for the next walk: whoever begins to forget has much to forget. */
const MOST_BATCHES = 100;

/**
 * Forgets old calls of all jobs, and old versions of the rows of this one.
 * @param added calls and versions that this walk has added: so many may go beyond the usual, lest the rest grow for ever.
 */
export async function prune(
  connection: Connection,
  job: Job,
  keep: Keep,
  now: number,
  added: number,
): Promise<void> {
  const believed = believedTime(connection, now);
  if (believed === undefined) return;
  const most = MOST_BATCHES + Math.ceil(added / ROWS_AT_ONCE);
  if (keep.requestsMs !== Number.POSITIVE_INFINITY)
    await inBatches(connection, pruneCalls(connection, isoTime(believed - keep.requestsMs)), most);
  if (job.history && keep.historyMs !== Number.POSITIVE_INFINITY)
    await inBatches(connection, pruneHistory(connection, job, isoTime(believed - keep.historyMs)), most);
}

/**
 * The time to count from, in epoch milliseconds: a day after the latest call that is a day old, which is about now
 * unless the clock has gone far ahead of the calls. Undefined where no call is so old: then nothing is.
 */
function believedTime(connection: Connection, now: number): number | undefined {
  const latest = connection
    .prepare<[string], string | null>('SELECT max(at) FROM requests WHERE at <= ?')
    .pluck()
    .get(isoTime(now - DAY_MS));
  return latest ? Date.parse(latest) + DAY_MS : undefined;
}

/** `batch` tells whether there may be more. */
async function inBatches(connection: Connection, batch: () => boolean, most: number): Promise<void> {
  const atomically = connection.transaction(batch).immediate;
  for (let done = 0; done < most && atomically(); done++) await new Promise(setImmediate);
}

function pruneCalls(connection: Connection, horizon: string): () => boolean {
  const remove = connection.prepare<[string, number]>(
    'DELETE FROM requests WHERE id IN (SELECT id FROM requests WHERE at < ? ORDER BY at LIMIT ?)',
  );
  return () => remove.run(horizon, ROWS_AT_ONCE).changes === ROWS_AT_ONCE;
}

/** Versions enter a history as they end, so the first in it are the oldest. */
function pruneHistory(connection: Connection, job: Job, horizon: string): () => boolean {
  const history = `"${tableOf(job)}_history"`;
  const oldest = connection.prepare<[number], { rowid: number; until: string }>(
    `SELECT rowid, _valid_to AS until FROM ${history} ORDER BY rowid LIMIT ?`,
  );
  const remove = connection.prepare<[number]>(`DELETE FROM ${history} WHERE rowid <= ?`);
  const note = connection.prepare<[string, string]>(
    `INSERT INTO datasets (job, history_from) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET history_from = max(excluded.history_from, coalesce(history_from, ''))`,
  );
  const due = (rows: number) => {
    const first = oldest.all(rows);
    const kept = first.findIndex(({ until }) => until > horizon);
    return kept < 0 ? first : first.slice(0, kept);
  };
  return () => {
    // One row tells most walks that nothing is due.
    if (due(1).length === 0) return false;
    const rows = due(ROWS_AT_ONCE);
    const { rowid, until } = rows.at(-1) as { rowid: number; until: string };
    remove.run(rowid);
    note.run(job.name, until);
    return rows.length === ROWS_AT_ONCE;
  };
}
