/**
 * The keys of a list without a contract. They are found over the rows of a whole walk, and found anew where two different rows turned
 * out to have one. To get another key makes no version and no removal.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Job } from '../job.ts';
import type { DiscoveredShape, FieldPath } from '../validate/checked.ts';
import {
  digestOf,
  fieldsToLeaveOut,
  findKey,
  identify,
  type KeyedRow,
  keyedRow,
  keyOf,
  type RowOfWalk,
  textKeyOf,
} from '../validate/keys.ts';
import type { Connection } from './connection.ts';
import { nthKey } from './matching.ts';
import { absentFrom, type IntoOf, uniteNumbers, type WalkPages } from './pages.ts';
import { prepareEndHold } from './rows.ts';
import { quoted } from './sql.ts';

/** What a whole walk has met, to find the key in it. */
export type RowsOfWalk = {
  walkId: number;
  pages: WalkPages;
  /** Numbers of rows that were new where rows were read again. */
  newWhereReread: ReadonlySet<number>;
  /** Rows with greater numbers were new to the mirror. */
  newAbove: number;
  /** Rows that lack the field of the key. */
  withoutKeyField: number;
  /** Up to where the list was read, and how many of its places showed a row that was new to the mirror. */
  places: { to: number; withNew: number };
  /** How many rows came in while it was read, at most; null where the API does not say how many there are. */
  cameIn: number | null;
};

/** What a whole walk says of the key. @param keyIsTold the user has said it, so it is not looked for. */
export function keyOfWalk(
  connection: Connection,
  job: Job,
  shape: DiscoveredShape,
  walk: RowsOfWalk,
  keyIsTold: boolean,
): DiscoveredShape {
  if (keyIsTold || walk.pages.size === 0) return { ...shape, isKeyContradicted: false };
  const isLacking = walk.withoutKeyField > walk.pages.size / 2;
  if (shape.key !== null && !shape.isKeyContradicted && !isLacking) return shape;
  const rows = readRowsOfWalk(connection, job, walk);
  const doubted = doubt(shape, rows);
  const key = findKey(
    rows,
    doubted.map((one) => one.key),
  );
  const found = { ...shape, key, doubted, hasLookedForKey: true, isKeyContradicted: false };
  return key === null ? { ...found, leftOut: leaveOut(connection, job, found, walk) } : found;
}

/** Whole walks in a row over which a key has to be unique again. */
const WALKS_TO_BELIEVE = 3;

/** The keys that are not believed for now: one that two rows shared would else come back, and go, with each such row. */
function doubt({ key, isKeyContradicted, doubted }: DiscoveredShape, rows: readonly RowOfWalk[]) {
  const waiting = doubted
    .map((one) => ({ ...one, calmWalks: identify(rows, one.key) ? one.calmWalks + 1 : 0 }))
    .filter(({ calmWalks }) => calmWalks < WALKS_TO_BELIEVE);
  return isKeyContradicted && key ? [...waiting, { key, calmWalks: 0 }] : waiting;
}

function readRowsOfWalk(
  connection: Connection,
  job: Job,
  { pages, newWhereReread }: RowsOfWalk,
): RowOfWalk[] {
  const find = bodyReader(connection, job);
  const numbers = pages.byPage().flat();
  return numbers.flatMap((number) => {
    const body = find(number);
    return body === undefined ? [] : [{ ...keyedRow(body), isNewWhereReread: newWhereReread.has(number) }];
  });
}

const bodyReader = (connection: Connection, job: Job) => {
  const find = connection
    .prepare<[number], string>(`SELECT _body FROM ${quoted(job.rows)} WHERE number = ?`)
    .pluck();
  return (number: number) => find.get(number);
};

/** So many of the rows must be new, and as many missing, for a field to be looked for that tells them apart in vain. */
const MOST_ROWS = 0.5;
/** So many rows come in while a list is read, if nothing says how many. */
const FEW_ROWS = 0.1;

function leaveOut(
  connection: Connection,
  job: Job,
  { leftOut, ages }: DiscoveredShape,
  { walkId, pages, newAbove, places, cameIn }: RowsOfWalk,
): readonly FieldPath[] {
  // A row whose age moved within the walk came several times, but stands at one place.
  if (places.withNew <= places.to * MOST_ROWS) return leftOut;
  const { sql, range } = absentFrom(walkId);
  const missing = connection
    .prepare<[typeof range], string>(`SELECT _body FROM ${quoted(job.rows)} WHERE ${sql}`)
    .pluck()
    .all(range);
  if (missing.length < places.withNew * MOST_ROWS) return leftOut;
  const find = bodyReader(connection, job);
  const read = (bodies: readonly (string | undefined)[]) =>
    bodies.flatMap((body) => (body === undefined ? [] : [keyedRow(body)]));
  const came = pages.byPage().map((numbers) => read(numbers.filter((number) => number > newAbove).map(find)));
  const without = [...ages, ...leftOut];
  const least = places.withNew - (cameIn ?? places.withNew * FEW_ROWS);
  const fields = fieldsToLeaveOut(came, read(missing), without, places.withNew, least);
  return [...leftOut, ...fields];
}

type StoredRow = KeyedRow & {
  number: number;
  key: string;
  changedAt: string;
  isHeld: 0 | 1;
  /** By the walk that has ended. `again`: first where rows were read again. */
  shown: 'never' | 'once' | 'again';
  /** The page that showed it, and its place in the order of all; below 0 where none did. */
  page: number;
  at: number;
};

/**
 * Gives all rows the keys of this shape, if those of the table are others. Call it in a transaction.
 * @param ages no part of a digest.
 * @param takeSeq takes a `seq`; called if any key has changed.
 * @param walk the walk that has ended: a row that it met goes before one that it did not.
 * @returns the shape by which the table has its keys now.
 */
export function ensureKeys(
  connection: Connection,
  job: Job,
  before: DiscoveredShape,
  shape: DiscoveredShape,
  ages: readonly FieldPath[],
  takeSeq: () => number,
  walk?: RowsOfWalk,
): DiscoveredShape {
  const keyed = { ...shape, ages };
  const isSame =
    isDeepStrictEqual(shape.key, before.key) &&
    isDeepStrictEqual([ages, shape.leftOut], [before.ages, before.leftOut]) &&
    !before.isKeyContradicted;
  if (isSame) return keyed;
  // A row that came several times while a field told its times apart is one row.
  const told = isDeepStrictEqual(shape.leftOut, before.leftOut) ? ages : [...ages, ...shape.leftOut];
  const hasChanged = giveKeys(connection, job, keyed, told, walk);
  if (hasChanged) keepKeysSeq(connection, job, takeSeq());
  return keyed;
}

/** Notes from which `seq` on the rows have their present keys: who has followed them begins anew. */
export function keepKeysSeq(connection: Connection, { name }: Job, seq: number): void {
  connection.prepare('UPDATE _datasets SET keys_seq = ? WHERE job = ?').run(seq, name);
}

/**
 * @param alike two rows that the walk has shown are two where they differ in more than these fields.
 * @returns whether any key has changed.
 */
function giveKeys(
  connection: Connection,
  job: Job,
  shape: DiscoveredShape,
  alike: readonly FieldPath[],
  walk: RowsOfWalk | undefined,
): boolean {
  const rows = readStoredRows(connection, job, walk);
  const keys = new Map<number, string>();
  /** Numbers of rows that are another one, by that. */
  const united = new Map<number, number>();
  const unite = createUniter(connection, job, shape, united);
  for (const [key, some] of groupBy(rows, (row) => plainKeyOf(row, shape))) {
    // A number and a text alike are one key, unless both are there.
    const texts = groupBy(some, (row) => textKeyOf(row, shape.key ?? []) ?? key);
    for (const [typed, same] of texts.size > 1 ? texts : new Map([[key, some]]))
      for (const [nth, those] of groupByNth(same, shape))
        for (const [number, own] of uniteSame(those, nthKey(typed, nth), alike, unite)) keys.set(number, own);
  }
  const intoOf = lastOf(united);
  if (walk) walk.pages.unite(job.name, united.keys(), intoOf);
  else uniteNumbers(connection, job.name, intoOf);
  const changed = rows.filter(({ number, key }) => keys.has(number) && keys.get(number) !== key);
  const update = connection.prepare<[string, number]>(
    `UPDATE ${quoted(job.rows)} SET _key = ? WHERE number = ?`,
  );
  // Two rows may change places.
  for (const { number } of changed) update.run(`\0${number}`, number);
  for (const { number } of changed) update.run(keys.get(number) as string, number);
  const haveVersionsChanged = giveKeysToVersions(connection, job, shape, keys, intoOf);
  return haveVersionsChanged || changed.length > 0 || united.size > 0;
}

/** Returns what follows a number to the row that it is now. */
function lastOf(united: ReadonlyMap<number, number>): IntoOf {
  return (number) => {
    let last = number;
    for (let next = united.get(last); next !== undefined; next = united.get(last)) last = next;
    return last;
  };
}

/** Rows that differ in their ages alone are told apart by their place on the page that showed them, or as they were before. */
function groupByNth(
  rows: readonly StoredRow[],
  { ages, leftOut }: DiscoveredShape,
): Map<number, StoredRow[]> {
  const counts = new Map<string, number>();
  const keys = new Set(rows.map(({ key }) => key));
  const nthOf = new Map<StoredRow, number>();
  for (const row of rows.length > 1 ? rows.toSorted((one, other) => one.at - other.at) : []) {
    const alike = `${row.page} ${digestOf(row, [...ages, ...leftOut])}`;
    const [, key = '', before] = /^(.*)#(\d{1,4})$/s.exec(row.key) ?? [];
    const nth = row.page >= 0 ? (counts.get(alike) ?? 0) + 1 : keys.has(key) ? Number(before) : 1;
    counts.set(alike, nth);
    nthOf.set(row, nth);
  }
  return groupBy(rows, (row) => nthOf.get(row) ?? 1);
}

function groupBy<T, Key>(items: readonly T[], keyOfItem: (item: T) => Key): Map<Key, T[]> {
  const groups = new Map<Key, T[]>();
  for (const item of items) {
    const key = keyOfItem(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

function readStoredRows(connection: Connection, job: Job, walk: RowsOfWalk | undefined): StoredRow[] {
  const shown = (number: number) =>
    walk?.newWhereReread.has(number) ? 'again' : walk?.pages.has(number) ? 'once' : 'never';
  const places = new Map<number, { page: number; at: number }>();
  for (const [page, numbers] of walk?.pages.byPage().entries() ?? [])
    for (const number of numbers) places.set(number, { page, at: places.size });
  const nowhere = { page: -1, at: -1 };
  return connection
    .prepare<[], Pick<StoredRow, 'number' | 'key' | 'changedAt' | 'isHeld' | 'body'>>(
      `SELECT number, _key AS key, _changed_at AS changedAt, _held_since IS NOT NULL AS isHeld, _body AS body
       FROM ${quoted(job.rows)}`,
    )
    .all()
    .map(({ body, ...stored }) => ({
      ...{ ...stored, ...keyedRow(body), shown: shown(stored.number) },
      ...(places.get(stored.number) ?? nowhere),
    }));
}

const plainKeyOf = (row: KeyedRow, { key, ages, leftOut }: DiscoveredShape): string =>
  (key && keyOf(row, key)) ?? digestOf(row, [...ages, ...leftOut]);

const timesShown = { again: 2, once: 1, never: 0 };

/** Decides which rows of one key are one row. @returns the keys of those that stay. */
function uniteSame(
  rows: readonly StoredRow[],
  key: string,
  alike: readonly FieldPath[],
  unite: (earlier: StoredRow, later: StoredRow) => StoredRow,
): [number, string][] {
  const changedAt = (row: StoredRow) => Date.parse(row.changedAt);
  const [last, ...earlier] = rows.toSorted(
    (one, other) =>
      timesShown[other.shown] - timesShown[one.shown] ||
      one.isHeld - other.isHeld ||
      changedAt(other) - changedAt(one) ||
      other.number - one.number,
  );
  let present = last as StoredRow;
  const apart: [number, string][] = [];
  for (const other of earlier) {
    const digest = digestOf(other, alike);
    // Two rows that the walk has shown, and that differ, are two.
    const areTwo = other.shown !== 'never' && present.shown === 'once' && digest !== digestOf(present, alike);
    if (areTwo) apart.push([other.number, `${key}#${digest}`]);
    else present = { ...unite(other, present), shown: other.shown === 'once' ? 'once' : present.shown };
  }
  return [[present.number, key], ...apart];
}

/**
 * Returns what makes one row of two: the earlier becomes a version of the later. Mostly their first number stays.
 * @param united gets the other.
 */
function createUniter(
  connection: Connection,
  job: Job,
  { ages }: DiscoveredShape,
  united: Map<number, number>,
) {
  const table = quoted(job.rows);
  const history = quoted(job.versions ?? '');
  const find = connection.prepare<[number], { changedAt: string; walkId: number }>(
    `SELECT _changed_at AS changedAt, _walk_id AS walkId FROM ${table} WHERE number = ?`,
  );
  const endHold = prepareEndHold(connection, job);
  const remove = connection.prepare<[number]>(`DELETE FROM ${table} WHERE number = ?`);
  const removal = `_row = ? AND _ended_by = 'delete'`;
  const forgetRemoval = connection.prepare<[number]>(`DELETE FROM ${history} WHERE ${removal}`);
  const endByUpdate = connection.prepare<[string, number]>(
    `UPDATE ${history} SET _ended_by = 'update', _valid_to = max(_valid_from, ?) WHERE ${removal}`,
  );
  const respell = connection.prepare<[string, number]>(`UPDATE ${table} SET _body = ? WHERE number = ?`);
  // The trigger keeps the version before.
  const change = connection.prepare<[string, string, number, number]>(
    `UPDATE ${table} SET _body = ?, _changed_at = ?, _walk_id = ? WHERE number = ?`,
  );
  return (earlier: StoredRow, later: StoredRow): StoredRow => {
    const isSame = digestOf(earlier, ages) === digestOf(later, ages);
    // A change to the time of the row before would make no version of it.
    const isFirstKept = isSame || Date.parse(earlier.changedAt) < Date.parse(later.changedAt);
    const [kept, gone] = isFirstKept && earlier.number < later.number ? [earlier, later] : [later, earlier];
    const content = find.get(later.number);
    // The trigger takes that for the end of a row.
    remove.run(gone.number);
    if (isSame || gone === later) forgetRemoval.run(gone.number);
    else endByUpdate.run(later.changedAt, gone.number);
    if (isSame) respell.run(later.body, kept.number);
    else if (gone === later && content)
      change.run(later.body, content.changedAt, content.walkId, kept.number);
    // A row is missing only where it is so as both.
    if (!(earlier.isHeld && later.isHeld)) endHold(kept.number);
    united.set(gone.number, kept.number);
    return { ...later, number: kept.number, key: kept.key };
  };
}

/** Gives versions number and key of their row; those of a row that is gone, the key that it would have. */
function giveKeysToVersions(
  connection: Connection,
  job: Job,
  shape: DiscoveredShape,
  keys: Map<number, string>,
  intoOf: IntoOf,
): boolean {
  const history = quoted(job.versions ?? '');
  const last = connection.prepare<[number], string>(`SELECT _body FROM ${history} WHERE number = ?`).pluck();
  const update = connection.prepare<[number, string, number]>(
    `UPDATE ${history} SET _row = ?, _key = ? WHERE number = ?`,
  );
  // The latest first: what a row was when it was removed decides.
  const versions = connection
    .prepare<[], { number: number; row: number; key: string }>(
      `SELECT number, _row AS row, _key AS key FROM ${history} ORDER BY number DESC`,
    )
    .all();
  let changed = false;
  for (const { number, row, key } of versions) {
    const into = intoOf(row);
    const own = keys.get(into) ?? plainKeyOf(keyedRow(last.get(number) ?? '{}'), shape);
    keys.set(into, own);
    if (own === key && into === row) continue;
    update.run(into, own, number);
    changed = true;
  }
  return changed;
}
