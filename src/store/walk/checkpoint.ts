/** A walk's checkpoint and the rows that it has met, committed with the pages that brought it there. */

import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Call } from '../../api/call.ts';
import { beginning, type Checkpoint, restored } from '../../walk/checkpoint.ts';
import { callRecorder } from '../calls.ts';
import type { Connection } from '../connection.ts';
import { forgetMet, type MetPart, nothingMet, prepareMet } from '../met-rows.ts';
import { placeholders, prepare } from '../prepare.ts';
import { type WalkRow, walks } from '../schema.ts';
import type { OpenWalk } from './open-walk.ts';
import type { VolatileValues } from './volatile.ts';

/** A checkpoint in a row of `walks`: `memory` holds the whole of it, the other columns show it to people. */
function columnsOf(checkpoint: Checkpoint) {
  const { offset, pages, rows, unkeyed, total, totalFirst, restarts, generatedAt = null } = checkpoint;
  const { newInHead, newAtTail, newElsewhere } = checkpoint;
  return {
    nextOffset: offset,
    pages,
    rows,
    unkeyed,
    total,
    totalFirst,
    restarts,
    stepsBack: checkpoint.mode === 'anchored' ? checkpoint.stepsBack : 0,
    generatedAt,
    newInHead,
    newAtTail,
    newElsewhere,
    anomalies: JSON.stringify(checkpoint.anomalies),
    memory: JSON.stringify(checkpoint),
  };
}

export function checkpointOf({ memory }: WalkRow): Checkpoint {
  return restored(JSON.parse(memory));
}

/** What the pages of a commit did. */
export type Counts = { inserted: number; updated: number; quarantined: number; drifted: number };

export type CheckpointKeeper = {
  /** Rows are met in the order of the API. Those at the head are noted again where they were met before. */
  meetRow(rowid: number, part: MetPart): void;
  /** `number` is the row's in quarantine. */
  meetRefused(number: number): void;
  /** The walk is reset: rows met so far no longer count as met. */
  forget(): void;
  /** Writes where the walk stands now, and the calls that brought it there; call it in the transaction of their pages. */
  arrive(checkpoint: Checkpoint, calls: readonly Call[], saved: Counts): void;
};

const counted = ['inserted', 'updated', 'quarantined', 'drifted', 'apiCalls', 'distinctKeys'] as const;

export function createCheckpointKeeper(
  connection: Connection,
  { row, met }: OpenWalk,
  volatile: Pick<VolatileValues, 'commit'> | undefined,
): CheckpointKeeper {
  const db = drizzle(connection);
  const record = callRecorder(connection);
  const updateOf = (names: readonly (keyof WalkRow)[]) =>
    prepare(connection, db.update(walks).set(placeholders(walks, names)).where(eq(walks.id, row.id)));
  const update = updateOf([...counted, ...(Object.keys(columnsOf(beginning)) as (keyof WalkRow)[])]);
  // Apart, so that a walk that changes nothing does not write the index over it.
  const updateSeq = updateOf(['firstSeq', 'lastSeq']);
  const saveMet = prepareMet(connection, row.id);
  let unsaved = nothingMet();
  let hasForgotten = false;
  let savedSeq = row.lastSeq;

  return {
    meetRow(rowid, part) {
      const isNew = met.rows.add(rowid);
      if (isNew) row.distinctKeys += 1;
      if (isNew || part === 'head') unsaved[part].push(rowid);
    },
    meetRefused(number) {
      if (!met.refused.add(number)) return;
      unsaved.refused.push(number);
      row.distinctKeys += 1;
    },
    forget() {
      met.rows.clear();
      met.refused.clear();
      unsaved = nothingMet();
      hasForgotten = true;
      row.distinctKeys = 0;
    },
    arrive(checkpoint, calls, saved) {
      // A walk that begins anew has been told both before.
      const { total, totalFirst } = row;
      Object.assign(row, columnsOf(checkpoint));
      row.total ??= total;
      row.totalFirst ??= totalFirst;
      row.inserted += saved.inserted;
      row.updated += saved.updated;
      row.quarantined += saved.quarantined;
      row.drifted += saved.drifted;
      row.apiCalls += calls.length;
      for (const call of calls) record(call);
      volatile?.commit();
      if (hasForgotten) forgetMet(connection, String(row.id));
      saveMet(unsaved);
      update.run(row);
      if (row.lastSeq !== savedSeq) updateSeq.run(row);
      savedSeq = row.lastSeq;
      unsaved = nothingMet();
      hasForgotten = false;
    },
  };
}
