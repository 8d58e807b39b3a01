/** Where a walk stands and which rows it has met, committed with the pages that brought it there. */

import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Connection } from './connection.ts';
import { type Call, createLedger } from './ledger.ts';
import { prepare } from './prepare.ts';
import type { Counts } from './save-page.ts';
import { walkSeen, walks } from './schema.ts';
import { packRowids } from './seen.ts';
import type { OpenWalk, WalkPlace } from './walks.ts';

/**
 * Pages that changed no row wait for company before their places are committed: each commit costs whole pages
 * of the write-ahead log. A crash repeats at most this many calls, or as many as fit into this time.
 */
const PATIENCE = { pages: 10, ms: 250 };

export type PlaceKeeper = {
  meet(rowid: number): void;
  arrive(place: WalkPlace, call: Call, counts: Counts): void;
  commit(): void;
  /** The walk begins anew: rows met so far no longer count as met. */
  forget(): void;
  /** The transaction failed: nothing of this walk may be committed any more from memory. */
  abandon(): void;
};

export function createPlaceKeeper(connection: Connection, walk: OpenWalk, now: () => number): PlaceKeeper {
  const { row, seen } = walk;
  const ledger = createLedger(connection);
  const update = prepareUpdate(connection);
  const insertSeen = prepareSeen(connection);
  let calls: Call[] = [];
  let met: number[] = [];
  let lastCommit = now();
  let abandoned = false;

  function commit(): void {
    if (calls.length === 0 || abandoned) return;
    for (const call of calls) ledger.record(call);
    if (met.length > 0) insertSeen.run({ walkId: row.id, page: row.pages, rowids: packRowids(met) });
    update.run(row);
    calls = [];
    met = [];
    lastCommit = now();
  }

  return {
    meet(rowid) {
      if (!seen.add(rowid)) return;
      met.push(rowid);
      row.distinctKeys += 1;
    },
    arrive(place, call, counts) {
      Object.assign(row, place);
      row.inserted += counts.inserted;
      row.updated += counts.updated;
      row.quarantined += counts.quarantined;
      row.drifted += counts.drifted;
      row.apiCalls += 1;
      calls.push(call);
      const changed = counts.inserted + counts.updated + counts.quarantined + counts.drifted > 0;
      if (changed || calls.length >= PATIENCE.pages || now() - lastCommit >= PATIENCE.ms) commit();
    },
    commit,
    forget() {
      seen.clear();
      met = [];
      row.distinctKeys = 0;
      drizzle(connection).delete(walkSeen).where(eq(walkSeen.walkId, row.id)).run();
    },
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

function prepareSeen(connection: Connection) {
  const at = (name: string) => sql`${sql.placeholder(name)}`;
  return prepare(
    connection,
    drizzle(connection)
      .insert(walkSeen)
      .values({ walkId: at('walkId'), page: at('page'), rowids: at('rowids') }),
  );
}
