/**
 * The rows of `walks`: found, begun or resumed, paused and ended. A walk without `finished_at` is unfinished, and the next run resumes it:
 * it is `running`, `waiting`, or `failed` where an error has paused it. A walk with `finished_at` has ended: `failed` where it was given up
 * (`session.ts`) or discarded (here), else `complete`, with a gap, too: what it proves, the verdict alone says.
 */

import { getTableColumns } from 'drizzle-orm';
import { isoTime } from '../base/clock.ts';
import { asFailure, Snooze } from '../base/errors.ts';
import type { Job } from '../job.ts';
import type { WalkKind } from '../walk.ts';
import type { Connection } from './connection.ts';
import { type Lock, lockJob } from './lock.ts';
import { forgetGlances, forgetWalkPages } from './pages.ts';
import { type WalkRow, walks } from './schema.ts';

const columns = Object.fromEntries(
  Object.entries(getTableColumns(walks)).map(([name, column]) => [name, column.name]),
) as Record<keyof WalkRow, string>;

/** The job's last walk for which this SQL over `walks` is true; not a glance. */
export function lastWalk(connection: Connection, job: string, condition = 'true'): WalkRow | undefined {
  return lastOf(connection, job, 'walk', condition);
}

function lastOf(
  connection: Connection,
  job: string,
  kind: WalkKind,
  condition = 'true',
): WalkRow | undefined {
  const names = Object.entries(columns).map(([name, column]) => `${column} AS ${name}`);
  return connection
    .prepare<[string, WalkKind], WalkRow>(
      `SELECT ${names} FROM walks WHERE job = ? AND kind = ? AND ${condition} ORDER BY id DESC LIMIT 1`,
    )
    .get(job, kind);
}

/**
 * The walk from which a new one begins: the one that ended last, or the one whose proof that renewed. A discarded one is found, too, without
 * a checkpoint: the next one begins from nothing.
 */
export function findWalkBefore(connection: Connection, job: string): WalkRow | undefined {
  const last = lastWalk(connection, job, 'finished_at IS NOT NULL');
  if (!last || last.renewalOf === null) return last;
  return lastWalk(connection, job, `id = ${last.renewalOf}`) ?? last;
}

/** Returns what writes these columns of a walk. */
export function prepareWalkUpdate<Name extends keyof WalkRow>(
  connection: Connection,
  names: readonly Name[],
) {
  const set = names.map((name) => `${columns[name]} = :${name}`);
  const update = connection.prepare<[object]>(`UPDATE walks SET ${set} WHERE id = :id`);
  return (values: Pick<WalkRow, Name | 'id'>) => void update.run(values);
}

function updateWalk(connection: Connection, id: number, { id: _, ...values }: Partial<WalkRow>): void {
  prepareWalkUpdate(connection, Object.keys(values) as (keyof WalkRow)[])({ ...values, id } as WalkRow);
}

/** A walk or glance whose lock this process holds. */
export type OpenWalk = {
  job: Job;
  row: WalkRow;
  /** The ids of this walk and of those since the last complete one that are not complete: rows that they changed may have a gap behind them. */
  sinceComplete: ReadonlySet<number>;
  /** Of a glance: whether there is an unfinished walk, which it leaves alone. */
  isBesideWalk: boolean;
  lock: Lock;
};

/**
 * Resumes the job's unfinished walk or glance, or begins one. A walk discards an unfinished glance: it reads the head itself.
 * @throws Failure `incomplete` where another process is walking this job.
 */
export function openWalk(
  connection: Connection,
  dir: string,
  job: Job,
  kind: WalkKind,
  now: number,
): OpenWalk {
  const lock = lockJob(dir, job, 'is mirroring it already; try again later');
  const open = connection.transaction((): OpenWalk => {
    const unfinished = {
      walk: unfinishedOf(connection, job, 'walk'),
      glance: unfinishedOf(connection, job, 'glance'),
    };
    if (kind === 'walk' && unfinished.glance)
      discardWalk(connection, unfinished.glance, 'a walk has taken its place', now);
    const row = resume(connection, unfinished[kind]) ?? begin(connection, job, kind, now);
    const sinceComplete = readSinceComplete(connection, job).add(row.id);
    const beside = row.kind === 'glance' ? unfinished.walk : undefined;
    // That walk reads what is behind its rows: for the glance they are known.
    if (beside) sinceComplete.delete(beside.id);
    return { job, row, sinceComplete, isBesideWalk: beside !== undefined, lock };
  }).immediate;
  try {
    return open();
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

/**
 * Ends a walk or glance whose place another run or command takes: its checkpoint and the list of its met rows go. With a walk, the
 * checkpoint of the one before goes, too: the next one begins from nothing.
 */
function discardWalk(connection: Connection, { id, job, kind }: WalkRow, why: string, now: number): void {
  const before = kind === 'walk' ? findWalkBefore(connection, job) : undefined;
  if (before) updateWalk(connection, before.id, withoutCheckpoint);
  const ending = { status: 'failed', error: why, errorKind: 'incomplete' } as const;
  updateWalk(connection, id, { ...ending, finishedAt: isoTime(now), ...notWaiting, ...withoutCheckpoint });
  // What a glance beside a walk has met is not absent for that.
  const isBesideWalk = kind === 'glance' && lastWalk(connection, job)?.finishedAt === null;
  if (!isBesideWalk) forgetWalkPages(connection, id);
  if (kind === 'walk') forgetGlances(connection, job, id);
}

/** Discards the unfinished walk and glance of a job. */
export function discardUnfinished(connection: Connection, job: Job, why: string, now: number): void {
  for (const kind of ['walk', 'glance'] as const) {
    const unfinished = unfinishedOf(connection, job, kind);
    if (unfinished) discardWalk(connection, unfinished, why, now);
  }
}

function resume(connection: Connection, unfinished: WalkRow | undefined): WalkRow | undefined {
  if (!unfinished) return undefined;
  const running = { status: 'running', error: null, errorKind: null, ...notWaiting } as const;
  updateWalk(connection, unfinished.id, running);
  return { ...unfinished, ...running };
}

function begin(connection: Connection, { name: job }: Job, kind: WalkKind, now: number): WalkRow {
  connection
    .prepare<[string, WalkKind, string]>(
      `INSERT INTO walks (job, kind, status, started_at) VALUES (?, ?, 'running', ?)`,
    )
    .run(job, kind, isoTime(now));
  return lastOf(connection, job, kind) as WalkRow;
}

function readSinceComplete(connection: Connection, { name: job }: Job): Set<number> {
  const complete = lastWalk(connection, job, `status = 'complete'`)?.id ?? 0;
  const ids = connection
    .prepare<[string, number], number>(
      `SELECT id FROM walks WHERE job = ? AND id > ? AND status <> 'complete'`,
    )
    .pluck();
  return new Set(ids.all(job, complete));
}

/** In place of a checkpoint that nothing needs any more: all of them would make up a third of the mirror. */
const withoutCheckpoint = { memory: '{}' };

/**
 * Writes how a walk or glance has ended that is not discarded. The row of a walk stays, with the checkpoint from which the next one begins; the
 * list of its met rows stays where it is the order of a proof. That of a glance stays until the unfinished walk beside it has ended, too.
 * @param before the walk from which this one began; after a renewal, the next one does, too.
 */
export function writeEnd(
  connection: Connection,
  { job, row, isBesideWalk }: OpenWalk,
  ending: Partial<WalkRow>,
  before: WalkRow | undefined,
): void {
  const isNextBefore = !ending.renewalOf && (ending.kind ?? row.kind) === 'walk';
  updateWalk(connection, row.id, { ...ending, ...notWaiting, ...(!isNextBefore && withoutCheckpoint) });
  if (before && isNextBefore) updateWalk(connection, before.id, withoutCheckpoint);
  if (isBesideWalk) return;
  const isOrder = ending.orderSeq != null;
  if (!isOrder) forgetWalkPages(connection, row.id);
  forgetGlances(connection, job.name, row.id);
}

/** Leaves a walk at its last commit, to be resumed. */
export function pauseWalk(connection: Connection, { row }: OpenWalk, thrown: Error, stopped: boolean): void {
  // An error after the walk has ended does not undo its end.
  if (lastOf(connection, row.job, row.kind, `id = ${row.id}`)?.finishedAt != null) return;
  const wait = thrown instanceof Snooze ? thrown : undefined;
  const isFailed = !wait && !stopped;
  updateWalk(connection, row.id, {
    status: isFailed ? 'failed' : 'waiting',
    error: thrown.message,
    errorKind: isFailed ? asFailure(thrown).kind : null,
    waitsUntil: wait ? isoTime(wait.until) : null,
    waitsFor: wait?.reason ?? null,
  });
}
