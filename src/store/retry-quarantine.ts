/** Looking at refused rows again, after a fix of the contract: those that fit now are mirrored. */

import { and, asc, eq, gt, isNull } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { isoTime } from '../clock.ts';
import { Failure } from '../errors.ts';
import type { Job } from '../job.ts';
import type { CheckedRows, RefusedRow } from '../validate/checked.ts';
import { createSequence } from './changes.ts';
import type { Connection } from './connection.ts';
import { createDriftLog } from './drift.ts';
import { watchFields } from './fields.ts';
import { isLock, tryLock } from './lock.ts';
import { type ComparedRow, createTableWriter } from './rows.ts';
import { quarantine } from './schema.ts';
import { FULL_PROOF } from './sql.ts';
import { openVolatile } from './staged-values.ts';
import { lastWalk } from './walks.ts';

export type QuarantinedRow = typeof quarantine.$inferSelect;

export type Retried = {
  job: string;
  /** Unresolved rows that were looked at; each is one of the following. */
  tried: number;
  mirrored: number;
  /** Fit now, but a later walk that read the dataset whole proved that it no longer holds them. */
  gone: number;
  refused: number;
};

const ROWS_AT_ONCE = 200;

/**
 * One transaction, under the job's lock, and without a call.
 * @throws Failure `incomplete` where a process is mirroring the job.
 */
export function retryQuarantine(
  connection: Connection,
  dir: string,
  job: Job,
  check: (row: QuarantinedRow) => CheckedRows,
  now: () => number,
): Retried {
  const lock = tryLock(dir, job.name);
  if (!isLock(lock))
    throw new Failure(
      'incomplete',
      `${job.name}: process ${lock.holder} is mirroring it; try again when its walk has ended`,
    );
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
  const save = createSaver(connection, job, now);
  const mark = createMarker(connection, now);
  const lastProof = lastWalk(connection, job.name, FULL_PROOF)?.id ?? 0;
  const retried: Retried = { job: job.name, tried: 0, mirrored: 0, gone: 0, refused: 0 };
  for (const row of unresolved(connection, job.name)) {
    const checked = check(row);
    retried.tried += 1;
    const [problem] = checked.refused;
    if (problem) {
      mark.refused(row.id, problem);
      retried.refused += 1;
      continue;
    }
    const isGone = row.walkId < lastProof;
    if (!isGone) save(row, checked);
    mark.resolved(row.id);
    retried[isGone ? 'gone' : 'mirrored'] += 1;
  }
  return retried;
}

/** Saves a row as the walk that brought it would have. */
function createSaver(connection: Connection, job: Job, now: string) {
  const volatile = openVolatile(connection, job);
  // No walk's end brings what is staged here to light.
  const table = createTableWriter(connection, job, volatile && { ...volatile, stage: volatile.put });
  const drift = createDriftLog(connection, job.name);
  const latest = lastWalk(connection, job.name)?.id ?? 0;
  const fields = job.contract ? undefined : watchFields(connection, job, latest, drift);
  const note = noteChanges(connection);
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
      note(row, walkId, seq);
    }
    volatile?.commit();
  };
}

/** The rows count as changes of the walk that brought them: by its `last_seq` all who follow the mirror find them, and it is not forgotten. */
function noteChanges(connection: Connection) {
  const update = connection.prepare<[number, number, number, number, number]>(
    `UPDATE walks SET inserted = inserted + ?, updated = updated + ?,
       first_seq = coalesce(first_seq, ?), last_seq = ?
     WHERE id = ?`,
  );
  return ({ change }: ComparedRow, walkId: number, seq: number) => {
    if (change === 'new' || change === 'changed')
      update.run(Number(change === 'new'), Number(change === 'changed'), seq, seq, walkId);
  };
}

function createMarker(connection: Connection, now: string) {
  const db = drizzle(connection);
  const set = (id: number, values: Partial<QuarantinedRow>) =>
    db.update(quarantine).set(values).where(eq(quarantine.id, id)).run();
  return {
    resolved: (id: number) => set(id, { resolvedAt: now }),
    refused: (id: number, { problems }: RefusedRow) => set(id, { problems }),
  };
}

function* unresolved(connection: Connection, job: string): Generator<QuarantinedRow> {
  const db = drizzle(connection);
  for (let after = 0; ; ) {
    const isNext = and(eq(quarantine.job, job), isNull(quarantine.resolvedAt), gt(quarantine.id, after));
    const rows = db
      .select()
      .from(quarantine)
      .where(isNext)
      .orderBy(asc(quarantine.id))
      .limit(ROWS_AT_ONCE)
      .all();
    yield* rows;
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
  }
}
