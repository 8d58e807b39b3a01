/**
 * Refused rows: kept whole with the reason, resolved when they fit or are gone, and checked again after a fix. `key` is what the row shows;
 * `identity` is what it is known again by: its key, or a digest of its content where it has none or that of another row (a twin).
 */

import { createHash } from 'node:crypto';
import { isoTime } from '../base/clock.ts';
import { reportProgress } from '../base/progress.ts';
import { propertiesOf } from '../base/properties.ts';
import type { Job } from '../job.ts';
import {
  type CheckedRows,
  type DiscoveredShape,
  type FieldPath,
  type Problem,
  type RefusedRow,
  sharedKey,
} from '../validate/checked.ts';
import { digestOf } from '../validate/keys.ts';
import { asRecord } from '../validate/values.ts';
import { type Connection, valueIn } from './connection.ts';
import { createDriftLog, type Origin } from './drift.ts';
import { watchFields } from './fields.ts';
import { lockJob } from './lock.ts';
import { acceptRefused } from './pages.ts';
import { openTable } from './rows.ts';
import type { quarantine } from './schema.ts';
import { createSequence } from './sequence.ts';
import { agesOf, readFindings } from './shapes.ts';
import { FULL_PROOF } from './sql.ts';
import { lastWalk } from './walks.ts';

/** The quarantine as one walk of the job uses it. @param ages those of a list without a contract. */
export function openQuarantine(
  connection: Connection,
  { name: job, schemas, volatile }: Job,
  ages: readonly FieldPath[],
) {
  const properties = schemas ? [...propertiesOf(schemas.row)] : [];
  const specified = properties.filter(({ column }) => volatile.includes(column)).map(({ path }) => path);
  const unstable = schemas ? specified : ages;
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
  const find = connection.prepare<[string, string], { id: number; walkId: number; body: string }>(
    `SELECT id, walk_id AS walkId, body FROM quarantine WHERE ${unresolved}`,
  );
  // Mostly there is none to look for.
  let hasAny = countUnresolved(connection, job) > 0;
  return {
    /**
     * @param isTwin its key is that of another row.
     * @returns the row's id in the quarantine.
     */
    keep(row: RefusedRow, isTwin: boolean, origin: Origin): number {
      hasAny = true;
      const problems = JSON.stringify(row.problems);
      const identity = (isTwin ? null : row.key) ?? contentOf(row, unstable);
      return upsert.get({ ...row, ...origin, problems, identity }) as number;
    },
    /** Resolves the row that was refused under this key, if there is one; not a twin. */
    resolve(key: string, now: string): void {
      if (hasAny) resolve.run(now, job, key);
    },
    /** The unresolved row that was refused under this key, and the walk that found it last. */
    find: (key: string) => (hasAny ? find.get(job, key) : undefined),
  };
}

/** A row without a key of its own is known again by its text, without its ages: else each walk would keep it once more. */
function contentOf({ body }: RefusedRow, ages: readonly FieldPath[]): string {
  const record = ages.length > 0 ? asRecord(JSON.parse(body)) : undefined;
  // Texts alone are digested: it may be a row that nothing else can be done with.
  return record
    ? digestOf({ record, body, inexact: true }, ages)
    : createHash('sha256').update(body).digest('hex');
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
> & {
  /** 1 where it showed no key, or that of another row. */
  lacksOwnKey: 0 | 1;
};

export type Retried = {
  job: string;
  /** Unresolved rows that were checked; each is one of the following. */
  tried: number;
  mirrored: number;
  /** Rows that fit, but that a later walk over the whole dataset did not meet. */
  gone: number;
  refused: number;
};

/** Rows of one transaction: more would keep other writers waiting. */
const RETRIED_AT_ONCE = 100;

/**
 * Checks refused rows again, under the job's lock, and mirrors those that fit now. An unfinished walk that met them has met the rows.
 * @throws Failure `incomplete` where a process is mirroring the job.
 */
export function retryQuarantine(
  connection: Connection,
  dir: string,
  job: Job,
  check: (row: QuarantinedRow, shape: DiscoveredShape) => CheckedRows,
  now: () => number,
): Retried {
  const lock = lockJob(dir, job, 'is mirroring it; try again when its walk has ended');
  try {
    const retried: Retried = { job: job.name, tried: 0, mirrored: 0, gone: 0, refused: 0 };
    const total = countUnresolved(connection, job.name);
    const next = connection.prepare<[string, number, number], QuarantinedRow>(
      `SELECT id, body, request_id AS requestId, walk_id AS walkId, last_seen_at AS lastSeenAt, key IS NOT identity AS lacksOwnKey
       FROM quarantine WHERE job = ? AND resolved_at IS NULL AND id > ? ORDER BY id LIMIT ?`,
    );
    const retry = connection.transaction((rows: readonly QuarantinedRow[]) =>
      retryRows(connection, job, rows, check, isoTime(now()), retried),
    ).immediate;
    for (let after = 0; ; ) {
      const rows = next.all(job.name, after, RETRIED_AT_ONCE);
      const last = rows.at(-1);
      if (!last) return retried;
      retry(rows);
      reportProgress({ what: job.name, unit: 'rows', done: retried.tried, total });
      after = last.id;
    }
  } finally {
    lock.release();
  }
}

function retryRows(
  connection: Connection,
  job: Job,
  rows: readonly QuarantinedRow[],
  check: (row: QuarantinedRow, shape: DiscoveredShape) => CheckedRows,
  now: string,
  retried: Retried,
): void {
  const { shape } = readFindings(connection, job.name);
  const save = prepareSave(connection, job, now);
  const resolve = connection.prepare<[string, number]>('UPDATE quarantine SET resolved_at = ? WHERE id = ?');
  const refuse = connection.prepare<[string, number]>('UPDATE quarantine SET problems = ? WHERE id = ?');
  const lastProof = lastWalk(connection, job.name, FULL_PROOF)?.id ?? 0;
  for (const row of rows) {
    const checked = check(row, shape);
    retried.tried += 1;
    const problems =
      checked.rows.find((one) => one.refused)?.refused?.problems ?? save.findTwin(row, checked);
    if (problems) {
      refuse.run(JSON.stringify(problems), row.id);
      retried.refused += 1;
      continue;
    }
    const isGone = row.walkId < lastProof;
    if (!isGone) save.run(row, checked);
    resolve.run(now, row.id);
    retried[isGone ? 'gone' : 'mirrored'] += 1;
  }
}

/** Returns what saves a row as a change of the walk that brought it, whose `last_seq` then leads readers to it. */
function prepareSave(connection: Connection, job: Job, now: string) {
  const table = openTable(connection, job, agesOf(readFindings(connection, job.name)));
  const drift = createDriftLog(connection, job.name);
  const latest = lastWalk(connection, job.name)?.id ?? 0;
  const fields = job.contract ? undefined : watchFields(connection, job, latest, drift);
  const noteChange = connection.prepare<[number, number, number, number, number]>(
    `UPDATE walks SET inserted = inserted + ?, updated = updated + ?,
       first_seq = coalesce(first_seq, ?), last_seq = ? WHERE id = ?`,
  );
  let seq: number | undefined;
  const changeBy = (walkId: number, isNew: boolean): string => {
    seq ??= createSequence(connection)(job.name, Date.parse(now));
    noteChange.run(Number(isNew), Number(!isNew), seq, seq, walkId);
    return isoTime(seq);
  };

  /** What keeps a row out whose key is that of another one. A row that the last proof lacks may be the same, as it was before. */
  function findTwin({ lacksOwnKey }: QuarantinedRow, { rows }: CheckedRows): readonly Problem[] | undefined {
    const [row] = rows.flatMap((one) => one.row ?? []);
    const stored = lacksOwnKey && row ? table.compare(row, row.key) : undefined;
    return stored?.change === 'changed' && !stored.isHeld ? [sharedKey] : undefined;
  }

  function run({ id, walkId, requestId }: QuarantinedRow, checked: CheckedRows): void {
    const origin = { job: job.name, walkId, requestId, now };
    fields?.note(checked.fields, origin);
    for (const found of checked.drifts) drift.note(found, origin);
    drift.flush();
    for (const { row } of checked.rows) {
      if (!row) continue;
      const stored = table.compare(row, row.key);
      if (!stored)
        acceptRefused(connection, id, table.insert(row.key, row.values, walkId, changeBy(walkId, true)));
      else {
        if (stored.change === 'changed')
          table.update(stored.number, row.values, walkId, changeBy(walkId, false));
        else if (stored.change === 'aged') table.keepCurrent(stored, row.values);
        if (stored.isHeld) table.endHold(stored.number);
        acceptRefused(connection, id, stored.number);
      }
    }
    table.writeStaged();
  }
  return { findTwin, run };
}
