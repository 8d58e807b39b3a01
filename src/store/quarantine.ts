/**
 * Rows that break the contract. Each is kept whole with the reason, counted when it comes again, and resolved when it fits or is
 * gone upstream. After a fix, all can be tried again.
 */

import { createHash } from 'node:crypto';
import { isoTime } from '../clock.ts';
import type { Job } from '../job.ts';
import { reportProgress } from '../progress.ts';
import type { CheckedRows, RefusedRow } from '../validate/checked.ts';
import { type Connection, valueIn } from './connection.ts';
import { createDriftLog, type Origin } from './drift.ts';
import { watchFields } from './fields.ts';
import { lockJob } from './lock.ts';
import { createTableWriter } from './rows.ts';
import type { quarantine } from './schema.ts';
import { createSequence } from './sequence.ts';
import { FULL_PROOF } from './sql.ts';
import { openVolatile } from './staged-values.ts';
import { lastWalk } from './walks.ts';

/** The quarantine as one walk of the job uses it. */
export function openQuarantine(connection: Connection, job: string) {
  const upsert = connection
    .prepare<[object], number>(
      `INSERT INTO quarantine (job, key, identity, body, problems, request_id, walk_id, first_seen_at, last_seen_at)
       VALUES (:job, :key, :identity, :body, :problems, :requestId, :walkId, :now, :now)
       ON CONFLICT DO UPDATE SET body = excluded.body, problems = excluded.problems, request_id = excluded.request_id,
         walk_id = excluded.walk_id, last_seen_at = excluded.last_seen_at, times = times + 1, resolved_at = NULL
       RETURNING id`,
    )
    .pluck();
  const unresolved = 'job = ? AND identity = ? AND resolved_at IS NULL';
  const resolve = connection.prepare<[string, string, string]>(
    `UPDATE quarantine SET resolved_at = ? WHERE ${unresolved}`,
  );
  const find = connection.prepare<[string, string], { rowid: number; walkId: number }>(
    `SELECT id AS rowid, walk_id AS walkId FROM quarantine WHERE ${unresolved}`,
  );
  const identify = createIdentifier();
  // Mostly there is none to look for.
  let holdsAny = countUnresolved(connection, job) > 0;
  return {
    /** Returns the row's rowid in the quarantine. */
    keep(row: RefusedRow, origin: Origin): number {
      holdsAny = true;
      const problems = JSON.stringify(row.problems);
      return upsert.get({ ...row, ...origin, problems, identity: identify(row) }) as number;
    },
    /** Resolves the row that was refused under this key, if there is one. */
    resolve(key: string, now: string): void {
      if (holdsAny) resolve.run(now, job, key);
    },
    /** The unresolved row that was refused under this key, and the walk that found it last. */
    find: (key: string) => (holdsAny ? find.get(job, key) : undefined),
  };
}

/** Tells rows without a key that look alike apart, in the order in which a walk meets them. */
function createIdentifier(): (row: RefusedRow) => string {
  const alike = new Map<string, string[]>();
  return ({ key, identity, body }) => {
    if (key !== null) return identity;
    const digest = createHash('sha256').update(body).digest('base64');
    const met = alike.get(identity) ?? [];
    if (!met.includes(digest)) met.push(digest);
    alike.set(identity, met);
    const at = met.indexOf(digest);
    return at === 0 ? identity : `${identity}#${at + 1}`;
  };
}

/** Resolves the refused rows that a walk over the whole dataset did not meet: they are gone upstream. */
export function resolveGone(connection: Connection, job: string, walkId: number, now: string): void {
  connection
    .prepare<[string, string, number]>(
      'UPDATE quarantine SET resolved_at = ? WHERE job = ? AND resolved_at IS NULL AND walk_id < ?',
    )
    .run(now, job, walkId);
}

const countUnresolved = (connection: Connection, job: string): number =>
  valueIn(connection, 'SELECT count(*) FROM quarantine WHERE job = ? AND resolved_at IS NULL', job) ?? 0;

export type QuarantinedRow = Pick<
  typeof quarantine.$inferSelect,
  'id' | 'body' | 'requestId' | 'walkId' | 'lastSeenAt'
>;

export type Retried = {
  job: string;
  /** Unresolved rows that were checked; each is one of the following. */
  tried: number;
  mirrored: number;
  /** Rows that fit, but that a later walk over the whole dataset did not meet. */
  gone: number;
  refused: number;
};

/**
 * Checks refused rows again, in one transaction and under the job's lock, and mirrors those that fit now.
 * @throws Failure `incomplete` where a process is mirroring the job.
 */
export function retryQuarantine(
  connection: Connection,
  dir: string,
  job: Job,
  check: (row: QuarantinedRow) => CheckedRows,
  now: () => number,
): Retried {
  const lock = lockJob(dir, job, 'is mirroring it; try again when its walk has ended');
  try {
    return connection.transaction(() => retryAll(connection, job, check, isoTime(now()))).immediate();
  } finally {
    lock.release();
  }
}

function retryAll(
  connection: Connection,
  job: Job,
  check: (row: QuarantinedRow) => CheckedRows,
  now: string,
): Retried {
  const save = prepareSave(connection, job, now);
  const next = connection.prepare<[string, number], QuarantinedRow>(
    `SELECT id, body, request_id AS requestId, walk_id AS walkId, last_seen_at AS lastSeenAt
     FROM quarantine WHERE job = ? AND resolved_at IS NULL AND id > ? ORDER BY id LIMIT 1`,
  );
  const resolve = connection.prepare<[string, number]>('UPDATE quarantine SET resolved_at = ? WHERE id = ?');
  const refuse = connection.prepare<[string, number]>('UPDATE quarantine SET problems = ? WHERE id = ?');
  const lastProof = lastWalk(connection, job.name, FULL_PROOF)?.id ?? 0;
  const retried: Retried = { job: job.name, tried: 0, mirrored: 0, gone: 0, refused: 0 };
  const total = countUnresolved(connection, job.name);
  for (let row = next.get(job.name, 0); row; row = next.get(job.name, row.id)) {
    const checked = check(row);
    retried.tried += 1;
    reportProgress({ what: job.name, unit: 'rows', done: retried.tried, total });
    const [refused] = checked.refused;
    if (refused) {
      refuse.run(JSON.stringify(refused.problems), row.id);
      retried.refused += 1;
      continue;
    }
    const isGone = row.walkId < lastProof;
    if (!isGone) save(row, checked);
    resolve.run(now, row.id);
    retried[isGone ? 'gone' : 'mirrored'] += 1;
  }
  return retried;
}

/** Returns what saves a row as a change of the walk that brought it, whose `last_seq` then leads readers to it. */
function prepareSave(connection: Connection, job: Job, now: string) {
  const volatile = openVolatile(connection, job);
  // No walk ends here to show staged values.
  const table = createTableWriter(connection, job, volatile && { ...volatile, stage: volatile.put });
  const drift = createDriftLog(connection, job.name);
  const latest = lastWalk(connection, job.name)?.id ?? 0;
  const fields = job.contract ? undefined : watchFields(connection, job, latest, drift);
  const noteChange = connection.prepare<[number, number, number, number, number]>(
    `UPDATE walks SET inserted = inserted + ?, updated = updated + ?,
       first_seq = coalesce(first_seq, ?), last_seq = ? WHERE id = ?`,
  );
  let seq: number | undefined;
  return ({ walkId, requestId }: QuarantinedRow, checked: CheckedRows) => {
    const origin = { job: job.name, walkId, requestId, now };
    fields?.note(checked.fields, origin);
    for (const found of checked.drifts) drift.note(found, origin);
    drift.flush();
    seq ??= createSequence(connection)(job.name, Date.parse(now));
    for (const accepted of checked.accepted) {
      const row = table.compare(accepted);
      table.write(row, walkId, isoTime(seq));
      const [isNew, isChanged] = [row.change === 'new', row.change === 'changed'];
      if (isNew || isChanged) noteChange.run(Number(isNew), Number(isChanged), seq, seq, walkId);
    }
    volatile?.commit();
  };
}
