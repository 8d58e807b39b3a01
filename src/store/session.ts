/** A walk as the engine holds it: it saves pages, ends with a verdict or stays at its place, and lets go. */

import { isoTime } from '../clock.ts';
import type { Connection } from './connection.ts';
import { guarded, storeFailure } from './failure.ts';
import { noteAbsences, retireRows } from './retire.ts';
import { createPageWriter, type PageWriter } from './save-page.ts';
import { closeWalk, openWalk, pauseWalk, type Verdict, type WalkRow } from './walks.ts';

/** What the walk proves, and what kept it from proving more. */
export type Ending = { verdict: Verdict; error?: string };

export type WalkSession = PageWriter & {
  /** The walk's row as it stands; changes with every saved page. */
  row: Readonly<WalkRow>;
  /** Ends the walk: with a proof, rows absent from it and from the one before leave the table. */
  finish(ending: Ending): Promise<WalkRow>;
  /** Leaves the walk at its committed place; the next run goes on from there. */
  pause(status: 'snoozed' | 'failed', error: string): void;
  /** Gives the walk up: its place is worth nothing, and the next run begins anew. */
  giveUp(error: string): void;
  release(): void;
};

export function openSession(
  connection: Connection,
  dir: string,
  job: Parameters<typeof openWalk>[2],
  now: () => number,
): WalkSession {
  const walk = openWalk(connection, dir, job, now());
  const writer = createPageWriter(connection, walk, now);
  const file = connection.name;

  return {
    row: walk.row,
    examine: (rows) => guarded(file, () => writer.examine(rows)),
    hasRefused: writer.hasRefused,
    savePage: (page) => guarded(file, () => writer.savePage(page)),
    flush: () => guarded(file, () => writer.flush()),
    async finish({ verdict, error }) {
      try {
        writer.flush();
        const proof = verdict !== 'union' && job.reading === 'walk';
        if (proof) await noteAbsences(connection, walk, now());
        connection
          .transaction(() => {
            const retired = proof ? retireRows(connection, walk, now()) : { deleted: 0, held: 0 };
            const ending = {
              status: 'complete',
              verdict,
              finishedAt: isoTime(now()),
              error: error ?? null,
            } as const;
            Object.assign(walk.row, retired, ending);
            closeWalk(connection, walk, { ...retired, ...ending });
          })
          .immediate();
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
        closeWalk(connection, walk, { status: 'failed', error, finishedAt: isoTime(now()) });
      });
    },
    release: () => walk.lock.release(),
  };
}
