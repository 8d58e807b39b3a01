/** The rows of `walks`: found, begun or resumed, paused and closed. */

import { getTableColumns } from 'drizzle-orm';
import { isoTime } from '../clock.ts';
import { asFailure, Snooze } from '../errors.ts';
import type { Job } from '../job.ts';
import type { WalkKind } from '../walk.ts';
import type { Connection } from './connection.ts';
import { type Lock, lockJob } from './lock.ts';
import { forgetMet, type MetRows, readMet } from './rowids.ts';
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

/** The walk that ended last, or the full walk whose proof that renewed. */
export function lastFullWalk(connection: Connection, job: string): WalkRow | undefined {
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

function updateWalk(connection: Connection, id: number, values: Partial<WalkRow>): void {
  prepareWalkUpdate(connection, Object.keys(values) as (keyof WalkRow)[])({ ...values, id } as WalkRow);
}

/** A walk or glance whose lock this process holds. */
export type OpenWalk = {
  job: Job;
  row: WalkRow;
  met: MetRows;
  /** This walk, and those that broke off since the last complete one: their rows may have a gap behind them. */
  unsettled: ReadonlySet<number>;
  /** Of a glance: whether there is an unfinished walk, which it leaves alone. */
  isBesideWalk: boolean;
  /** Of a walk: what glances have met since it began. */
  glanced: MetRows;
  lock: Lock;
};

/**
 * Resumes the job's unfinished walk or glance, or begins one. A walk gives up an unfinished glance, whose pages it reads itself.
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
  try {
    const unfinished = {
      walk: unfinishedOf(connection, job, 'walk'),
      glance: unfinishedOf(connection, job, 'glance'),
    };
    if (kind === 'walk' && unfinished.glance) giveUpGlance(connection, unfinished.glance, now);
    // A removal that broke off comes first.
    const next = isRetiring(unfinished.walk) ? unfinished.walk : unfinished[kind];
    const row = resume(connection, next) ?? begin(connection, job, kind, now);
    return {
      job,
      row,
      met: readMet(connection, String(row.id)),
      unsettled: unsettledWalks(connection, job).add(row.id),
      isBesideWalk: row.kind === 'glance' && unfinished.walk !== undefined,
      glanced: readMet(connection, glancesBesideSql(row)),
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

const isRetiring = (walk: WalkRow | undefined) => walk !== undefined && 'retiring' in JSON.parse(walk.memory);

function giveUpGlance(connection: Connection, { id }: WalkRow, now: number): void {
  const ending = { status: 'failed', error: 'a walk has taken its place', errorKind: 'incomplete' } as const;
  updateWalk(connection, id, { ...ending, finishedAt: isoTime(now), ...notWaiting, ...withoutCheckpoint });
  forgetMet(connection, String(id));
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

function unsettledWalks(connection: Connection, { name: job }: Job): Set<number> {
  const complete = lastWalk(connection, job, `status = 'complete'`)?.id ?? 0;
  const broken = connection
    .prepare<[string, number], number>(
      `SELECT id FROM walks WHERE job = ? AND id > ? AND status <> 'complete'`,
    )
    .pluck();
  return new Set(broken.all(job, complete));
}

/** SQL for the ids of the glances beside this walk: while it is unfinished, no other walk begins. */
const glancesBesideSql = ({ job, id }: WalkRow) => `SELECT id FROM walks WHERE job = '${job}' AND id > ${id}`;

/** In place of a checkpoint that nothing needs any more: all of them would make up a third of the mirror. */
const withoutCheckpoint = { memory: '{}' };

/**
 * Ends a walk for good. Its row stays, with the checkpoint that the next walk is compared with. What a glance has met stays until
 * the unfinished walk beside it has ended, too.
 * @param before the full walk that this one was compared with; after a renewal the next one is, too.
 */
export function closeWalk(
  connection: Connection,
  { job, row, isBesideWalk }: OpenWalk,
  ending: Partial<WalkRow>,
  before: WalkRow | undefined,
): void {
  const isCompared = ending.renewalOf === undefined && (ending.kind ?? row.kind) === 'walk';
  updateWalk(connection, row.id, { ...ending, ...(!isCompared && withoutCheckpoint) });
  if (before && isCompared) updateWalk(connection, before.id, withoutCheckpoint);
  if (!isBesideWalk) {
    forgetMet(connection, String(row.id));
    forgetMet(connection, glancesBesideSql(row));
  }
  // Summed up here: walks that are removed later still count.
  if (ending.callsSaved)
    connection
      .prepare<[string, number]>(
        `INSERT INTO datasets (job, calls_saved) VALUES (?, ?)
         ON CONFLICT DO UPDATE SET calls_saved = calls_saved + excluded.calls_saved`,
      )
      .run(job.name, ending.callsSaved);
}

/** Leaves a walk at its last commit, to be resumed. */
export function pauseWalk(connection: Connection, { row }: OpenWalk, thrown: Error, stopped: boolean): void {
  // An error after the walk has ended does not undo its end.
  if (lastOf(connection, row.job, row.kind, `id = ${row.id}`)?.status === 'complete') return;
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
