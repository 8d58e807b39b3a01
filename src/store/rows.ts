/**
 * The rows of one dataset, compared with what came and written. An unchanged row writes nothing, nor does one whose JSON is only
 * spelled differently. Ages and volatile values are kept current without a version. Of any other change a trigger keeps the version before.
 */

import { getTableColumns, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { storedName } from '../base/properties.ts';
import { type Job, type RowValues, type SqlValue, stableColumnsOf, versioned } from '../job.ts';
import type { FieldPath, Row } from '../validate/checked.ts';
import { digestOf, keyedRow } from '../validate/keys.ts';
import { type Connection, valueIn } from './connection.ts';
import { quoted } from './sql.ts';
import { noteUnversioned, openVolatile } from './volatile.ts';

/** `aged`: nothing but ages and volatile values differs. */
type RowChange = 'changed' | 'aged' | 'none';

/** A stored row beside one that came under its key. */
export type Comparison = {
  number: number;
  /** The walk that changed it last. */
  walkId: number;
  isHeld: boolean;
  change: RowChange;
  /** What may have ages, as JSON: the body of a row without a contract, else the properties that the contract does not list. */
  unspecified: string | null;
};

export type Table = ReturnType<typeof openTable>;

/** @param ages those of `_body` where there is no contract, else of `extra`. */
export function openTable(connection: Connection, job: Job, ages: readonly FieldPath[]) {
  const table = quoted(job.rows);
  const names = stableColumnsOf(job);
  const unspecifiedColumn = job.contract ? 'extra' : '_body';
  const volatile = openVolatile(connection, job);
  const note = noteUnversioned(connection, job.name);
  const compareStored = prepareComparison(connection, job, unspecifiedColumn, volatile);
  const insert = prepareInsert(connection, job, names);
  const update = prepareUpdate(connection, job, names);
  const replaceUnspecified = connection.prepare<[SqlValue, number]>(
    `UPDATE ${table} SET ${quoted(unspecifiedColumn)} = ? WHERE number = ?`,
  );
  const endHold = prepareEndHold(connection, job);
  const findNumber = connection.prepare<[string], { number: number; walkId: number; isHeld: 0 | 1 }>(
    `SELECT number, _walk_id AS walkId, _held_since IS NOT NULL AS isHeld FROM ${table} WHERE _key = ?`,
  );
  const findFirstSeen = prepareFirstSeen(connection, job.history);
  const valuesOf = (values: RowValues) => names.map((name) => values[name] ?? null);

  return {
    /** The row under a key, and the walk that changed it last. */
    find: (key: string) => findNumber.get(key),
    /** Compares a row with the stored one under its key, or under another key; undefined where there is none. */
    compare({ values }: Row, key: string): Comparison | undefined {
      const found = compareStored(values, key);
      if (!found) return undefined;
      const [number, walkId, isHeld, others, unspecified, hasAged] = found;
      const came = (values[unspecifiedColumn] ?? null) as string | null;
      const ofUnspecified = unspecified === came ? 'none' : differenceOf(unspecified, came, ages);
      const change =
        others || ofUnspecified === 'changed'
          ? 'changed'
          : hasAged || ofUnspecified === 'aged'
            ? 'aged'
            : 'none';
      return { number, walkId, isHeld: isHeld === 1, change, unspecified };
    },
    /** Writes a new row. @returns its number. */
    insert(key: string, values: RowValues, walkId: number, now: string): number {
      // A row that was removed and is back keeps the time when it was first seen.
      const firstSeenAt = findFirstSeen?.get(key) ?? now;
      const number = Number(insert.run([...valuesOf(values), key, firstSeenAt, now, walkId]).lastInsertRowid);
      volatile?.put(number, values);
      return number;
    },
    /** Writes another version of a row. */
    update(number: number, values: RowValues, walkId: number, now: string): void {
      update.run([...valuesOf(values), now, walkId], number);
      // Behind the trigger that keeps the version before, which reads its values.
      volatile?.put(number, values);
      if (volatile?.hasStaged()) volatile.stage(number, values);
    },
    /** Keeps current what has aged in a row. */
    keepCurrent({ number, unspecified }: Comparison, values: RowValues): void {
      if (unspecified !== (values[unspecifiedColumn] ?? null)) {
        replaceUnspecified.run(values[unspecifiedColumn] ?? null, number);
        note();
      }
      volatile?.stage(number, values);
    },
    /** A row that this walk has met before may be as it is stored, though other values are staged: these are replaced. */
    replaceStaged(number: number, values: RowValues): void {
      if (volatile?.hasStaged()) volatile.stage(number, values);
    },
    /** A page has shown the row. */
    endHold(number: number): void {
      endHold(number);
      note();
    },
    /** Writes the volatile values that are staged. */
    writeStaged: () => volatile?.writeStaged(),
  };
}

/** Returns what ends the hold of a row: it is there. */
export function prepareEndHold(connection: Connection, { rows }: Job): (number: number) => void {
  const update = connection.prepare<[number]>(
    `UPDATE ${quoted(rows)} SET _held_since = NULL, _held_reason = NULL WHERE number = ?`,
  );
  return (number) => void update.run(number);
}

/**
 * Keeps row numbers from being given twice: SQLite counts on from the present rows of a table that a migration has rebuilt, and versions
 * and the order of a proof know removed ones by greater numbers.
 */
export function ensureNumbers(connection: Connection, { name, rows, versions }: Job): void {
  if (versions === null) return;
  const given = valueIn<number>(
    connection,
    `SELECT max(number) FROM (SELECT max(_row) AS number FROM ${quoted(versions)} WHERE _ended_by = 'delete' UNION ALL SELECT * FROM (
       SELECT last_number FROM walks WHERE job = ? AND order_seq IS NOT NULL ORDER BY order_seq DESC LIMIT 1))`,
    name,
  );
  const counted = valueIn<number>(connection, 'SELECT seq FROM sqlite_sequence WHERE name = ?', rows);
  if (given === undefined || (counted ?? 0) >= given) return;
  const count =
    counted === undefined
      ? 'INSERT INTO sqlite_sequence (seq, name) VALUES (?, ?)'
      : 'UPDATE sqlite_sequence SET seq = ? WHERE name = ?';
  connection.prepare<[number, string]>(count).run(given, rows);
}

/** Whether two texts of JSON differ, and in more than their ages. */
export function differenceOf(
  one: string | null,
  other: string | null,
  ages: readonly FieldPath[],
): RowChange {
  if (one === null || other === null) return one === other ? 'none' : 'changed';
  const [before, after] = [keyedRow(one), keyedRow(other)];
  // Where one has more digits than a number holds, both are compared as they are spelled.
  const inexact = before.inexact || after.inexact;
  const isEqual = (without: readonly FieldPath[]) =>
    digestOf({ ...before, inexact }, without) === digestOf({ ...after, inexact }, without);
  if (isEqual([])) return 'none';
  return ages.length > 0 && isEqual(ages) ? 'aged' : 'changed';
}

type Found = [
  number: number,
  walkId: number,
  isHeld: 0 | 1,
  others: 0 | 1,
  unspecified: string | null,
  hasAged: 0 | 1,
];

function prepareComparison(
  connection: Connection,
  job: Job,
  unspecifiedColumn: string,
  volatile: ReturnType<typeof openVolatile>,
) {
  const names = stableColumnsOf(job).filter((name) => name !== unspecifiedColumn && name !== '_fetched_at');
  const stored = names.map((name) => `stored.${quoted(storedName(name))}`);
  const differ = names.length > 0 ? `(${stored}) IS NOT (${names.map(() => '?')})` : '0';
  const find = connection
    .prepare<SqlValue[], Found>(
      `SELECT stored.number, _walk_id, _held_since IS NOT NULL, ${differ}, stored.${quoted(unspecifiedColumn)}, ${volatile?.differ ?? '0'}
       FROM ${quoted(job.rows)} AS stored WHERE _key = ?`,
    )
    .raw();
  const bound = [...names, ...(volatile?.columns ?? [])];
  // Spread, they cost a tenth less.
  return (values: RowValues, key: string) => find.get(...bound.map((name) => values[name] ?? null), key);
}

/** Takes the values of `names`, then those of `versioned`. The SQL is drizzle's; bound by position, it costs a tenth less a row. */
function prepareInsert(connection: Connection, job: Job, names: readonly string[]) {
  const written = [...names.map(storedName), ...versioned];
  const { rows } = job.tables;
  const { sql: text } = drizzle(connection).insert(rows).values(placeholders(written)).toSQL();
  const insert = connection.prepare<[SqlValue[]]>(text);
  const inOrder = orderOf(job, written);
  return { run: (values: SqlValue[]) => insert.run(inOrder(values)) };
}

/** Takes the values of `names`, the time and the walk of the change, and the number of the row. */
function prepareUpdate(connection: Connection, job: Job, names: readonly string[]) {
  const written = [...names.map(storedName), '_changed_at', '_walk_id'];
  const { rows } = job.tables;
  const { sql: text } = drizzle(connection)
    .update(rows)
    .set(placeholders(written))
    .where(sql`number = ${sql.placeholder('number')}`)
    .toSQL();
  const update = connection.prepare<[SqlValue[]]>(text);
  const inOrder = orderOf(job, written);
  return { run: (values: SqlValue[], number: number) => update.run([...inOrder(values), number]) };
}

const placeholders = (columns: readonly string[]) =>
  Object.fromEntries(columns.map((name) => [name, sql.placeholder(name)])) as never;

/** Puts values of these columns in the order of the table, in which drizzle names them. */
function orderOf({ tables }: Job, columns: readonly string[]): (values: SqlValue[]) => SqlValue[] {
  const places = Object.keys(getTableColumns(tables.rows))
    .map((name) => columns.indexOf(name))
    .filter((at) => at >= 0);
  return (values) => places.map((at) => values[at] ?? null);
}

/** Finds when a new row was first seen, if it was removed before. */
function prepareFirstSeen(connection: Connection, history: string | null) {
  // Rows are removed only at the end of a walk: without any in the history, none comes back in this one.
  if (history === null || !connection.prepare(`SELECT 1 FROM ${quoted(history)} LIMIT 1`).get())
    return undefined;
  return connection
    .prepare<[string], string>(`SELECT _first_seen_at FROM ${quoted(history)} WHERE _key = ? LIMIT 1`)
    .pluck();
}
