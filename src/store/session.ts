/** A walk from its opening to its end: it saves pages, then ends with a verdict or stays at its checkpoint. */

import { ageOf, isoTime } from '../clock.ts';
import { type FailureKind, toError } from '../errors.ts';
import type { Job } from '../job.ts';
import { type Checkpoint, withAnomalies } from '../walk/checkpoint.ts';
import type { Verdict, WalkKind } from '../walk.ts';
import { copyLog } from './commits.ts';
import { type Connection, valueIn } from './connection.ts';
import { guarded, guardedAll, storeFailure } from './failure.ts';
import { type Committed, checkpointOf, createPageWriter } from './group-commit.ts';
import { draftOrder, keepOrder } from './orders.ts';
import { resolveGone } from './quarantine.ts';
import { decideRetirement, openHeld, planRetirement, type Retiring, retireBatches } from './retire.ts';
import type { WalkRow } from './schema.ts';
import { isProof } from './sql.ts';
import { mergeStaged } from './staged-values.ts';
import {
  closeWalk,
  lastFullWalk,
  lastWalk,
  type OpenWalk,
  openWalk,
  pauseWalk,
  prepareWalkUpdate,
} from './walks.ts';

/** What the walk proves, and what kept it from proving more. */
export type Ending = {
  /** Null for a glance, which proves nothing. */
  verdict: Verdict | null;
  error?: string | null | undefined;
  /** Set where one call renewed the last proof, and saved so many calls. */
  callsSaved?: number;
};

/** The last full walk: the one that ended last, or the one whose proof that renewed. */
type Before = {
  row: WalkRow;
  checkpoint: Checkpoint;
  /** Since it began; null where the clock was ahead then. */
  ageMs: number | null;
  /** Whether rows look gone, and wait for the next proof. */
  holdsRows: boolean;
};

export type WalkSession = ReturnType<typeof createSession>;

/**
 * @param check throws where the opened file is no longer the mirror: no walk ends in a lost file.
 * @param committed called after each commit of pages.
 */
export function openSession(
  connection: Connection,
  dir: string,
  job: Job,
  kind: WalkKind,
  now: () => number,
  check: () => void,
  committed: Committed,
): WalkSession {
  const walk = openWalk(connection, dir, job, kind, now());
  try {
    const session = createSession(connection, walk, now, check, committed);
    if (ageOf(Date.parse(walk.row.startedAt), now()) !== null) return session;
    // Nobody could tell as of when it proves anything.
    session.giveUp('incomplete', 'it began under a clock that was ahead: the next walk begins anew');
  } catch (thrown) {
    walk.lock.release();
    throw thrown;
  }
  walk.lock.release();
  return openSession(connection, dir, job, kind, now, check, committed);
}

/** The columns that removing rows changes in the walk's row. */
const changing = ['deleted', 'held', 'drifted', 'firstSeq', 'lastSeq'] as const;

function createSession(
  connection: Connection,
  walk: OpenWalk,
  now: () => number,
  check: () => void,
  committed: Committed,
) {
  const { job, met } = walk;
  const row: WalkRow = walk.row;
  const { retiring, ...checkpoint } = JSON.parse(row.memory) as { retiring?: Retiring };
  row.memory = JSON.stringify(checkpoint);
  const countCalls = callCounter(connection, row);
  const forgot = row.distinctKeys !== met.rows.size + met.refused.size;
  const before = readBefore(connection, job, now());
  const writer = createPageWriter(connection, walk, now, committed);
  const file = connection.name;
  const atomically = connection.transaction((work: () => void) => work()).immediate;
  const saveRetiring = prepareWalkUpdate(connection, ['memory', ...changing]);

  /**
   * Holds or removes the rows that the proof lacks: all batches but the last, which is returned. The first commit keeps what was
   * proven, so that the next run can finish the removal.
   */
  async function retire(proven: Pick<Retiring, 'verdict' | 'error'>, signal: AbortSignal) {
    const decision = retiring ?? decideRetirement(connection, walk, proven.verdict, now());
    const plan = await planRetirement(connection, walk, decision);
    const order = await draftOrder(connection, row.id, plan.staying);
    const batches = retireBatches(connection, walk, plan);
    const last = batches.pop();
    const memory = JSON.stringify({
      ...checkpoint,
      ...JSON.parse(row.memory),
      retiring: { ...decision, ...proven },
    });
    for (const [at, batch] of batches.entries()) {
      signal.throwIfAborted();
      check();
      atomically(() => {
        // A resumed walk no longer knows which fields it met.
        if (at === 0) writer.conclude();
        batch(now());
        saveRetiring({ ...row, memory });
      });
      await copyLog(connection);
    }
    return { order, last, isConcluded: batches.length > 0 };
  }

  return {
    /** The walk's row; changes with every commit. */
    row: row as Readonly<WalkRow>,
    /** Where it resumes. A walk that lost the set of rows met proves nothing: `forgotten` is among its anomalies. */
    checkpoint: withAnomalies(checkpointOf(row), forgot && 'forgotten'),
    before,
    /** What the walk had proven when it broke off while it removed rows; it only has to be finished. */
    retiring: retiring as Ending | undefined,
    ...guardedAll(file, {
      lookUp: writer.lookUp,
      findStoredRun: writer.findStoredRun,
      savePage: writer.savePage,
      commit: () => writer.commit(),
      /** Gives the walk up: its checkpoint is worth nothing, and the next run begins a new one. */
      giveUp(errorKind: FailureKind, error: string): void {
        writer.flush();
        check();
        atomically(() => {
          const ending = { status: 'failed', error, errorKind, finishedAt: isoTime(now()) } as const;
          closeWalk(connection, walk, ending, before?.row);
        });
      },
    }),
    /**
     * Ends the walk. With a proof, rows that it lacks are removed or held, a thousand a transaction.
     * @throws the signal's reason when aborted between two transactions; the next run finishes the walk.
     */
    async finish(
      { verdict: found, error = null, callsSaved }: Ending,
      signal: AbortSignal,
    ): Promise<WalkRow> {
      // Beside an unfinished walk, a glance that read everything proves nothing: only that walk may hold or remove rows.
      const verdict = walk.isBesideWalk ? null : found;
      const kind = verdict === null ? 'glance' : 'walk';
      const renewed = callsSaved !== undefined && before && { renewalOf: before.row.id, callsSaved };
      try {
        writer.flush();
        const proof = isProof(verdict) && !renewed ? verdict : null;
        await mergeStaged(connection, job);
        const retired =
          proof && job.reading === 'walk' ? await retire({ verdict: proof, error }, signal) : undefined;
        check();
        atomically(() => {
          if (proof) resolveGone(connection, job.name, row.id, isoTime(now()));
          if (kind === 'walk' && !renewed && !retired?.isConcluded) writer.conclude();
          if (proof && retired) {
            retired.last?.(now());
            row.held = openHeld(connection, job).count();
            keepOrder(connection, job, row, proof, retired.order, now());
          }
          const glanced = kind === 'walk' ? rowsGlanced(connection, row) : 0;
          // Its last change may be ahead of a clock that stands still or goes back.
          const finishedAt = isoTime(Math.max(now(), row.lastSeq ?? 0));
          const ending = {
            kind,
            status: 'complete',
            verdict,
            finishedAt,
            glanced,
            error,
            ...renewed,
          } as const;
          Object.assign(row, ending);
          const changes = Object.fromEntries(changing.map((name) => [name, row[name]]));
          closeWalk(connection, walk, { ...ending, ...changes, memory: row.memory }, before?.row);
        });
        return row;
      } catch (thrown) {
        throw signal.aborted ? thrown : storeFailure(thrown, file);
      }
    },
    /**
     * Leaves the walk at its last commit, because of `thrown`; the next run resumes there.
     * @returns `thrown`, or the error by which waiting pages were lost. Where even the walk's row cannot be written, nothing else is
     * reported: the cause is mostly the same.
     */
    pause(thrown: Error, stopped: boolean): Error {
      const lost = failureOf(() => guarded(file, writer.flush));
      failureOf(() => guarded(file, () => pauseWalk(connection, walk, lost ?? thrown, stopped && !lost)));
      return lost ?? thrown;
    },
    /** Shows the volatile values of a paused walk; one that ends shows its own. */
    async showStaged(): Promise<void> {
      try {
        await mergeStaged(connection, job);
      } catch (thrown) {
        throw storeFailure(thrown, file);
      }
    },
    release(): void {
      // Once no call is in flight. Where this cannot be written, the work has met the same error.
      failureOf(() => guarded(file, countCalls));
      walk.lock.release();
    },
  };
}

/** Returns what counts all calls of this session as calls of the walk: pages bring theirs along, those without one come here. */
function callCounter(connection: Connection, row: WalkRow): () => void {
  const before = { calls: row.apiCalls, id: valueIn(connection, 'SELECT max(id) FROM requests') ?? 0 };
  return () => {
    const made = 'SELECT count(*) FROM requests WHERE id > ? AND walk_id = ?';
    const apiCalls = before.calls + (valueIn<number>(connection, made, before.id, row.id) ?? 0);
    if (apiCalls <= row.apiCalls) return;
    row.apiCalls = apiCalls;
    prepareWalkUpdate(connection, ['apiCalls'])(row);
  };
}

function failureOf(work: () => void): Error | undefined {
  try {
    work();
    return undefined;
  } catch (thrown) {
    return toError(thrown);
  }
}

/** How many rows glances have brought since the last complete walk. */
function rowsGlanced(connection: Connection, { job, id }: WalkRow): number {
  const before = lastWalk(connection, job, `status = 'complete' AND id < ${id}`)?.id ?? 0;
  const sum = `SELECT sum(inserted) FROM walks WHERE job = ? AND kind = 'glance' AND id > ? AND id < ?`;
  return valueIn(connection, sum, job, before, id) ?? 0;
}

function readBefore(connection: Connection, job: Job, now: number): Before | undefined {
  const row = lastFullWalk(connection, job.name);
  return (
    row && {
      row,
      checkpoint: checkpointOf(row),
      ageMs: ageOf(Date.parse(row.startedAt), now),
      holdsRows: openHeld(connection, job).count() > 0,
    }
  );
}
