/** Where a walk stands and which rows it has met, committed with the pages that brought it there. */

import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Call } from '../../page.ts';
import type { Connection } from '../db/connection.ts';
import { prepare } from '../db/prepare.ts';
import { createLedger } from '../records/requests.ts';
import { walkSeen, walks } from '../schema.ts';
import { packMet } from './seen.ts';
import type { OpenWalk, WalkPlace } from './walks.ts';

/**
 * Pages that changed no row wait for company before their places are committed: each commit costs whole pages
 * of the write-ahead log. A crash repeats at most this many calls, or as many as fit into this time.
 */
const PATIENCE = { pages: 20, ms: 1_000 };

export type Counts = { inserted: number; updated: number; quarantined: number; drifted: number };

export type PlaceKeeper = {
  meetRow(rowid: number): void;
  /** `number` is the row's in quarantine. */
  meetRefused(number: number): void;
  /** The walk begins anew: rows met so far no longer count as met. */
  forget(): void;
  arrive(place: WalkPlace, call: Call, counts: Counts): void;
  commit(): void;
  /** The transaction failed: nothing of this walk may be committed any more from memory. */
  abandon(): void;
};

export function createPlaceKeeper(connection: Connection, walk: OpenWalk, now: () => number): PlaceKeeper {
  const { row, met } = walk;
  const ledger = createLedger(connection);
  const update = prepareUpdate(connection);
  const updateSeq = prepareSeqUpdate(connection);
  const insertSeen = prepareSeen(connection);
  const deleteSeen = prepareForgetting(connection);
  let calls: Call[] = [];
  let unsaved: { rows: number[]; refused: number[] } = { rows: [], refused: [] };
  let hasForgotten = false;
  let savedSeq = row.lastSeq;
  let lastCommit = now();
  let abandoned = false;

  function commit(): void {
    if (calls.length === 0 || abandoned) return;
    for (const call of calls) ledger.record(call);
    const rowids = packMet(unsaved.rows, unsaved.refused);
    if (hasForgotten) deleteSeen.run({ walkId: row.id });
    if (rowids.length > 0) insertSeen.run({ walkId: row.id, rowids });
    update.run(row);
    if (row.lastSeq !== savedSeq) updateSeq.run(row);
    savedSeq = row.lastSeq;
    calls = [];
    unsaved = { rows: [], refused: [] };
    hasForgotten = false;
    lastCommit = now();
  }

  function meet(kind: keyof typeof unsaved, number: number): void {
    if (!met[kind].add(number)) return;
    unsaved[kind].push(number);
    row.distinctKeys += 1;
  }

  return {
    meetRow: (rowid) => meet('rows', rowid),
    meetRefused: (number) => meet('refused', number),
    forget() {
      met.rows.clear();
      met.refused.clear();
      unsaved = { rows: [], refused: [] };
      hasForgotten = true;
      row.distinctKeys = 0;
    },
    arrive(place, call, counts) {
      Object.assign(row, place);
      row.inserted += counts.inserted;
      row.updated += counts.updated;
      row.quarantined += counts.quarantined;
      row.drifted += counts.drifted;
      row.apiCalls += 1;
      calls.push(call);
      const changed = counts.inserted + counts.updated + counts.quarantined > 0;
      if (changed || calls.length >= PATIENCE.pages || now() - lastCommit >= PATIENCE.ms) commit();
    },
    commit,
    abandon() {
      abandoned = true;
    },
  };
}

function prepareUpdate(connection: Connection) {
  const at = (name: string) => sql`${sql.placeholder(name)}`;
  return prepare(
    connection,
    drizzle(connection)
      .update(walks)
      .set({
        nextOffset: at('nextOffset'),
        pages: at('pages'),
        rows: at('rows'),
        inserted: at('inserted'),
        updated: at('updated'),
        quarantined: at('quarantined'),
        drifted: at('drifted'),
        apiCalls: at('apiCalls'),
        total: at('total'),
        totalFirst: at('totalFirst'),
        unkeyed: at('unkeyed'),
        generatedAt: at('generatedAt'),
        distinctKeys: at('distinctKeys'),
        restarts: at('restarts'),
        stepsBack: at('stepsBack'),
        anomalies: at('anomalies'),
        memory: at('memory'),
      })
      .where(eq(walks.id, sql.placeholder('id'))),
  );
}

/** Apart, so that a walk that changes nothing does not write the index over it. */
function prepareSeqUpdate(connection: Connection) {
  const at = (name: string) => sql`${sql.placeholder(name)}`;
  return prepare(
    connection,
    drizzle(connection)
      .update(walks)
      .set({ firstSeq: at('firstSeq'), lastSeq: at('lastSeq') })
      .where(eq(walks.id, sql.placeholder('id'))),
  );
}

function prepareSeen(connection: Connection) {
  const at = (name: string) => sql`${sql.placeholder(name)}`;
  return prepare(
    connection,
    drizzle(connection)
      .insert(walkSeen)
      .values({ walkId: at('walkId'), rowids: at('rowids') }),
  );
}

function prepareForgetting(connection: Connection) {
  const ofWalk = eq(walkSeen.walkId, sql.placeholder('walkId'));
  return prepare(connection, drizzle(connection).delete(walkSeen).where(ofWalk));
}
