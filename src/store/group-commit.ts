/**
 * Pages are committed together: rows, refused rows, drift, calls and the walk's checkpoint in one transaction, all or nothing.
 * A page waits in memory for those that come soon after it, since each commit writes whole pages of the database.
 */

import type { Call } from '../api/response.ts';
import { isoTime } from '../clock.ts';
import type { CheckedRows, Row, RowRef } from '../validate/checked.ts';
import type { FindStoredRun } from '../validate/unchanged.ts';
import {
  beginning,
  type Checkpoint,
  isBehindHead,
  type MetRowsChange,
  type PageFacts,
  restored,
} from '../walk/checkpoint.ts';
import { callRecorder } from './calls.ts';
import { createSequence } from './changes.ts';
import { copyLog } from './commits.ts';
import type { Connection } from './connection.ts';
import { createDriftLog } from './drift.ts';
import { guarded } from './failure.ts';
import { watchFields } from './fields.ts';
import { createRowidSet, forgetMet, type MetPart, nothingMet, prepareMet } from './met-rows.ts';
import { type Origin, openQuarantine } from './quarantine.ts';
import { type ComparedRow, createTableWriter, openStoredRows, unchanged } from './rows.ts';
import type { WalkRow } from './schema.ts';
import { openVolatile, type VolatileValues } from './staged-values.ts';
import { type OpenWalk, prepareWalkUpdate } from './walks.ts';

export type PageWriter = {
  /**
   * Holds a page against the mirror and the pages that wait. Returns of each of its keys whether this pass of the walk has
   * met it, and whether the mirror held it by a walk that has ended well. What waits is committed where the page
   * contradicts it.
   */
  lookUp(page: CheckedRows): Pick<PageFacts, 'met' | 'known'>;
  /**
   * Finds the next page's rows as they are stored, where a page that shows nothing else has nothing to say but that they are there. Undefined
   * where all of it must be looked at.
   */
  findStoredRun(): FindStoredRun | undefined;
  /** Takes the page, which is committed at once where no more may wait. */
  savePage(page: PageToSave): void;
  /** Commits what waits. @throws also what an earlier commit threw: the pages that it lost are missing. */
  commit(): void;
  /** The same at the end of the walk or its pause, with all that was only counted until then. */
  flush(): void;
  /** Notes what a walk that has read the whole dataset did not find; call in the transaction that ends it. */
  conclude(): void;
};

/** Told of each commit: what its pages did, and the call of the last one. */
export type Committed = (saved: Counts, last: Call) => void;

export function createPageWriter(
  connection: Connection,
  walk: OpenWalk,
  now: () => number,
  committed: Committed,
): PageWriter {
  const { job, row } = walk;
  const volatile = openVolatile(connection, job);
  const table = createTableWriter(connection, job, volatile);
  const quarantine = openQuarantine(connection, job.name);
  const driftLog = createDriftLog(connection, job.name);
  const fields = job.contract ? undefined : watchFields(connection, job, row.id, driftLog);
  const progress = createCheckpointKeeper(connection, walk, volatile);
  const nextSeq = createSequence(connection);
  // One transaction for a page of look-ups: each by itself would take and leave SQLite's locks.
  const atOnce = connection.transaction((read: () => Pick<PageFacts, 'met' | 'known'>) => read());
  const atomically = connection.transaction((work: () => void) => work()).immediate;
  const waiting = createWaitingPages();
  let lookedUp: { accepted: CheckedRows['accepted']; rows: ComparedRow[] } | undefined;
  let failure: { thrown: unknown } | undefined;
  /** Another one after each commit that changed a row. */
  let tableState = 0;
  /** The last row of the page looked up last, and how many rows it had: the next page mostly goes on from there. */
  let lastPage: { rowid: number; rows: number } | undefined;
  const storedRun =
    job.reading === 'walk' && fields ? openStoredRows(connection, job, () => tableState) : undefined;
  // Whatever such a row shows, the walk before did not meet.
  const someWereHeld = table.holdsAny();

  /** What is known of a row without a look at the table. */
  function known({ key, stored }: Row): ComparedRow | undefined {
    return waiting.find(key) ?? (stored?.tableState === tableState ? unchanged(key, stored) : undefined);
  }

  function lookUp(page: CheckedRows): Pick<PageFacts, 'met' | 'known'> {
    // Two versions of a row are two changes, each with a number of its own.
    if (waiting.contradicts(page)) commit();
    return atOnce(() => compareAll(page));
  }

  function compareAll({ accepted, keys }: CheckedRows): Pick<PageFacts, 'met' | 'known'> {
    const rows = table.compareAll(accepted, known);
    lookedUp = { accepted, rows };
    const last = rows.at(-1)?.held;
    lastPage = last && { rowid: last.rowid, rows: rows.length };
    const rowAt = belongingTo(rows, keys, rows);
    const isMet = (key: string, row: ComparedRow | undefined) =>
      waiting.hasMetKey(key) || (row ? hasMetRow(row.held) : hasMetRefused(key));
    const isKnown = (key: string, row: ComparedRow | undefined) => {
      // A row that waits belongs to this walk once it is written.
      if (row?.change === 'changed' && waiting.find(key)) return false;
      return row ? isSettled(row.held) : isKnownRefused(key);
    };
    return {
      met: keys.map((key, at) => key !== null && isMet(key, rowAt(key, at))),
      known: keys.map((key, at) => key !== null && isKnown(key, rowAt(key, at))),
    };
  }

  /** The rows of a page beside what the table holds, as they were looked up. */
  function comparedRows(page: CheckedRows): ComparedRow[] {
    if (lookedUp?.accepted !== page.accepted) lookUp(page);
    return lookedUp?.rows ?? [];
  }

  /** The time of a commit; one that changes rows gets its number in the order of all changes. */
  function timeOfCommit(): number {
    const changes = ({ rows }: WaitingPage) =>
      rows.some(({ change }) => change === 'new' || change === 'changed');
    if (!waiting.pages.some(changes)) return now();
    const seq = nextSeq(job.name, now());
    row.firstSeq ??= seq;
    row.lastSeq = seq;
    return seq;
  }

  /** Writes all that waits, in the order in which it came. Returns what it did. */
  function writePages(last: WaitingPage): Counts {
    const saved = { inserted: 0, updated: 0, quarantined: 0, drifted: 0 };
    const now = isoTime(timeOfCommit());
    const written = new Map<ComparedRow, number>();
    for (const { page, rows, metRows, checkpoint } of waiting.pages) {
      const origin = { job: job.name, walkId: row.id, requestId: page.call.requestId, now };
      saved.drifted += fields?.note(page.fields, origin) ?? 0;
      const numbers = rows.map((compared) => writeRow(compared, written, origin, saved));
      const ofRefused = writeProblems(page, metRows, origin, saved);
      const part = isBehindHead(checkpoint) ? 'head' : 'rows';
      if (metRows === 'add') meetInOrder(page.keys, belongingTo(rows, page.keys, numbers), ofRefused, part);
      if (metRows === 'clear') progress.forget();
    }
    progress.arrive(
      last.checkpoint,
      waiting.pages.map(({ page }) => page.call),
      saved,
    );
    return saved;
  }

  /** A row that waits may have been shown by more than one page: it is written once. Returns its number. */
  function writeRow(
    compared: ComparedRow,
    written: Map<ComparedRow, number>,
    { now }: Origin,
    saved: Counts,
  ): number {
    const before = written.get(compared);
    if (before !== undefined) return before;
    const { key, change } = compared;
    const number = table.write(compared, row.id, now);
    if (change !== 'none') written.set(compared, number);
    if (change === 'new') saved.inserted += 1;
    if (change === 'changed') saved.updated += 1;
    quarantine.resolve(key, now);
    return number;
  }

  /** Returns the numbers of refused rows that the table holds, by key. */
  function writeProblems(
    { refused, drifts }: WaitingPage['page'],
    metRows: MetRowsChange,
    origin: Origin,
    saved: Counts,
  ): Map<string, number> {
    const numbers = new Map<string, number>();
    for (const refusedRow of refused) {
      const number = quarantine.keep(refusedRow, origin);
      saved.quarantined += 1;
      if (refusedRow.key === null) continue;
      // A refused row is still there upstream: what the mirror has under its key must not look gone.
      const stored = table.find(refusedRow.key);
      if (stored) table.show(stored.rowid);
      if (metRows !== 'add') continue;
      if (stored) numbers.set(refusedRow.key, stored.rowid);
      else progress.meetRefused(number);
    }
    for (const found of drifts) {
      driftLog.note(found, origin);
      saved.drifted += found.times;
    }
    return numbers;
  }

  function meetInOrder(
    keys: CheckedRows['keys'],
    numberAt: At<number>,
    ofRefused: ReadonlyMap<string, number>,
    part: MetPart,
  ) {
    keys.forEach((key, at) => {
      const rowid = key === null ? undefined : (numberAt(key, at) ?? ofRefused.get(key));
      if (rowid !== undefined) progress.meetRow(rowid, part);
    });
  }

  /** @param andAfter is done in the same transaction. */
  function commit(andAfter?: () => void): void {
    // What the transaction undid, the parts of this walk that are kept in memory may hold for done.
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
    waiting.clear();
    lookedUp = undefined;
    copyLog(connection);
    if (saved && saved.inserted + saved.updated > 0) tableState += 1;
    if (last && saved) committed(saved, last.page.call);
  }

  const hasMetRow = (held: RowRef | undefined) =>
    held !== undefined && (walk.met.rows.has(held.rowid) || waiting.hasMetRow(held.rowid));
  const isSettled = (found: { walkId: number } | undefined) =>
    found !== undefined && !walk.unsettled.has(found.walkId);
  /** Whether this pass has met a row of that key, which is refused now. */
  const hasMetRefused = (key: string) => {
    const refused = quarantine.find(key);
    return (refused !== undefined && walk.met.refused.has(refused.number)) || hasMetRow(table.find(key));
  };
  const isKnownRefused = (key: string) => isSettled(quarantine.find(key)) || isSettled(table.find(key));

  return {
    lookUp,
    findStoredRun() {
      const after = lastPage;
      if (!storedRun || !after || !fields?.isSettled() || someWereHeld) return undefined;
      return (text) => guarded(connection.name, () => storedRun(after.rowid, after.rows, text));
    },
    savePage(saved) {
      if (failure) throw failure.thrown;
      const { page, checkpoint, metRows } = saved;
      const { keys, refused, drifts, fields, call } = page;
      waiting.add({
        page: { keys, refused, drifts, fields, call },
        checkpoint,
        metRows,
        rows: comparedRows(page),
      });
      // Look-ups ask the table for what was met, which is no longer so.
      if (waiting.isFull || saved.metRows === 'clear') commit();
    },
    commit: () => commit(),
    flush: () => commit(driftLog.flush),
    conclude() {
      row.drifted += fields?.conclude() ?? 0;
    },
  };
}

/** What belongs to a key of a page that stands there. */
type At<Of> = (key: string | null, at: number) => Of | undefined;

/** Mostly each row of a page fits, and no key comes twice: then what belongs to a row stands at its place. */
function belongingTo<Of>(rows: readonly ComparedRow[], keys: CheckedRows['keys'], of: readonly Of[]): At<Of> {
  if (rows.length === keys.length) return (_, at) => of[at];
  const byKey = new Map<string | null, Of>(rows.map(({ key }, at) => [key, of[at] as Of]));
  return (key) => byKey.get(key);
}

/** Pages that wait in memory for their commit, and what a look-up must know of them: the table does not show them yet. */

/** A page with the checkpoint behind it, and whether its rows count as met. */
type PageToSave = {
  page: CheckedRows & { call: Call };
  checkpoint: Checkpoint;
  metRows: MetRowsChange;
};

/** What is left to do of it: its rows beside what the table holds, as they were looked up, and all else but the rows. */
type WaitingPage = Pick<PageToSave, 'checkpoint' | 'metRows'> & {
  page: Pick<PageToSave['page'], 'keys' | 'refused' | 'drifts' | 'fields' | 'call'>;
  rows: readonly ComparedRow[];
};

/** A crash repeats the calls of as many pages; a commit that writes more rows would keep all else waiting for over 25 ms. */
const MOST = { pages: 20, rowsToWrite: 1_300 };

type WaitingPages = {
  readonly pages: readonly WaitingPage[];
  /** True once no more may wait. */
  readonly isFull: boolean;
  add(page: WaitingPage): void;
  /** The row that waits to be written under this key. */
  find(key: string): ComparedRow | undefined;
  /** Whether a page that waits counts the row of this number as met, or one of this key which has no number. */
  hasMetRow(rowid: number): boolean;
  hasMetKey(key: string): boolean;
  /** Whether the page says something else of a row than a page that waits: it can only follow that page's commit. */
  contradicts(page: CheckedRows): boolean;
  clear(): void;
};

/**
 * What waits for one commit. The next one gets maps of its own: V8 links the table of a map that grew or was cleared to the
 * next one, and so the first table that grew old would keep all that ever waited until V8 looks through its whole heap.
 */
const nothing = () => ({
  pages: [] as WaitingPage[],
  /** Those to be written; null where the row was refused. */
  rows: new Map<string, ComparedRow | null>(),
  metRows: createRowidSet(),
  metKeys: new Set<string>(),
  rowsToWrite: 0,
});

function createWaitingPages(): WaitingPages {
  let waiting = nothing();

  function meet({ page, rows }: WaitingPage): void {
    const { metRows, metKeys } = waiting;
    for (const { key, held } of rows)
      if (held) metRows.add(held.rowid);
      else metKeys.add(key);
    for (const { key } of page.refused) if (key !== null) metKeys.add(key);
  }

  return {
    get pages() {
      return waiting.pages;
    },
    get isFull() {
      return waiting.pages.length >= MOST.pages || waiting.rowsToWrite >= MOST.rowsToWrite;
    },
    add(added) {
      const { pages, rows } = waiting;
      pages.push(added);
      for (const row of added.rows) {
        if (row.change === 'none' || rows.get(row.key) === row) continue;
        waiting.rowsToWrite += 1;
        rows.set(row.key, row);
      }
      for (const { key } of added.page.refused) if (key !== null) rows.set(key, null);
      if (added.metRows === 'add') meet(added);
    },
    find: (key) => waiting.rows.get(key) ?? undefined,
    hasMetRow: (rowid) => waiting.metRows.has(rowid),
    hasMetKey: (key) => waiting.metKeys.has(key),
    contradicts({ accepted, refused }) {
      const { rows } = waiting;
      // In most passes few pages have a row to write.
      if (rows.size === 0) return false;
      return (
        refused.some(({ key }) => key !== null && rows.has(key)) ||
        accepted.some((row) => {
          const before = rows.get(row.key);
          return before !== undefined && !isSame(before, row);
        })
      );
    },
    clear() {
      waiting = nothing();
    },
  };
}

function isSame(before: ComparedRow | null, { values }: Pick<ComparedRow, 'values'>): boolean {
  return before !== null && Object.keys(values).every((name) => before.values[name] === values[name]);
}

/** A walk's checkpoint and the rows that it has met, committed with the pages that brought it there. */

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

type CheckpointKeeper = {
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

function createCheckpointKeeper(
  connection: Connection,
  { row, met }: OpenWalk,
  volatile: Pick<VolatileValues, 'commit'> | undefined,
): CheckpointKeeper {
  const record = callRecorder(connection);
  const update = prepareWalkUpdate(connection, [
    ...counted,
    ...(Object.keys(columnsOf(beginning)) as (keyof WalkRow)[]),
  ]);
  // Apart, so that a walk that changes nothing does not write the index over it.
  const updateSeq = prepareWalkUpdate(connection, ['firstSeq', 'lastSeq']);
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
      update(row);
      if (row.lastSeq !== savedSeq) updateSeq(row);
      savedSeq = row.lastSeq;
      unsaved = nothingMet();
      hasForgotten = false;
    },
  };
}
