/** Forgetting what is older than it is to be kept: some rows a transaction, so that no writer waits long. */

import { isoTime } from '../../clock.ts';
import type { Config } from '../../config.ts';
import { type Job, rowsOf, versionsOf } from '../../job.ts';
import { type Batch, inBatches, ROWS_AT_ONCE } from '../commits.ts';
import type { Connection } from '../connection.ts';
import { pruneOrders, servedSince } from '../orders.ts';
import { quoted } from '../sql.ts';
import { pruneWalks, sweepWalks } from './walks.ts';

/** For how long calls, versions, walks, snapshots, refused rows since they were resolved, and differences are kept. */
export type Keep = Config['keep'];

/** A clock that went on by more than this since the last call before is not believed until it has stood for as long. */
const DAY_MS = 24 * 3_600_000;

/** The rest waits for the next walk: whoever begins to forget has much to forget. */
const MOST_BATCHES = 100;

/**
 * Forgets old calls of all jobs, and what is old of this one.
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
  await inBatches(connection, pruneOrders(connection, believed), MOST_BATCHES);
  if (believed === undefined) return;
  const most = MOST_BATCHES + Math.ceil(added / ROWS_AT_ONCE);
  const walksFrom = readWalksFrom(connection, job);
  await inBatches(connection, batchesOf(connection, job, keep, believed), most);
  const losesRows = job.history ? Number.isFinite(keep.historyMs) : Number.isFinite(keep.usageMs);
  if (losesRows) await sweepWalks(connection, job, { from: walksFrom, to: readWalksFrom(connection, job) });
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

function batchesOf(connection: Connection, job: Job, keep: Keep, now: number): Batch[] {
  const from = (ms: number, batches: (horizon: string) => Batch | Batch[]) =>
    ms === Number.POSITIVE_INFINITY ? [] : [batches(isoTime(now - ms))].flat();
  const versions = versionsOf(job);
  return [
    ...from(keep.requestsMs, (horizon) => pruneCalls(connection, horizon)),
    ...(versions ? from(keep.historyMs, (horizon) => pruneHistory(connection, job, versions, horizon)) : []),
    ...(job.reading === 'snapshot'
      ? from(keep.usageMs, (horizon) =>
          pruneFront(connection, job, quoted(rowsOf(job)), '_fetched_at', horizon),
        )
      : []),
    ...from(keep.quarantineMs, (horizon) => pruneQuarantine(connection, job, horizon)),
    ...from(keep.driftMs, (horizon) => pruneDrift(connection, job, horizon)),
    ...from(keep.walksMs, (horizon) => pruneWalks(connection, job, horizon)),
  ];
}

function pruneCalls(connection: Connection, horizon: string): Batch {
  const remove = connection.prepare<[string, number]>(
    'DELETE FROM requests WHERE id IN (SELECT id FROM requests WHERE at < ? ORDER BY at LIMIT ?)',
  );
  return () => remove.run(horizon, ROWS_AT_ONCE).changes === ROWS_AT_ONCE;
}

function pruneQuarantine(connection: Connection, { name }: Job, horizon: string): Batch {
  const remove = connection.prepare<[string, string, number]>(
    'DELETE FROM quarantine WHERE id IN (SELECT id FROM quarantine WHERE job = ? AND resolved_at < ? LIMIT ?)',
  );
  return () => remove.run(name, horizon, ROWS_AT_ONCE).changes === ROWS_AT_ONCE;
}

/** There are never many of them. */
function pruneDrift(connection: Connection, { name }: Job, horizon: string): Batch {
  const remove = connection.prepare<[string, string]>('DELETE FROM drift WHERE job = ? AND last_seen_at < ?');
  return () => {
    remove.run(name, horizon);
    return false;
  };
}

/** What stood when a snapshot was proven stays as long as that is the last one proven. */
function pruneHistory(connection: Connection, job: Job, versions: string, horizon: string): Batch {
  const served = servedSince(connection, job.name);
  const until = served !== undefined && served < horizon ? served : horizon;
  return pruneFront(connection, job, quoted(versions), '_valid_to', until);
}

/** Versions enter a history as they end, and snapshots their table as they come, so the first rows are the oldest. */
function pruneFront(
  connection: Connection,
  job: Job,
  table: string,
  column: '_valid_to' | '_fetched_at',
  horizon: string,
): Batch {
  const oldest = connection.prepare<[number], { rowid: number; until: string }>(
    `SELECT rowid, ${column} AS until FROM ${table} ORDER BY rowid LIMIT ?`,
  );
  const remove = connection.prepare<[number]>(`DELETE FROM ${table} WHERE rowid <= ?`);
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

function readWalksFrom(connection: Connection, { name }: Job): number {
  return (
    connection.prepare<[string], number>('SELECT walks_from FROM datasets WHERE job = ?').pluck().get(name) ??
    0
  );
}
