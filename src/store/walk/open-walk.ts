/** The row of a walk: begun or taken up again, left at its checkpoint, or closed. */

import { and, eq, ne, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { isoTime } from '../../clock.ts';
import { Failure, Snooze } from '../../errors.ts';
import type { Job } from '../../job.ts';
import type { Connection } from '../db/connection.ts';
import { isLock, type Lock, tryLock } from '../db/lock.ts';
import { lastWalk } from '../records/walks.ts';
import { datasets, type WalkRow, walkSeen, walks } from '../schema.ts';
import { createSeenRows, type MetRows, unpackMet } from './seen.ts';

/** A walk that this process alone is taking. */
export type OpenWalk = {
  job: Job;
  row: WalkRow;
  met: MetRows;
  lock: Lock;
};

/**
 * Goes on with the job's unfinished walk, or begins a new one. Two walks of one job never run at once.
 * @throws Failure `incomplete` where another process is walking this job.
 */
export function openWalk(connection: Connection, dir: string, job: Job, now: number): OpenWalk {
  const lock = tryLock(dir, job.name);
  if (!isLock(lock))
    throw new Failure(
      'incomplete',
      `${job.name}: process ${lock.holder} is mirroring it already; try again later`,
    );
  try {
    const row = resume(connection, job) ?? begin(connection, job, now);
    return { job, row, met: recallMet(connection, row.id), lock };
  } catch (thrown) {
    lock.release();
    throw thrown;
  }
}

function resume(connection: Connection, job: Job): WalkRow | undefined {
  const last = lastWalk(connection, job.name);
  if (!last || last.status === 'complete' || last.finishedAt) return undefined;
  const running = { status: 'running', error: null, waitsUntil: null, waitsFor: null } as const;
  drizzle(connection).update(walks).set(running).where(eq(walks.id, last.id)).run();
  return { ...last, ...running };
}

function begin(connection: Connection, job: Job, now: number): WalkRow {
  return drizzle(connection)
    .insert(walks)
    .values({ job: job.name, status: 'running', startedAt: isoTime(now) })
    .returning()
    .get();
}

function recallMet(connection: Connection, walkId: number): MetRows {
  const met = { rows: createSeenRows(), refused: createSeenRows() };
  const pages = drizzle(connection)
    .select({ rowids: walkSeen.rowids })
    .from(walkSeen)
    .where(eq(walkSeen.walkId, walkId));
  for (const page of pages.all()) unpackMet(page.rowids, met);
  return met;
}

/** The walk that ended last, or, where that renewed a proof by one call, the full walk whose proof it was. */
export function lastFullWalk(connection: Connection, job: string): WalkRow | undefined {
  const last = lastWalk(connection, job, 'finished_at IS NOT NULL');
  if (!last || last.probeOf === null) return last;
  return lastWalk(connection, job, `id = ${last.probeOf}`) ?? last;
}

/** A checkpoint that no walk needs any more: kept with every walk, they would make up a third of the mirror. */
const needless = { memory: '{}' };

/**
 * Ends a walk for good; only its row in `walks` stays, with the checkpoint that the next walk is compared with.
 * @param before the full walk that this one was compared with; the next one is, too, where this renewed its proof.
 */
export function closeWalk(
  connection: Connection,
  walk: OpenWalk,
  ending: Partial<WalkRow>,
  before: WalkRow | undefined,
): void {
  const db = drizzle(connection);
  const isRenewal = ending.probeOf !== undefined;
  const ended = { ...ending, ...(isRenewal && needless) };
  db.update(walks).set(ended).where(eq(walks.id, walk.row.id)).run();
  if (before && !isRenewal) db.update(walks).set(needless).where(eq(walks.id, before.id)).run();
  db.delete(walkSeen).where(eq(walkSeen.walkId, walk.row.id)).run();
  if (ending.callsSaved) addCallsSaved(connection, walk.job.name, ending.callsSaved);
}

/** Summed up as walks end: nobody has to look at all of them, and those that are forgotten count on. */
function addCallsSaved(connection: Connection, job: string, callsSaved: number): void {
  drizzle(connection)
    .insert(datasets)
    .values({ job, callsSaved })
    .onConflictDoUpdate({
      target: datasets.job,
      set: { callsSaved: sql`${datasets.callsSaved} + excluded.calls_saved` },
    })
    .run();
}

/** Leaves a walk at its committed checkpoint, to be gone on with. */
export function pauseWalk(connection: Connection, walk: OpenWalk, thrown: Error, stopped: boolean): void {
  const wait = thrown instanceof Snooze ? thrown : undefined;
  drizzle(connection)
    .update(walks)
    .set({
      status: wait || stopped ? 'snoozed' : 'failed',
      error: thrown.message,
      waitsUntil: wait ? isoTime(wait.until) : null,
      waitsFor: wait?.reason ?? null,
    })
    .where(and(eq(walks.id, walk.row.id), ne(walks.status, 'complete')))
    .run();
}
