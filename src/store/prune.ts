/** Removes what is older than the settings keep it: one transaction behind the one that ends a walk. */

import { DAY_MS, isoTime } from '../base/clock.ts';
import type { Config } from '../config.ts';
import type { Job } from '../job.ts';
import { type Connection, valueIn } from './connection.ts';
import { pruneOrders } from './pages.ts';
import { FULL_PROOF, PROOF, quoted } from './sql.ts';

/** For how long versions and snapshots of the usage are kept, and for how long records: calls, walks, drift, refused rows. */
export type Keep = Pick<Config['keep'], 'historyMs' | 'recordsMs'>;

/** An order can be paged through for so long after another one took its place. */
const ORDERS_KEPT_MS = DAY_MS;

export function prune(connection: Connection, job: Job, keep: Keep, now: number): void {
  connection
    .transaction(() => {
      const believed = believedTime(connection, now);
      if (believed === undefined) return;
      pruneOrders(connection, job.name, believed - ORDERS_KEPT_MS);
      if (Number.isFinite(keep.historyMs)) pruneHistory(connection, job, isoTime(believed - keep.historyMs));
      if (Number.isFinite(keep.recordsMs)) pruneRecords(connection, job, isoTime(believed - keep.recordsMs));
    })
    .immediate();
}

/**
 * The time to count from, in epoch milliseconds: a day after the latest call that is a day old. That is about now, unless the clock
 * has gone far ahead of the calls. Undefined where no call is so old.
 */
export function believedTime(connection: Connection, now: number): number | undefined {
  const dayAgo = isoTime(now - DAY_MS);
  const latest = valueIn<string>(connection, 'SELECT max(at) FROM requests WHERE at <= ?', dayAgo);
  return latest ? Date.parse(latest) + DAY_MS : undefined;
}

/** @param horizon ISO 8601 UTC. */
function pruneHistory(connection: Connection, job: Job, horizon: string): void {
  const { versions, reading, rows } = job;
  if (versions !== null) {
    // The state of a published snapshot stays until the next one is proven.
    const served = valueIn<number>(
      connection,
      `SELECT order_seq FROM walks WHERE job = ? AND order_seq IS NOT NULL AND verdict = 'snapshot' AND generated_at IS NOT NULL
       ORDER BY order_seq DESC LIMIT 1`,
      job.name,
    );
    const until = served === undefined ? horizon : [isoTime(served), horizon].sort()[0];
    forget(connection, job.name, versions, '_valid_to', until as string);
  } else if (reading === 'response') forget(connection, job.name, rows, '_fetched_at', horizon);
}

function forget(connection: Connection, job: string, table: string, time: string, until: string): void {
  const last = valueIn<string>(
    connection,
    `SELECT max(${time}) FROM ${quoted(table)} WHERE ${time} <= ?`,
    until,
  );
  if (last === undefined) return;
  connection.prepare<[string]>(`DELETE FROM ${quoted(table)} WHERE ${time} <= ?`).run(last);
  connection
    .prepare<[string, string]>(
      `INSERT INTO _datasets (job, history_from) VALUES (?, ?)
       ON CONFLICT DO UPDATE SET history_from = max(excluded.history_from, coalesce(history_from, ''))`,
    )
    .run(job, last);
}

/** @param horizon ISO 8601 UTC. */
function pruneRecords(connection: Connection, { name: job }: Job, horizon: string): void {
  const remove = (sql: string) =>
    connection.prepare<[{ job: string; horizon: string }]>(sql).run({ job, horizon });
  remove('DELETE FROM requests WHERE at < :horizon AND :job IS NOT NULL');
  remove('DELETE FROM drift WHERE job = :job AND last_seen_at < :horizon');
  remove('DELETE FROM quarantine WHERE job = :job AND resolved_at < :horizon');
  // A list that is never proven resolves none: a row that a later walk did not refuse again is not there any more.
  remove(`DELETE FROM quarantine WHERE job = :job AND resolved_at IS NULL AND last_seen_at < :horizon AND EXISTS (
    SELECT 1 FROM walks WHERE walks.job = :job AND ${FULL_WALK} AND walks.id > quarantine.walk_id
      AND started_at > quarantine.last_seen_at)`);
  // The walks of a dataset up to its first whole one stay, what came since its last whole one, the last proof with the full walk that it
  // renews, the full proof before (held rows count them), and those whose pages show an order.
  const last = (condition: string) =>
    `coalesce((SELECT max(id) FROM walks WHERE job = :job AND ${condition}), 0)`;
  remove(`DELETE FROM walks WHERE job = :job AND finished_at < :horizon AND order_seq IS NULL
    AND id > coalesce((SELECT min(id) FROM walks WHERE job = :job AND ${FULL_WALK}), (SELECT min(id) FROM walks WHERE job = :job)) AND id <> ${last(PROOF)}
    AND id NOT IN (SELECT id FROM walks WHERE job = :job AND ${FULL_PROOF} ORDER BY id DESC LIMIT 2)
    AND id < iif(${last(FULL_WALK)} > 0, ${last(FULL_WALK)}, ${last('true')})`);
}

/** SQL over `walks`: those that read the dataset to its end. */
const FULL_WALK = `kind = 'walk' AND status = 'complete' AND renewal_of IS NULL`;
