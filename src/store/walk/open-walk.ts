/** The row of a walk or a glance: begun or taken up again, left at its checkpoint, or closed. */

import { and, eq, gt, ne, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { isoTime } from '../../clock.ts';
import { asFailure, Failure, Snooze } from '../../errors.ts';
import type { Job } from '../../job.ts';
import type { WalkKind } from '../../walk.ts';
import type { Connection } from '../connection.ts';
import { isLock, type Lock, tryLock } from '../lock.ts';
import { forgetMet, type MetRows, readMet } from '../met-rows.ts';
import { lastOf, lastWalk } from '../records/walks.ts';
import { datasets, type WalkRow, walks } from '../schema.ts';

/** A walk that this process alone is taking. */
export type OpenWalk = {
  job: Job;
  row: WalkRow;
  met: MetRows;
  /** Walks that broke off since the last one that was complete, and this one: what they brought may have a gap behind it. */
  unsettled: ReadonlySet<number>;
  /** For a glance: whether there is an unfinished walk, which it leaves alone. */
  isBesideWalk: boolean;
  /** For a walk: what glances have met since it began. */
  glanced: MetRows;
  lock: Lock;
};

/**
 * Goes on with what is unfinished of the job and of this kind, or begins anew. A walk reads whatever an unfinished glance
 * has yet to read, and gives it up. Two walks of one job never run at once.
 * @throws Failure `incomplete` where another process is walking this job.
 */
export function openWalk(
  connection: Connection,
  dir: string,
  job: Job,
  kind: WalkKind,
  now: number,
): OpenWalk {
  const lock = tryLock(dir, job.name);
  if (!isLock(lock))
    throw new Failure(
      'incomplete',
      `${job.name}: process ${lock.holder} is mirroring it already; try again later`,
    );
  try {
    const unfinished = {
      walk: unfinishedOf(connection, job, 'walk'),
      glance: unfinishedOf(connection, job, 'glance'),
    };
    if (kind === 'walk' && unfinished.glance) giveUpGlance(connection, unfinished.glance, now);
    const row = resume(connection, unfinished[kind]) ?? begin(connection, job, kind, now);
    return {
      job,
      row,
      met: readMet(connection, String(row.id)),
      unsettled: unsettledWalks(connection, job).add(row.id),
      isBesideWalk: kind === 'glance' && unfinished.walk !== undefined,
      glanced: readMet(connection, begunAfter(row)),
      lock,
    };
  } catch (thrown) {
    lock.release();
    throw thrown;
  }
}

const notWaiting = { waitsUntil: null, waitsFor: null };

/** The last of its kind, where it has not finished. */
function unfinishedOf(connection: Connection, { name: job }: Job, kind: WalkKind): WalkRow | undefined {
  const last = lastOf(connection, job, kind);
  return last?.finishedAt === null ? last : undefined;
}

function giveUpGlance(connection: Connection, { id }: WalkRow, now: number): void {
  const ending = { status: 'failed', error: 'a walk has taken its place', errorKind: 'incomplete' } as const;
  const db = drizzle(connection);
  db.update(walks)
    .set({ ...ending, finishedAt: isoTime(now), ...notWaiting, ...needless })
    .where(eq(walks.id, id))
    .run();
  forgetMet(connection, String(id));
}

function resume(connection: Connection, unfinished: WalkRow | undefined): WalkRow | undefined {
  if (!unfinished) return undefined;
  const running = { status: 'running', error: null, errorKind: null, ...notWaiting } as const;
  drizzle(connection).update(walks).set(running).where(eq(walks.id, unfinished.id)).run();
  return { ...unfinished, ...running };
}

function begin(connection: Connection, job: Job, kind: WalkKind, now: number): WalkRow {
  return drizzle(connection)
    .insert(walks)
    .values({ job: job.name, kind, status: 'running', startedAt: isoTime(now) })
    .returning()
    .get();
}

function unsettledWalks(connection: Connection, { name: job }: Job): Set<number> {
  const complete = lastWalk(connection, job, `status = 'complete'`)?.id ?? 0;
  const broken = drizzle(connection)
    .select({ id: walks.id })
    .from(walks)
    .where(and(eq(walks.job, job), gt(walks.id, complete), ne(walks.status, 'complete')));
  return new Set(broken.all().map(({ id }) => id));
}

/** SQL for the glances that were made while this walk was unfinished. */
const begunAfter = ({ job, id }: WalkRow) => `SELECT id FROM walks WHERE job = '${job}' AND id > ${id}`;

/** The walk that ended last, or, where that renewed a proof by one call, the full walk whose proof it was. */
export function lastFullWalk(connection: Connection, job: string): WalkRow | undefined {
  const last = lastWalk(connection, job, 'finished_at IS NOT NULL');
  if (!last || last.renewalOf === null) return last;
  return lastWalk(connection, job, `id = ${last.renewalOf}`) ?? last;
}

/** A checkpoint that no walk needs any more: kept with every walk, they would make up a third of the mirror. */
const needless = { memory: '{}' };

/**
 * Ends a walk for good; only its row in `walks` stays, with the checkpoint that the next walk is compared with. What a
 * glance has met stays as long as the walk is unfinished beside which it was made.
 * @param before the full walk that this one was compared with; the next one is, too, where this renewed its proof.
 */
export function closeWalk(
  connection: Connection,
  walk: OpenWalk,
  ending: Partial<WalkRow>,
  before: WalkRow | undefined,
): void {
  const db = drizzle(connection);
  const { row, isBesideWalk } = walk;
  const isCompared = ending.renewalOf === undefined && (ending.kind ?? row.kind) === 'walk';
  const ended = { ...ending, ...(!isCompared && needless) };
  db.update(walks).set(ended).where(eq(walks.id, row.id)).run();
  if (before && isCompared) db.update(walks).set(needless).where(eq(walks.id, before.id)).run();
  if (!isBesideWalk) {
    forgetMet(connection, String(row.id));
    forgetMet(connection, begunAfter(row));
  }
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
  const isFailed = !wait && !stopped;
  drizzle(connection)
    .update(walks)
    .set({
      status: isFailed ? 'failed' : 'waiting',
      error: thrown.message,
      errorKind: isFailed ? asFailure(thrown).kind : null,
      waitsUntil: wait ? isoTime(wait.until) : null,
      waitsFor: wait?.reason ?? null,
    })
    .where(and(eq(walks.id, walk.row.id), ne(walks.status, 'complete')))
    .run();
}
