/**
 * The pages of a walk: compared as they come, and committed together, since each commit writes whole pages of the database. One
 * transaction (`writePages`) writes their rows, refused rows, drift and calls, the rows met and the checkpoint behind the last page.
 */

import type { Call } from '../api/response.ts';
import { isoTime } from '../clock.ts';
import type { CheckedRows, Row, RowRef } from '../validate/checked.ts';
import type { FindStoredRun } from '../validate/unchanged.ts';
import {
  beginning,
  type Checkpoint,
  type MetRowsChange,
  type PageFacts,
  restored,
} from '../walk/checkpoint.ts';
import { callRecorder } from './calls.ts';
import { copyLog } from './commits.ts';
import type { Connection } from './connection.ts';
import { createDriftLog, type Origin } from './drift.ts';
import { guarded } from './failure.ts';
import { watchFields } from './fields.ts';
import { openQuarantine } from './quarantine.ts';
import { forgetMet, nothingMet, prepareMet, RowidSet } from './rowids.ts';
import { type ComparedRow, createTableWriter, openStoredRows, unchanged } from './rows.ts';
import type { WalkRow } from './schema.ts';
import { createSequence } from './sequence.ts';
import { openVolatile } from './staged-values.ts';
import { type OpenWalk, prepareWalkUpdate } from './walks.ts';

/** A page with the checkpoint behind it, and whether its rows count as met. */
type PageToSave = {
  page: CheckedRows & { call: Call };
  checkpoint: Checkpoint;
  metRows: MetRowsChange;
};

/** What the pages of a commit did. */
export type Counts = { inserted: number; updated: number; quarantined: number; drifted: number };

/** Called after each commit: what its pages did, and the call of the last one. */
export type Committed = (saved: Counts, last: Call) => void;

/** A crash repeats the calls of so many pages. A commit of more rows would keep everything else waiting for over 25 ms. */
const MAX_PAGES = 20;
const MAX_ROWS_TO_WRITE = 1_300;

export function createPageWriter(
  connection: Connection,
  walk: OpenWalk,
  now: () => number,
  committed: Committed,
) {
  const { job, row, met } = walk;
  const volatile = openVolatile(connection, job);
  const table = createTableWriter(connection, job, volatile);
  const quarantine = openQuarantine(connection, job.name);
  const driftLog = createDriftLog(connection, job.name);
  const fields = job.contract ? undefined : watchFields(connection, job, row.id, driftLog);
  const recordCall = callRecorder(connection);
  const saveMet = prepareMet(connection, row.id);
  const saveCheckpoint = prepareWalkUpdate(connection, [...counted, ...shown]);
  // Apart, so that a walk that changes nothing does not write the index of `last_seq`.
  const saveSeqs = prepareWalkUpdate(connection, ['firstSeq', 'lastSeq']);
  const nextSeq = createSequence(connection);
  // One transaction for a page of look-ups: else each would take and leave SQLite's locks.
  const inOneRead = connection.transaction((read: () => Pick<PageFacts, 'met' | 'known'>) => read());
  const atomically = connection.transaction((work: () => void) => work()).immediate;
  let waiting = nothingWaiting();
  let unsaved = nothingMet();
  let lookedUp: { accepted: CheckedRows['accepted']; rows: ComparedRow[] } | undefined;
  let failure: { thrown: unknown } | undefined;
  /** Of the page looked up last: its last row, and how many rows it had. The next page mostly goes on from there. */
  let lastPage = { rowid: 0, rows: 0 };
  const storedRuns = fields && { find: openStoredRows(connection, job), areSettled: fields.isSettled };
  // The last walk did not meet held rows, so their fields may be new: each row is looked at.
  const someWereHeld = table.holdsAny();

  /** Compares a page with the mirror and the waiting pages, which are committed first where the page contradicts them. */
  function lookUp(page: CheckedRows): Pick<PageFacts, 'met' | 'known'> {
    // Two versions of a row are two changes, in two commits.
    if (contradicts(waiting, page)) commit();
    return inOneRead(() => compareAll(page));
  }

  function compareAll({ accepted, keys }: CheckedRows): Pick<PageFacts, 'met' | 'known'> {
    const rows = accepted.map((row) => compareWithoutLook(row) ?? table.compare(row));
    lookedUp = { accepted, rows };
    lastPage = { rowid: rows.at(-1)?.ref?.rowid ?? 0, rows: rows.length };
    const rowAt = belongingTo(rows, keys, rows);
    const isMet = (key: string, row: ComparedRow | undefined) =>
      waiting.metKeys.has(key) || (row ? isMetRow(row.ref) : isMetRefused(key));
    const isKnown = (key: string, row: ComparedRow | undefined) => {
      // A changed row that waits will belong to this walk.
      if (row?.change === 'changed' && waiting.rows.get(key)) return false;
      return row ? isSettled(row.ref) : isSettled(quarantine.find(key)) || isSettled(table.find(key));
    };
    return {
      met: keys.map((key, at) => key !== null && isMet(key, rowAt(key, at))),
      known: keys.map((key, at) => key !== null && isKnown(key, rowAt(key, at))),
    };
  }

  function compareWithoutLook({ key, stored }: Row): ComparedRow | undefined {
    return waiting.rows.get(key) ?? (stored && unchanged(key, stored));
  }

  const isMetRow = (ref: RowRef | undefined) =>
    ref !== undefined && (met.rows.has(ref.rowid) || waiting.metRows.has(ref.rowid));
  /** Whether this pass has met the key, whose row is refused now. */
  const isMetRefused = (key: string) => {
    const refused = quarantine.find(key);
    return (refused !== undefined && met.refused.has(refused.rowid)) || isMetRow(table.find(key));
  };
  const isSettled = (found: { walkId: number } | undefined) =>
    found !== undefined && !walk.unsettled.has(found.walkId);

  /** Lets the page wait for the next commit; commits when too many wait. */
  function savePage({ page, checkpoint, metRows }: PageToSave): void {
    if (failure) throw failure.thrown;
    const { keys, refused, drifts, fields, call } = page;
    if (lookedUp?.accepted !== page.accepted) lookUp(page);
    const rows = lookedUp?.rows ?? [];
    addWaiting(waiting, { page: { keys, refused, drifts, fields, call }, checkpoint, metRows, rows });
    const isFull = waiting.pages.length >= MAX_PAGES || waiting.rowsToWrite >= MAX_ROWS_TO_WRITE;
    // A cleared set must be committed before the next look-up.
    if (isFull || metRows === 'clear') commit();
  }

  /**
   * Commits the waiting pages. After one failure it always throws that error: what is in memory no longer matches the database.
   * @param andAfter is done in the same transaction.
   */
  function commit(andAfter?: () => void): void {
    if (failure) throw failure.thrown;
    const last = waiting.pages.at(-1);
    if (!last && !andAfter) return;
    let saved: Counts | undefined;
    try {
      atomically(() => {
        if (last) saved = writePages(last);
        andAfter?.();
      });
    } catch (thrown) {
      failure = { thrown };
      throw thrown;
    }
    waiting = nothingWaiting();
    lookedUp = undefined;
    void copyLog(connection);
    if (last && saved) committed(saved, last.page.call);
  }

  /** All that one transaction writes: the waiting pages, in their order. Returns what it did. */
  function writePages(last: WaitingPage): Counts {
    const saved = { inserted: 0, updated: 0, quarantined: 0, drifted: 0 };
    const { lastSeq } = row;
    const now = isoTime(timeOfCommit());
    const written = new Map<ComparedRow, number>();
    for (const { page, rows, metRows, checkpoint } of waiting.pages) {
      const origin = { job: job.name, walkId: row.id, requestId: page.call.requestId, now };
      saved.drifted += fields?.note(page.fields, origin) ?? 0;
      const rowids = rows.map((compared) => writeRow(compared, written, now, saved));
      const ofRefused = writeRefused(page, metRows, origin, saved);
      for (const found of page.drifts) {
        driftLog.note(found, origin);
        saved.drifted += found.times;
      }
      if (metRows === 'clear') clearMet();
      if (metRows !== 'add') continue;
      const rowidAt = belongingTo(rows, page.keys, rowids);
      const part = wasReadAtHead(checkpoint) ? 'head' : 'rows';
      page.keys.forEach((key, at) => {
        const rowid = rowidAt(key, at) ?? ofRefused.get(key);
        if (rowid !== undefined) meetRow(rowid, part);
      });
    }
    volatile?.commit();
    saveMet(unsaved);
    unsaved = nothingMet();
    for (const { page } of waiting.pages) recordCall(page.call);
    advanceRow(row, last.checkpoint, saved, waiting.pages.length);
    saveCheckpoint(row);
    if (row.lastSeq !== lastSeq) saveSeqs(row);
    return saved;
  }

  /** The time of the commit. If it changes rows, that is its number in the order of all changes. */
  function timeOfCommit(): number {
    const changes = ({ rows }: WaitingPage) =>
      rows.some(({ change }) => change === 'new' || change === 'changed');
    if (!waiting.pages.some(changes)) return now();
    const seq = nextSeq(job.name, now());
    row.firstSeq ??= seq;
    row.lastSeq = seq;
    return seq;
  }

  /** Writes a row once, though several pages may show it. Returns its rowid. */
  function writeRow(
    compared: ComparedRow,
    written: Map<ComparedRow, number>,
    now: string,
    saved: Counts,
  ): number {
    const before = written.get(compared);
    if (before !== undefined) return before;
    const { key, change } = compared;
    const rowid = table.write(compared, row.id, now);
    if (change !== 'none') written.set(compared, rowid);
    if (change === 'new') saved.inserted += 1;
    if (change === 'changed') saved.updated += 1;
    quarantine.resolve(key, now);
    return rowid;
  }

  /** Returns the rowids of refused rows that the table holds, by key. */
  function writeRefused(
    { refused }: WaitingPage['page'],
    metRows: MetRowsChange,
    origin: Origin,
    saved: Counts,
  ): Map<string | null, number> {
    const rowids = new Map<string | null, number>();
    for (const refusedRow of refused) {
      const rowid = quarantine.keep(refusedRow, origin);
      saved.quarantined += 1;
      if (refusedRow.key === null) continue;
      // A refused row is still there upstream: what the mirror has under its key must not look gone.
      const stored = table.find(refusedRow.key);
      if (stored) table.endHold(stored.rowid);
      if (metRows !== 'add') continue;
      if (stored) rowids.set(refusedRow.key, stored.rowid);
      else meetRefused(rowid);
    }
    return rowids;
  }

  /** Rows are met in the API's order. Those at the head are noted even where they were met before. */
  function meetRow(rowid: number, part: 'rows' | 'head'): void {
    const isNew = met.rows.add(rowid);
    if (isNew) row.distinctKeys += 1;
    if (isNew || part === 'head') unsaved[part].push(rowid);
  }

  function meetRefused(rowid: number): void {
    if (!met.refused.add(rowid)) return;
    unsaved.refused.push(rowid);
    row.distinctKeys += 1;
  }

  /** The walk is reset: no row counts as met. */
  function clearMet(): void {
    met.rows.clear();
    met.refused.clear();
    unsaved = nothingMet();
    forgetMet(connection, String(row.id));
    row.distinctKeys = 0;
  }

  return {
    lookUp,
    /** Finds the stored rows that the next page may repeat byte by byte. Undefined where each row must be looked at. */
    findStoredRun(): FindStoredRun | undefined {
      if (!storedRuns?.areSettled() || someWereHeld) return undefined;
      return (text) => {
        const run = guarded(connection.name, () => storedRuns.find(lastPage.rowid, lastPage.rows, text));
        // A row that waits to be written will not be as it is stored.
        return run?.rows.some(({ key }) => waiting.rows.has(key)) ? undefined : run;
      };
    },
    savePage,
    commit,
    /** Commits the waiting pages and the counts of drift, at the end or pause of the walk. */
    flush: () => commit(driftLog.flush),
    /** Notes the fields that a walk over the whole dataset did not find; call it in the transaction that ends the walk. */
    conclude(): void {
      row.drifted += fields?.conclude() ?? 0;
    },
  };
}

/** Finds what belongs to a key and its position on the page. */
type FindAt<Of> = (key: string | null, at: number) => Of | undefined;

/** Where each row fits and no key comes twice, as mostly, the position finds it. */
function belongingTo<Of>(
  rows: readonly ComparedRow[],
  keys: CheckedRows['keys'],
  of: readonly Of[],
): FindAt<Of> {
  if (rows.length === keys.length) return (_, at) => of[at];
  const byKey = new Map<string | null, Of>(rows.map(({ key }, at) => [key, of[at] as Of]));
  return (key) => byKey.get(key);
}

/** A page that waits: its compared rows, and all of the page but the rows. */
type WaitingPage = Pick<PageToSave, 'checkpoint' | 'metRows'> & {
  page: Pick<PageToSave['page'], 'keys' | 'refused' | 'drifts' | 'fields' | 'call'>;
  rows: readonly ComparedRow[];
};

/** The pages of one commit. Each gets new maps: V8 links the tables of a map that grew or was cleared, and would keep all in memory. */
const nothingWaiting = () => ({
  pages: [] as WaitingPage[],
  /** Those to be written; null where the row was refused. */
  rows: new Map<string, ComparedRow | null>(),
  rowsToWrite: 0,
  /** What these pages have met: rows of the table, and keys of new or refused ones. */
  metRows: new RowidSet(),
  metKeys: new Set<string>(),
});

type Waiting = ReturnType<typeof nothingWaiting>;

function addWaiting(waiting: Waiting, added: WaitingPage): void {
  const { pages, rows, metRows, metKeys } = waiting;
  const refused = added.page.refused.flatMap(({ key }) => key ?? []);
  pages.push(added);
  for (const row of added.rows) {
    if (row.change === 'none' || rows.get(row.key) === row) continue;
    waiting.rowsToWrite += 1;
    rows.set(row.key, row);
  }
  for (const key of refused) rows.set(key, null);
  if (added.metRows !== 'add') return;
  for (const { key, ref } of added.rows)
    if (ref) metRows.add(ref.rowid);
    else metKeys.add(key);
  for (const key of refused) metKeys.add(key);
}

/** Whether the page shows another version of a row that waits. */
function contradicts({ rows }: Waiting, { accepted, refused }: CheckedRows): boolean {
  // In most passes few pages have a row to write.
  if (rows.size === 0) return false;
  return (
    refused.some(({ key }) => key !== null && rows.has(key)) ||
    accepted.some(({ key, values }) => {
      const before = rows.get(key);
      if (before === undefined) return false;
      return before === null || Object.keys(values).some((name) => before.values[name] !== values[name]);
    })
  );
}

/** A checkpoint as columns of `walks`: `memory` holds all of it, the others show it to people. */
function columnsOf(checkpoint: Checkpoint) {
  const { offset, pages, rows, unkeyed, total, totalFirst, restarts, generatedAt = null } = checkpoint;
  const { newInHead, newAtTail, newElsewhere } = checkpoint;
  const stepsBack = checkpoint.mode === 'anchored' ? checkpoint.stepsBack : 0;
  return {
    ...{ nextOffset: offset, pages, rows, unkeyed, total, totalFirst, restarts, stepsBack, generatedAt },
    ...{ newInHead, newAtTail, newElsewhere },
    anomalies: JSON.stringify(checkpoint.anomalies),
    memory: JSON.stringify(checkpoint),
  };
}

const shown = Object.keys(columnsOf(beginning)) as (keyof ReturnType<typeof columnsOf>)[];
const counted = ['inserted', 'updated', 'quarantined', 'drifted', 'apiCalls', 'distinctKeys'] as const;

export function checkpointOf({ memory }: WalkRow): Checkpoint {
  return restored(JSON.parse(memory));
}

function advanceRow(row: WalkRow, checkpoint: Checkpoint, saved: Counts, calls: number): void {
  // A reset clears both in the checkpoint, not in the row.
  const { total, totalFirst } = row;
  Object.assign(row, columnsOf(checkpoint));
  row.total ??= total;
  row.totalFirst ??= totalFirst;
  row.inserted += saved.inserted;
  row.updated += saved.updated;
  row.quarantined += saved.quarantined;
  row.drifted += saved.drifted;
  row.apiCalls += calls;
}

/** Whether the page that led to this checkpoint was read at the head. Steps back count as tries, too, but meet no row. */
function wasReadAtHead(at: Checkpoint): boolean {
  return at.mode === 'anchored' && at.tries > 0;
}
