/** Removes what is older than the settings keep it: some rows a transaction, so that no writer waits long. */

import { setImmediate as breath } from 'node:timers/promises';
import { DAY_MS, isoTime } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Job } from '../job.ts';
import { type Batch, inBatches, ROWS_AT_ONCE } from './commits.ts';
import { type Connection, valueIn } from './connection.ts';
import { pruneOrders, servedSince } from './orders.ts';
import { FULL_PROOF, quoted, seqOf } from './sql.ts';

/** For how long calls, versions, walks, snapshots, refused rows since they were resolved, and differences are kept. */
export type Keep = Config['keep'];

/** The rest waits for the next walk. */
const MAX_BATCHES = 100;

/**
 * Removes old calls of all jobs, and all that is old of this one.
 * @param added calls and versions that this walk has added: so many more may go, lest the rest grow for ever.
 */
export async function prune(
  connection: Connection,
  job: Job,
  keep: Keep,
  now: number,
  added: number,
): Promise<void> {
  const believed = believedTime(connection, now);
  await inBatches(connection, pruneOrders(connection, believed), MAX_BATCHES);
  if (believed === undefined) return;
  const most = MAX_BATCHES + Math.ceil(added / ROWS_AT_ONCE);
  const walksFrom = readWalksFrom(connection, job);
  await inBatches(connection, batchesOf(connection, job, keep, believed), most);
  const losesRows = job.history ? Number.isFinite(keep.historyMs) : Number.isFinite(keep.usageMs);
  if (losesRows) await sweepWalks(connection, job, { from: walksFrom, to: readWalksFrom(connection, job) });
}

/**
 * The time to count from, in epoch milliseconds: a day after the latest call that is a day old. That is about now, unless the clock
 * has gone far ahead of the calls. Undefined where no call is so old.
 */
function believedTime(connection: Connection, now: number): number | undefined {
  const latest = valueIn<string>(
    connection,
    'SELECT max(at) FROM requests WHERE at <= ?',
    isoTime(now - DAY_MS),
  );
  return latest ? Date.parse(latest) + DAY_MS : undefined;
}

function batchesOf(connection: Connection, job: Job, keep: Keep, now: number): Batch[] {
  const from = (ms: number, batches: (horizon: string) => Batch | Batch[]) =>
    ms === Number.POSITIVE_INFINITY ? [] : [batches(isoTime(now - ms))].flat();
  const versions = job.versions;
  return [
    ...from(keep.requestsMs, (horizon) => deleting(connection, 'requests', 'at < ? ORDER BY at', horizon)),
    ...(versions ? from(keep.historyMs, (horizon) => pruneHistory(connection, job, versions, horizon)) : []),
    ...(job.reading === 'snapshot'
      ? from(keep.usageMs, (horizon) =>
          pruneFront(connection, job, { table: quoted(job.rows), ...SNAPSHOTS }, horizon),
        )
      : []),
    ...from(keep.quarantineMs, (horizon) =>
      deleting(connection, 'quarantine', 'job = ? AND resolved_at < ?', job.name, horizon),
    ),
    ...from(keep.driftMs, (horizon) =>
      deleting(connection, 'drift', 'job = ? AND last_seen_at < ?', job.name, horizon),
    ),
    ...from(keep.walksMs, (horizon) => pruneWalks(connection, job, horizon)),
  ];
}

/** Deletes rows of a table, some at a time. */
function deleting(connection: Connection, table: string, condition: string, ...values: string[]): Batch {
  const remove = connection.prepare<unknown[]>(
    `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${condition} LIMIT ?)`,
  );
  return () => remove.run(...values, ROWS_AT_ONCE).changes === ROWS_AT_ONCE;
}

/** The state of a published snapshot stays until the next one is proven. */
function pruneHistory(connection: Connection, job: Job, versions: string, horizon: string): Batch {
  const served = servedSince(connection, job.name);
  const until = served !== undefined && served < horizon ? served : horizon;
  return pruneFront(connection, job, { table: quoted(versions), ...VERSIONS }, until);
}

/** Versions enter a history as they end. */
const VERSIONS = { time: '_valid_to', order: 'rowid' };
/** The key of a snapshot begins with its time, which its rowid may not follow: a refused one may fit later. */
const SNAPSHOTS = { time: '_fetched_at', order: '_key' };

/** @param order the column by which the first rows of the table are the oldest. */
function pruneFront(
  connection: Connection,
  job: Job,
  { table, time, order }: { table: string; time: string; order: string },
  horizon: string,
): Batch {
  const oldest = connection.prepare<[number], { place: number | string; until: string }>(
    `SELECT ${order} AS place, ${time} AS until FROM ${table} ORDER BY ${order} LIMIT ?`,
  );
  const remove = connection.prepare<[number | string]>(`DELETE FROM ${table} WHERE ${order} <= ?`);
  const note = connection.prepare<[string, string]>(
    `INSERT INTO datasets (job, history_from) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET history_from = max(excluded.history_from, coalesce(history_from, ''))`,
  );
  return () => {
    const due = upTo(oldest.all(ROWS_AT_ONCE), ({ until }) => until > horizon);
    const last = due.at(-1);
    if (!last) return false;
    remove.run(last.place);
    note.run(job.name, last.until);
    return due.length === ROWS_AT_ONCE;
  };
}

/** The rows before the first one to keep. */
function upTo<Row>(rows: Row[], isKept: (row: Row) => boolean): Row[] {
  const kept = rows.findIndex(isKept);
  return kept < 0 ? rows : rows.slice(0, kept);
}

const readWalksFrom = (connection: Connection, { name }: Job): number =>
  valueIn(connection, 'SELECT walks_from FROM datasets WHERE job = ?', name) ?? 0;

/*
 * Old walks. A walk stays as long as something refers to it: a row or version (`_walk_id`), a removal (`changes` finds its walk by
 * `last_seq`), a renewal (`renewal_of`), a refused row, a field, a difference. The first walk of a dataset and its last proof stay.
 *
 * Most walks changed nothing, so no row refers to them: they are removed one after the other, up to `datasets.walks_from`. For the
 * others, only a sweep over all rows tells whether one refers to them: an index would cost every change.
 */

type Walk = { id: number; finishedAt: string | null; isFull: 0 | 1; isUnchanged: 0 | 1 };

/** SQL for a walk that read the dataset from end to end. */
const FULL = `(kind = 'walk' AND renewal_of IS NULL)`;

/** Removes walks and glances of the job that ended before `horizon` (ISO 8601 UTC) and changed nothing. */
function pruneWalks(connection: Connection, { name: job }: Job, horizon: string): Batch {
  const number = (sql: string) => valueIn<number>(connection, sql, job);
  // Leaves out glances that changed something: they stay, and there may be any number of them between two full walks.
  const next = connection.prepare<[string, number, number, number], Walk>(
    `SELECT id, finished_at AS finishedAt, ${FULL} AS isFull, last_seq IS NULL AS isUnchanged
     FROM walks WHERE job = ? AND id >= ? AND id < ? AND (last_seq IS NULL OR ${FULL}) ORDER BY id LIMIT ?`,
  );
  const note = connection.prepare<[string, number]>(
    `INSERT INTO datasets (job, walks_from) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET walks_from = excluded.walks_from`,
  );
  const forget = createForgetting(connection, job);
  const first = firstWalk(connection, job);

  return () => {
    const from = Math.max(number('SELECT walks_from FROM datasets WHERE job = ?') ?? 0, first + 1);
    const to =
      number(`SELECT id FROM walks WHERE job = ? AND ${FULL_PROOF} ORDER BY id DESC LIMIT 1`) ??
      number('SELECT max(id) FROM walks WHERE job = ?') ??
      0;
    const walks = upTo(
      next.all(job, from, to, ROWS_AT_ONCE),
      ({ finishedAt }) => finishedAt === null || finishedAt >= horizon,
    );
    // Later renewals may refer to the last full walk.
    const last = walks.findLast(({ isFull }) => isFull)?.id;
    forget(walks.filter(({ id, isUnchanged }) => isUnchanged && id !== last).map(({ id }) => id));
    if (last !== undefined && last > from) note.run(job, last);
    return walks.length === ROWS_AT_ONCE;
  };
}

/** Walks, of all datasets, between two sweeps. */
const SWEPT_EVERY = 10_000;

/**
 * Removes the walks before `to` whose changes no row shows any longer, each time that `walks_from` has come far enough. Only where
 * old rows are removed can there be such.
 * @param walks `walks_from` before and now.
 */
async function sweepWalks(
  connection: Connection,
  job: Job,
  { from, to }: { from: number; to: number },
): Promise<void> {
  if (Math.floor(from / SWEPT_EVERY) === Math.floor(to / SWEPT_EVERY)) return;
  const versions = job.versions;
  const referred = new Set<number>();
  // In this order: a row that is superseded meanwhile moves to the end of the history.
  for (const table of [job.rows, ...(versions ? [versions] : [])])
    await noteReferred(connection, table, referred);
  const next = connection.prepare<[string, number, number, number], { id: number; lastSeq: number | null }>(
    `SELECT id, last_seq AS lastSeq FROM walks WHERE job = ? AND id > ? AND id < ? ORDER BY id LIMIT ?`,
  );
  const keptFrom = versions ? oldestIn(connection, versions) : undefined;
  const forget = createForgetting(connection, job.name);
  let after = firstWalk(connection, job.name);
  const batch = () => {
    const walks = next.all(job.name, after, to, ROWS_AT_ONCE);
    const isOver = (seq: number | null) => keptFrom === undefined || seq === null || seq < keptFrom;
    forget(walks.filter(({ id, lastSeq }) => !referred.has(id) && isOver(lastSeq)).map(({ id }) => id));
    after = walks.at(-1)?.id ?? after;
    return walks.length === ROWS_AT_ONCE;
  };
  await inBatches(connection, [batch]);
}

const LOOKED_AT_ONCE = 5_000;

async function noteReferred(connection: Connection, table: string, referred: Set<number>): Promise<void> {
  const rows = connection
    .prepare<[number, number], [rowid: number, walkId: number]>(
      `SELECT rowid, _walk_id FROM ${quoted(table)} WHERE rowid > ? ORDER BY rowid LIMIT ?`,
    )
    .raw();
  for (let after = 0; ; ) {
    const some = rows.all(after, LOOKED_AT_ONCE);
    for (const [, walkId] of some) referred.add(walkId);
    const last = some.at(-1);
    if (!last) return;
    after = last[0];
    await breath();
  }
}

/** The number of the change that ended the oldest version in a history; undefined where it is empty. */
const oldestIn = (connection: Connection, versions: string) =>
  valueIn<number>(connection, `SELECT ${seqOf('_valid_to')} FROM ${quoted(versions)} ORDER BY rowid LIMIT 1`);

const firstWalk = (connection: Connection, job: string): number =>
  valueIn(connection, 'SELECT min(id) FROM walks WHERE job = ?', job) ?? 0;

function createForgetting(connection: Connection, job: string): (walks: readonly number[]) => void {
  const referring = ['quarantine', 'fields', 'drift'].map(
    (table) => `SELECT walk_id FROM ${table} WHERE job = :job`,
  );
  const remove = connection.prepare<[{ job: string; walks: string }]>(
    `WITH referred AS (SELECT id, renewal_of FROM walks WHERE id IN (${referring.join(' UNION ALL ')}))
     DELETE FROM walks WHERE id IN (SELECT value FROM json_each(:walks))
       AND id NOT IN (SELECT id FROM referred)
       AND id NOT IN (SELECT renewal_of FROM referred WHERE renewal_of IS NOT NULL)`,
  );
  return (walks) => void (walks.length > 0 && remove.run({ job, walks: JSON.stringify(walks) }));
}
