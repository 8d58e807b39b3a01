/** One transaction a page: rows, refused rows, drift, the call and the walk's place, all or nothing. */

import { isoTime } from '../../clock.ts';
import type { Connection } from '../db/connection.ts';
import { type PageFields, watchFields } from '../fields.ts';
import { createDriftLog, type Drift } from '../records/drift.ts';
import { type Origin, openQuarantine, type RefusedRow } from '../records/quarantine.ts';
import type { Call } from '../records/requests.ts';
import { type Counts, createPlaceKeeper } from './checkpoint.ts';
import { createTableWriter, type ExaminedRow, type RowValues } from './rows.ts';
import { openSequence } from './sequence.ts';
import type { OpenWalk, WalkPlace } from './walks.ts';

export type KeyedRow = { key: string; values: RowValues };

/** A row beside what the mirror holds of it; `seen` where this pass of the walk has met it before. */
export type MetRow = ExaminedRow & { seen: boolean };

export type PageToSave = {
  rows: MetRow[];
  refused: RefusedRow[];
  drifts: Drift[];
  /** Of a dataset whose record shape is not specified. */
  fields: PageFields;
  call: Call;
  place: WalkPlace;
  /** Whether its rows count as met, or none that were met before do any longer: the walk begins anew. */
  met: 'add' | 'skip' | 'clear';
};

export type PageWriter = {
  examine(rows: KeyedRow[]): MetRow[];
  /** True where this walk has met a row of that key, which is refused now. */
  hasMet(key: string): boolean;
  savePage(page: PageToSave): Counts;
  /** Commits the places of pages that changed nothing, which wait a little for company. */
  flush(): void;
  /** Notes what a walk that has read the whole dataset did not find; call in the transaction that ends it. */
  conclude(): void;
};

export function createPageWriter(connection: Connection, walk: OpenWalk, now: () => number): PageWriter {
  const { job, row } = walk;
  const table = createTableWriter(connection, job);
  const quarantine = openQuarantine(connection, job.name);
  const driftLog = createDriftLog(connection, job.name);
  const fields = job.contract ? undefined : watchFields(connection, job, row.id, driftLog);
  const places = createPlaceKeeper(connection, walk, now);
  const sequence = openSequence(connection);
  // One transaction for a page of look-ups: each by itself would take and leave SQLite's locks.
  const atOnce = connection.transaction((read: () => MetRow[]) => read());
  const atomically = connection.transaction((work: () => void) => work()).immediate;

  /** The time of this page's commit; one that changes rows gets its number in the order of all changes. */
  function timeOf({ rows }: PageToSave): number {
    if (!rows.some(({ change }) => change === 'new' || change === 'changed')) return now();
    const seq = sequence.next(job.name, now());
    row.firstSeq ??= seq;
    row.lastSeq = seq;
    return seq;
  }

  function writeRows({ rows, met }: PageToSave, at: string, counts: Counts): void {
    for (const examined of rows) {
      const rowid = table.write(examined, row.id, at);
      if (met === 'add') places.meetRow(rowid);
      if (examined.change === 'new') counts.inserted += 1;
      if (examined.change === 'changed') counts.updated += 1;
      quarantine.resolve(examined.key, at);
    }
  }

  function writeProblems({ refused, drifts, met }: PageToSave, origin: Origin, counts: Counts): void {
    for (const refusedRow of refused) {
      const number = quarantine.keep(refusedRow, origin);
      counts.quarantined += 1;
      if (refusedRow.key === null || met !== 'add') continue;
      // A refused row is still there upstream: what the mirror holds under its key must not look gone.
      const rowid = table.rowidOf(refusedRow.key);
      if (rowid === undefined) places.meetRefused(number);
      else places.meetRow(rowid);
    }
    for (const found of drifts) {
      driftLog.note(found, origin);
      counts.drifted += found.times;
    }
  }

  const hasMetRow = (rowid: number | undefined) => rowid !== undefined && walk.met.rows.has(rowid);

  return {
    examine: (rows) =>
      atOnce(() =>
        rows.map(({ key, values }) => {
          const { rowid, change } = table.examine(key, values);
          return { key, values, rowid, change, seen: hasMetRow(rowid) };
        }),
      ),
    hasMet(key) {
      const number = quarantine.numberOf(key);
      return (number !== undefined && walk.met.refused.has(number)) || hasMetRow(table.rowidOf(key));
    },
    savePage(page) {
      const counts = { inserted: 0, updated: 0, quarantined: 0, drifted: 0 };
      try {
        atomically(() => {
          const { requestId } = page.call;
          const origin = { job: job.name, walkId: row.id, requestId, now: isoTime(timeOf(page)) };
          counts.drifted += fields?.note(page.fields, origin) ?? 0;
          writeRows(page, origin.now, counts);
          writeProblems(page, origin, counts);
          if (page.met === 'clear') places.forget();
          places.arrive(page.place, page.call, counts);
        });
      } catch (thrown) {
        places.abandon();
        throw thrown;
      }
      return counts;
    },
    flush: () =>
      atomically(() => {
        driftLog.flush();
        places.commit();
      }),
    conclude() {
      row.drifted += fields?.conclude() ?? 0;
    },
  };
}
