/**
 * Writing the rows of one dataset. A row is first compared where it lies: one that did not change writes
 * nothing, nor does one whose JSON is only written in another way; a change in volatile columns alone makes no
 * version and is staged (`staged-values.ts`), anything else is upserted.
 */

import { isDeepStrictEqual } from 'node:util';
import { getTableColumns, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import { type Job, type RowValues, type SqlValue, stableColumnsOf, versioned } from '../job.ts';
import type { Row, RowRef, StoredRun } from '../validate/checked.ts';
import type { Connection } from './connection.ts';
import { openHeld } from './retire.ts';
import { quoted } from './sql.ts';
import type { VolatileValues } from './staged-values.ts';

type RowChange = 'new' | 'changed' | 'volatile' | 'none';

/**
 * A row beside what the table holds under its key, if it does. One that did not change has no values: it may wait for its
 * commit, and what waits outlives V8's cheap collections of garbage.
 */
export type ComparedRow = Omit<Row, 'stored'> & { ref: RowRef | undefined; change: RowChange };

export function unchanged(key: string, { rowid, walkId }: RowRef): ComparedRow {
  return { key, values: noValues, ref: { rowid, walkId }, change: 'none' };
}

const noValues: RowValues = {};

/** @param volatile where the dataset's volatile values go, if it has some. */
export function createTableWriter(connection: Connection, job: Job, volatile?: VolatileValues) {
  const names = stableColumnsOf(job);
  const comparison = prepareComparison(connection, job, names, volatile);
  const upsert = prepareUpsert(connection, job, names);
  const findFirstSeen = job.history === null ? undefined : prepareFirstSeen(connection, job.history);
  const bodyOf = job.contract ? undefined : prepareBody(connection, job);
  const findRef = connection.prepare<[string], RowRef>(
    `SELECT rowid, _walk_id AS walkId FROM ${quoted(job.rows)} WHERE _key = ?`,
  );
  const heldRows = openHeld(connection, job);
  const bindToCompare = binder([...names, ...(volatile?.columns ?? [])]);
  // In the order of the table: the mirror's own columns stand behind the fields of the row, and before what is kept as received.
  const bindToWrite = binder(names, names.filter((name) => !name.startsWith('_')).length);
  let lastWasNew = false;

  const find = (key: string) => findRef.get(key);
  const isRewritten = (rowid: number, { _body: body }: RowValues) =>
    bodyOf !== undefined && saysTheSame(String(bodyOf.get(rowid)), String(body));

  return {
    find,
    /** This row was refused, and so is there upstream: it is held no longer. */
    endHold: heldRows.endHold,
    /** Whether any row is held. */
    holdsAny: () => heldRows.count() > 0,
    compare({ key, values }: Row): ComparedRow {
      // New rows mostly come one after the other, and to miss a key costs a tenth of a comparison.
      const isKnown = !lastWasNew || find(key) !== undefined;
      const found = isKnown ? comparison.get(bindToCompare(values, key)) : undefined;
      lastWasNew = !found;
      if (!found) return { key, values, ref: undefined, change: 'new' };
      const [rowid, walkId, changed, volatileChanged] = found;
      const ref = { rowid, walkId };
      if (changed && !isRewritten(rowid, values)) return { key, values, ref, change: 'changed' };
      const hasMoved = volatileChanged || volatile?.isStaged(rowid);
      return hasMoved ? { key, values, ref, change: 'volatile' } : unchanged(key, ref);
    },
    /** Writes the row if it changed, and returns its rowid. It is held no longer. */
    write({ key, values, ref, change }: ComparedRow, walkId: number, now: string): number {
      if (ref) heldRows.endHold(ref.rowid);
      if (ref && change === 'none') return ref.rowid;
      if (ref && change === 'volatile') {
        volatile?.stage(ref.rowid, values);
        return ref.rowid;
      }
      // A row that was gone and is back keeps the time when it was first seen.
      const firstSeenAt = (change === 'new' && findFirstSeen?.get(key)) || now;
      const { lastInsertRowid } = upsert.run(bindToWrite(values, key, firstSeenAt, now, walkId));
      const rowid = ref?.rowid ?? Number(lastInsertRowid);
      // The trigger that keeps the version before has read the values that were shown with it.
      volatile?.put(rowid, values);
      return rowid;
    },
  };
}

/**
 * Lays values out by position, always in the same array: it is read at once, and a row has dozens of columns.
 * @param before so many of them stand before what is not of the row; all, unless given.
 */
function binder(names: readonly string[], before = names.length) {
  const bound: SqlValue[] = [];
  return (values: RowValues, ...more: SqlValue[]): SqlValue[] => {
    for (let at = 0; at < names.length; at += 1)
      bound[at < before ? at : at + more.length] = values[names[at] as string] ?? null;
    for (let at = 0; at < more.length; at += 1) bound[before + at] = more[at] as SqlValue;
    return bound;
  };
}

type Comparison = [rowid: number, walkId: number, changed: number, volatileChanged: number];

function prepareComparison(
  connection: Connection,
  job: Job,
  names: string[],
  volatile: VolatileValues | undefined,
) {
  const differ = `(${names.map((name) => `stored.${quoted(name)}`)}) IS NOT (${names.map(() => '?')})`;
  return connection
    .prepare<[SqlValue[]], Comparison>(
      `SELECT stored.rowid, _walk_id, ${differ}, ${volatile?.differ ?? 0}
       FROM ${quoted(job.rows)} AS stored WHERE _key = ?`,
    )
    .raw();
}

function prepareUpsert(connection: Connection, job: Job, names: string[]) {
  const columns: Record<string, SQLiteColumn> = getTableColumns(job.tables.rows);
  const all = [...names, ...versioned];
  const replaced = [...names, '_changed_at', '_walk_id'];
  const query = drizzle(connection)
    .insert(job.tables.rows)
    .values(Object.fromEntries(all.map((name) => [name, sql.placeholder(name)])) as never)
    .onConflictDoUpdate({
      target: columns['_key'] as SQLiteColumn,
      set: Object.fromEntries(replaced.map((name) => [name, sql.raw(`excluded.${quoted(name)}`)])) as never,
    });
  // Drizzle's SQL on a statement of our own: bound by position, it costs a tenth less per row (docs/dev/performance.md).
  return connection.prepare<[SqlValue[]]>(query.toSQL().sql);
}

/** When a row that is new was seen before, if it was. */
function prepareFirstSeen(connection: Connection, history: string) {
  // Rows leave a table only at the end of a walk: where none had left by the beginning, none comes back.
  if (!connection.prepare(`SELECT 1 FROM ${quoted(history)} LIMIT 1`).get()) return undefined;
  return connection
    .prepare<[string], string>(`SELECT _first_seen_at FROM ${quoted(history)} WHERE _key = ? LIMIT 1`)
    .pluck();
}

const prepareBody = (connection: Connection, job: Job) =>
  connection.prepare<[number], string>(`SELECT _body FROM ${quoted(job.rows)} WHERE rowid = ?`).pluck();

/** Parsing would lose the last digits of such a number, and with them a change. */
const longInteger = /[^.\d]\d{16}/;

/** The last escape in a name, or what looks like one: not all readers find a name with escapes. */
const escapedName = /\\.[^"\\]*"\s*:/;

/** Names, and strings that look like the end of one. */
const memberNames = /"\s*:/g;

/**
 * Whether two texts of valid JSON say the same to every reader; false where that cannot be told for sure, such as
 * where one names a member twice or spells a name with escapes.
 */
export function saysTheSame(one: string, other: string): boolean {
  if (longInteger.test(one) || longInteger.test(other)) return false;
  if (escapedName.test(one) !== escapedName.test(other) || countNames(one) !== countNames(other))
    return false;
  return isDeepStrictEqual(JSON.parse(one), JSON.parse(other));
}

const countNames = (text: string) => text.match(memberNames)?.length;

type RunColumns = [
  rowids: string,
  walkIds: string,
  keys: string,
  bytes: number | null,
  isSame: number | null,
];

/** Greater than any rowid that SQLite gives by itself. */
const BEYOND_ALL_ROWIDS = '9223372036854775807';

/**
 * Returns what holds a page against the table, as text. It finds at most `count` rows from the rowid `last` on, or from the one
 * behind it, since pages that are joined by a row begin with the last one of the page before; undefined where their bodies, joined
 * by commas, are not what `text` begins with, in UTF-8.
 * @param tableState a number for the state that the table is in.
 */
export function openStoredRows(connection: Connection, job: Job, tableState: () => number) {
  const table = quoted(job.rows);
  // SQLite gathers rows in the order of their rowids; if it did not, they would not be what the text begins with.
  const run = connection
    .prepare<[Buffer, number, number, number], RunColumns>(
      `SELECT rowids, walks, keys, length(bytes), substr(?, 1, length(bytes)) = bytes
       FROM (SELECT json_group_array(rowid) AS rowids, json_group_array(_walk_id) AS walks, json_group_array(_key) AS keys,
         CAST(group_concat(_body, ',') AS BLOB) AS bytes FROM ${table}
         WHERE rowid >= ? AND rowid < ifnull((SELECT rowid FROM ${table} WHERE rowid >= ? ORDER BY rowid LIMIT 1 OFFSET ?), ${BEYOND_ALL_ROWIDS}))`,
    )
    .raw();
  const bodyOf = prepareBody(connection, job);
  const readBody = (rowid: number) => String(bodyOf.get(rowid));
  const beginsWith = (text: Buffer, rowid: number) => {
    const body = bodyOf.get(rowid);
    if (body === undefined) return false;
    const bytes = Buffer.from(body);
    return text.subarray(0, bytes.length).equals(bytes);
  };

  return (last: number, count: number, text: Buffer): StoredRun | undefined => {
    const from = [last, last + 1].find((rowid) => beginsWith(text, rowid));
    if (from === undefined) return undefined;
    // Compared where they are: each blob of so many bytes would hasten V8's next look at its whole heap.
    const [rowids, walkIds, keys, bytes, isSame] = run.get(text, from, from, count) as RunColumns;
    if (bytes === null || !isSame) return undefined;
    const walks = JSON.parse(walkIds) as number[];
    const keysOfRun = JSON.parse(keys) as string[];
    const state = tableState();
    const rows = (JSON.parse(rowids) as number[]).map((rowid, at) => {
      const stored = { rowid, walkId: walks[at] as number, tableState: state };
      return new RowOfRun(keysOfRun[at] as string, stored, readBody);
    });
    return { rows, bytes };
  };
}

/** A class, since there are many, and hardly anybody asks for their values. */
class RowOfRun implements Row {
  readonly key: string;
  readonly stored: RowRef & { tableState: number };
  readonly #read: (rowid: number) => string;

  constructor(key: string, stored: RowOfRun['stored'], read: (rowid: number) => string) {
    this.key = key;
    this.stored = stored;
    this.#read = read;
  }

  get values() {
    return { _body: this.#read(this.stored.rowid) };
  }
}
