/** A walk's checkpoint and the rows that it has met, committed with the pages that brought it there. */

import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Call } from '../../api/call.ts';
import { beginning, type Checkpoint, restored } from '../../walk/checkpoint.ts';
import { callRecorder } from '../calls.ts';
import type { Connection } from '../connection.ts';
import { placeholders, prepare } from '../prepare.ts';
import { type WalkRow, walkSeen, walks } from '../schema.ts';
import type { OpenWalk } from './open-walk.ts';
import { type Part, packMet } from './seen.ts';
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
  meetRow(rowid: number, part: Part): void;
  /** `number` is the row's in quarantine. */
  meetRefused(number: number): void;
  /** The walk is reset: rows met so far no longer count as met. */
  forget(): void;
  /** Writes where the walk stands now, and the calls that brought it there; call it in the transaction of their pages. */
  arrive(checkpoint: Checkpoint, calls: readonly Call[], saved: Counts): void;
};

/** Numbers of rows of the table, by where they were met, and of refused ones. */
const noneMet = (): Record<Part | 'refused', number[]> => ({ rows: [], head: [], refused: [] });

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
  const insertSeen = prepare(
    connection,
    db.insert(walkSeen).values({ walkId: row.id, ...placeholders(walkSeen, ['rowids', 'part']) }),
  );
  const deleteSeen = prepare(connection, db.delete(walkSeen).where(eq(walkSeen.walkId, row.id)));
  let unsaved = noneMet();
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
      unsaved = noneMet();
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
      const { rows, refused, head } = unsaved;
      if (hasForgotten) deleteSeen.run({});
      if (rows.length + refused.length > 0) insertSeen.run({ rowids: packMet(rows, refused), part: 'rows' });
      if (head.length > 0) insertSeen.run({ rowids: packMet(head, []), part: 'head' });
      update.run(row);
      if (row.lastSeq !== savedSeq) updateSeq.run(row);
      savedSeq = row.lastSeq;
      unsaved = noneMet();
      hasForgotten = false;
    },
  };
}
