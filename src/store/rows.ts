/**
 * Compares and writes the rows of one dataset. An unchanged row writes nothing, nor does one whose JSON is only spelled
 * differently. A change in volatile columns alone is staged (`staged-values.ts`) and makes no version. Any other row is upserted.
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

/** A row beside the stored one of its key. An unchanged row has no values, since it may wait in memory for its commit. */
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
  // In the order of the table: the fields, then the mirror's own columns, then what is kept as received.
  const bindToWrite = binder(names, names.filter((name) => !name.startsWith('_')).length);
  let lastWasNew = false;

  const find = (key: string) => findRef.get(key);
  const isRewritten = (rowid: number, { _body: body }: RowValues) =>
    bodyOf !== undefined && saysTheSame(String(bodyOf.get(rowid)), String(body));

  return {
    find,
    /** Of a row that was refused, and so is still upstream. */
    endHold: heldRows.endHold,
    holdsAny: () => heldRows.count() > 0,
    compare({ key, values }: Row): ComparedRow {
      // New rows mostly come in a row, and a missing key is found out in a tenth of a comparison's time.
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
      // A row that was removed and is back keeps the time when it was first seen.
      const firstSeenAt = (change === 'new' && findFirstSeen?.get(key)) || now;
      const { lastInsertRowid } = upsert.run(bindToWrite(values, key, firstSeenAt, now, walkId));
      const rowid = ref?.rowid ?? Number(lastInsertRowid);
      // Behind the trigger that keeps the superseded version, which reads the old values.
      volatile?.put(rowid, values);
      return rowid;
    },
  };
}

/**
 * Puts values in their positions, always in the same array, since a row has dozens of columns.
 * @param before how many of them precede the further values; all, unless given.
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

/** Finds when a new row was first seen, if it was removed before. */
function prepareFirstSeen(connection: Connection, history: string) {
  // Rows are removed only at the end of a walk: without any in the history, none comes back in this one.
  if (!connection.prepare(`SELECT 1 FROM ${quoted(history)} LIMIT 1`).get()) return undefined;
  return connection
    .prepare<[string], string>(`SELECT _first_seen_at FROM ${quoted(history)} WHERE _key = ? LIMIT 1`)
    .pluck();
}

const prepareBody = (connection: Connection, job: Job) =>
  connection.prepare<[number], string>(`SELECT _body FROM ${quoted(job.rows)} WHERE rowid = ?`).pluck();

/** Parsing would lose the last digits of such a number. */
const longInteger = /[^.\d]\d{16}/;

/** An escape in a name, or what looks like one: not all readers find a name with escapes. */
const escapedName = /\\.[^"\\]*"\s*:/;

/** Names, and strings that look like the end of one. */
const memberNames = /"\s*:/g;

/** Whether two texts of JSON surely say the same to every reader: none does that names a member twice or escapes a name. */
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

/** The greatest rowid. */
const BEYOND_ALL_ROWIDS = '9223372036854775807';

/**
 * Returns what compares a page with the table as text. It finds at most `count` rows from the rowid `last` on, or from the next
 * one; undefined where `text`, in UTF-8, does not begin with their bodies, joined by commas.
 */
export function openStoredRows(connection: Connection, job: Job) {
  const table = quoted(job.rows);
  // In another order than that of the rowids, the bodies would not match the text.
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
    // Compared by SQLite: a blob of so many bytes would hasten V8's next full collection.
    const [rowids, walkIds, keys, bytes, isSame] = run.get(text, from, from, count) as RunColumns;
    if (bytes === null || !isSame) return undefined;
    const walks = JSON.parse(walkIds) as number[];
    const keysOfRun = JSON.parse(keys) as string[];
    const rows = (JSON.parse(rowids) as number[]).map((rowid, at) => {
      const stored = { rowid, walkId: walks[at] as number };
      return new RowOfRun(keysOfRun[at] as string, stored, readBody);
    });
    return { rows, bytes };
  };
}

/** A class, since there are many, whose values are hardly ever read. */
class RowOfRun implements Row {
  readonly key: string;
  readonly stored: RowRef;
  readonly #read: (rowid: number) => string;

  constructor(key: string, stored: RowRef, read: (rowid: number) => string) {
    this.key = key;
    this.stored = stored;
    this.#read = read;
  }

  get values() {
    return { _body: this.#read(this.stored.rowid) };
  }
}
