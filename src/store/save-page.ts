/** One transaction a page: rows, refused rows, drift, the call and the walk's place, all or nothing. */

import { isoTime } from '../clock.ts';
import type { Connection } from './connection.ts';
import { createDriftLog, type Drift } from './drift.ts';
import type { Call } from './ledger.ts';
import { createPlaceKeeper } from './place.ts';
import { openQuarantine, type RefusedRow } from './quarantine.ts';
import { createTableWriter, type ExaminedRow, type RowValues } from './table-writer.ts';
import type { OpenWalk, WalkPlace } from './walks.ts';

export type KeyedRow = { key: string; values: RowValues };

/** A row beside what the mirror holds of it; `seen` where this walk has met it before. */
export type MetRow = ExaminedRow & { seen: boolean };

export type PageToSave = {
  rows: MetRow[];
  refused: RefusedRow[];
  drifts: Drift[];
  call: Call;
  place: WalkPlace;
  /** True where the walk begins anew behind this page: what it has met no longer counts. */
  anew: boolean;
};

export type Counts = { inserted: number; updated: number; quarantined: number; drifted: number };

export type PageWriter = {
  examine(rows: KeyedRow[]): MetRow[];
  /** True where this walk has refused a row of that key before. */
  hasRefused(key: string): boolean;
  savePage(page: PageToSave): Counts;
  /** Commits the places of pages that changed nothing, which wait a little for company. */
  flush(): void;
};

export function createPageWriter(connection: Connection, walk: OpenWalk, now: () => number): PageWriter {
  const { job, row, seen } = walk;
  const table = createTableWriter(connection, job);
  const quarantine = openQuarantine(connection, job.name);
  const driftLog = createDriftLog(connection);
  const places = createPlaceKeeper(connection, walk, now);
  const atomically = connection.transaction((work: () => void) => work()).immediate;

  function writeRows(rows: MetRow[], at: string, counts: Counts): void {
    for (const met of rows) {
      places.meet(table.write(met, row.id, at));
      if (met.change === 'new') counts.inserted += 1;
      if (met.change === 'changed') counts.updated += 1;
      quarantine.resolve(met.key, at);
    }
  }

  function writeProblems({ refused, drifts, call }: PageToSave, now: string, counts: Counts): void {
    const origin = { job: job.name, walkId: row.id, requestId: call.requestId, now };
    for (const refusedRow of refused) {
      quarantine.keep(refusedRow, origin);
      counts.quarantined += 1;
      // A refused row is still there upstream: what the mirror holds under its key must not look gone.
      const rowid = refusedRow.key === null ? undefined : table.rowidOf(refusedRow.key);
      if (rowid !== undefined) places.meet(rowid);
    }
    for (const found of drifts) {
      driftLog.note(found, origin);
      counts.drifted += found.times;
    }
  }

  return {
    examine: (rows) =>
      rows.map(({ key, values }) => {
        const examined = table.examine(key, values);
        return { ...examined, seen: examined.rowid !== undefined && seen.has(examined.rowid) };
      }),
    hasRefused: (key) => quarantine.refusedBy(row.id, key),
    savePage(page) {
      const counts = { inserted: 0, updated: 0, quarantined: 0, drifted: 0 };
      try {
        atomically(() => {
          writeRows(page.rows, isoTime(now()), counts);
          writeProblems(page, isoTime(now()), counts);
          if (page.anew) places.forget();
          places.arrive(page.place, page.call, counts);
        });
      } catch (thrown) {
        places.abandon();
        throw thrown;
      }
      return counts;
    },
    flush: () => atomically(() => places.commit()),
  };
}
