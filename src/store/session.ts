/** A walk as the mirror holds it: it saves pages, ends with a verdict or stays at its checkpoint, and lets go. */

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
  /** Set where one call renewed the proof of the walk before, and saved so many others. */
  callsSaved?: number;
};

/** The last full walk: the one that ended last, or whose proof that one renewed. */
export type Before = {
  row: WalkRow;
  checkpoint: Checkpoint;
  /** Since it began; null where the clock was ahead then. */
  ageMs: number | null;
  /** True where rows look gone and wait for another proof of it. */
  holdsRows: boolean;
};

export type WalkSession = ReturnType<typeof createSession>;

/**
 * @param check throws where the file that was opened is no longer the mirror: no walk ends in what is lost.
 * @param committed told of each commit of pages.
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
    // Whatever it came to prove, nobody could tell of when.
    session.giveUp('incomplete', 'it began under a clock that was ahead: the next walk begins anew');
  } catch (thrown) {
    walk.lock.release();
    throw thrown;
  }
  walk.lock.release();
  return openSession(connection, dir, job, kind, now, check, committed);
}

/** What the end of a walk changes in its row, but for how it ended. */
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
  const forgot = row.distinctKeys !== met.rows.size + met.refused.size;
  const before = readBefore(connection, job, now());
  const writer = createPageWriter(connection, walk, now, committed);
  const file = connection.name;
  const atomically = connection.transaction((work: () => void) => work()).immediate;
  const saveRetiring = prepareWalkUpdate(connection, ['memory', ...changing]);

  /**
   * Holds or removes the rows that the proof lacks, batch by batch, but for the last one. What was proven is kept with the first, so
   * that the next run can finish it.
   */
  async function retire(proven: Pick<Retiring, 'verdict' | 'error'>, signal: AbortSignal | undefined) {
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
      signal?.throwIfAborted();
      check();
      atomically(() => {
        // Of the fields that it met, a walk that is resumed knows nothing any longer.
        if (at === 0) writer.conclude();
        batch(now());
        saveRetiring({ ...row, memory });
      });
      await copyLog(connection);
    }
    return { order, last, isConcluded: batches.length > 0 };
  }

  return {
    /** The walk's row as it stands; changes with every commit. */
    row: row as Readonly<WalkRow>,
    /** Where it was taken up. A walk that no longer knows which rows it has met proves nothing, as this says. */
    checkpoint: withAnomalies(checkpointOf(row), forgot && 'forgotten'),
    before,
    /** What the walk had proven when it broke off while it removed rows: all that is left is to finish it. */
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
     * Ends the walk: with a proof, rows absent from it leave the table or are held, a thousand a transaction.
     * @throws the signal's reason when aborted between two of them; the next run finishes the walk.
     */
    async finish(
      { verdict: found, error = null, callsSaved }: Ending,
      signal?: AbortSignal,
    ): Promise<WalkRow> {
      // Beside an unfinished walk even a glance that read everything stays one: the walk is what rows are held or removed by.
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
          // A walk ends with its last change, whose time is ahead of a clock that stands still or goes back.
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
        throw signal?.aborted ? thrown : storeFailure(thrown, file);
      }
    },
    /**
     * Leaves the walk at its committed checkpoint, since this was thrown; the next run goes on from there.
     * @returns what it is left for: what was thrown, unless pages that waited could not be committed, which is worse. Where
     * the walk's own row cannot be written, the last commit stands, and the reason mostly has the same cause.
     */
    pause(thrown: Error, stopped: boolean): Error {
      const lost = failureOf(() => guarded(file, writer.flush));
      failureOf(() => guarded(file, () => pauseWalk(connection, walk, lost ?? thrown, stopped && !lost)));
      return lost ?? thrown;
    },
    /** Shows the volatile values that a walk which does not go on for now has received; those of others are shown as they end. */
    async showStaged(): Promise<void> {
      try {
        await mergeStaged(connection, job);
      } catch (thrown) {
        throw storeFailure(thrown, file);
      }
    },
    release: () => walk.lock.release(),
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

/** How many rows glances have brought since the complete walk before this one. */
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
