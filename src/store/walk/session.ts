/** A walk as the engine holds it: it saves pages, ends with a verdict or stays at its place, and lets go. */

import { ageOf, isoTime } from '../../clock.ts';
import type { Job } from '../../job.ts';
import type { Connection } from '../db/connection.ts';
import { guarded, storeFailure } from '../db/failure.ts';
import { resolveGone } from '../records/quarantine.ts';
import type { WalkRow } from '../schema.ts';
import { findAbsent, forgetMet, hasAbsences, retireRows } from './retire.ts';
import { createPageWriter, type PageWriter } from './save-page.ts';
import { closeWalk, type OpenWalk, openWalk, pauseWalk, readPrevious, type Verdict } from './walks.ts';

/** What the walk proves, and what kept it from proving more. */
export type Ending = {
  verdict: Verdict;
  error?: string;
  /** Set where one call renewed the proof of that walk, and saved so many others. */
  probe?: { of: number; callsSaved: number };
};

/** What the walks before have left. */
export type Before = {
  /** The walk that ended last, and the full walk on whose proof it rests. */
  last: WalkRow;
  full: WalkRow;
  /** Since the full walk began; null where the clock was ahead then. */
  fullAgeMs: number | null;
  /** True where rows look gone and wait for another proof of it. */
  hasAbsences: boolean;
};

export type WalkSession = PageWriter & {
  /** The walk's row as it stands; changes with every saved page. */
  row: Readonly<WalkRow>;
  /** False where a resumed walk no longer knows which rows it has met: it proves nothing. */
  remembers: boolean;
  before: Before | undefined;
  /** Ends the walk: with a proof, rows absent from it and from the one before leave the table. */
  finish(ending: Ending): Promise<WalkRow>;
  /** Leaves the walk at its committed place; the next run goes on from there. */
  pause(status: 'snoozed' | 'failed', error: string): void;
  /** Gives the walk up: its place is worth nothing, and the next run begins anew. */
  giveUp(error: string): void;
  release(): void;
};

/** @param check throws where the file that was opened is no longer the mirror: no walk ends in what is lost. */
export function openSession(
  connection: Connection,
  dir: string,
  job: Job,
  now: () => number,
  check: () => void,
): WalkSession {
  const walk = openWalk(connection, dir, job, now());
  try {
    const session = createSession(connection, walk, now, check);
    if (ageOf(Date.parse(walk.row.startedAt), now()) !== null) return session;
    // Whatever it came to prove, nobody could tell of when.
    session.giveUp('it began under a clock that was ahead: the next walk begins anew');
  } catch (thrown) {
    walk.lock.release();
    throw thrown;
  }
  walk.lock.release();
  return openSession(connection, dir, job, now, check);
}

function createSession(
  connection: Connection,
  walk: OpenWalk,
  now: () => number,
  check: () => void,
): WalkSession {
  const { job } = walk;
  const writer = createPageWriter(connection, walk, now);
  const file = connection.name;
  const atomically = connection.transaction((work: () => void) => work()).immediate;

  return {
    row: walk.row,
    remembers: walk.row.distinctKeys === walk.met.rows.size + walk.met.refused.size,
    before: readBefore(connection, job, now()),
    lookUp: (page) => guarded(file, () => writer.lookUp(page)),
    savePage: (page) => guarded(file, () => writer.savePage(page)),
    flush: () => guarded(file, () => writer.flush()),
    conclude: () => guarded(file, () => writer.conclude()),
    async finish({ verdict, error = null, probe }) {
      try {
        writer.flush();
        const isProof = verdict !== 'union' && !probe;
        const retires = isProof && job.reading === 'walk';
        const absent = retires ? await findAbsent(connection, walk) : [];
        check();
        atomically(() => {
          if (isProof) resolveGone(connection, job.name, walk.row.id, isoTime(now()));
          if (retires) Object.assign(walk.row, retireRows(connection, walk, absent, now()));
          else forgetMet(connection, walk);
          if (!probe) writer.conclude();
          const { deleted, held, drifted, firstSeq, lastSeq } = walk.row;
          // A walk ends with its last change, whose time is ahead of a clock that stands still or goes back.
          const finishedAt = isoTime(Math.max(now(), lastSeq ?? 0));
          const ending = { status: 'complete', verdict, finishedAt, error, ...probed(probe) } as const;
          Object.assign(walk.row, ending);
          closeWalk(connection, walk, { ...ending, deleted, held, drifted, firstSeq, lastSeq });
        });
        return walk.row;
      } catch (thrown) {
        throw storeFailure(thrown, file);
      }
    },
    pause(status, error) {
      guarded(file, () => {
        writer.flush();
        pauseWalk(connection, walk, status, error);
      });
    },
    giveUp(error) {
      guarded(file, () => {
        writer.flush();
        check();
        atomically(() => {
          forgetMet(connection, walk);
          closeWalk(connection, walk, { status: 'failed', error, finishedAt: isoTime(now()) });
        });
      });
    },
    release: () => walk.lock.release(),
  };
}

function readBefore(connection: Connection, job: Job, now: number): Before | undefined {
  const previous = readPrevious(connection, job.name);
  if (!previous) return undefined;
  const fullAgeMs = ageOf(Date.parse(previous.full.startedAt), now);
  return { ...previous, fullAgeMs, hasAbsences: hasAbsences(connection, job.name) };
}

const probed = (probe: Ending['probe']) => probe && { probeOf: probe.of, callsSaved: probe.callsSaved };
