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
import { absentFrom, uniteNumbers, type WalkPages } from './pages.ts';
import { quoted } from './sql.ts';

/** What a whole walk has met, to find the key in it. */
export type RowsOfWalk = {
  walkId: number;
  pages: WalkPages;
  /** Numbers of rows that came first where rows were read again. */
  shownAgain: ReadonlySet<number>;
  /** Rows with greater numbers were new to the mirror. */
  newAbove: number;
  /** Rows that lack the field of the key. */
  withoutKeyField: number;
  /** How many rows the API says there are; null where it does not. */
  total: number | null;
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

function readRowsOfWalk(connection: Connection, job: Job, { pages, shownAgain }: RowsOfWalk): RowOfWalk[] {
  const find = bodyReader(connection, job);
  return pages.numbers().flatMap((number) => {
    const body = find(number);
    return body === undefined ? [] : [{ ...keyedRow(body), isShownAgain: shownAgain.has(number) }];
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

function leaveOut(
  connection: Connection,
  job: Job,
  { leftOut, ages }: DiscoveredShape,
  { walkId, pages, newAbove, total }: RowsOfWalk,
): readonly FieldPath[] {
  const find = bodyReader(connection, job);
  const came = pages.numbers().filter((number) => number > newAbove);
  if (came.length <= pages.size * MOST_ROWS) return leftOut;
  const { sql, range } = absentFrom(walkId);
  const missing = connection
    .prepare<[typeof range], string>(`SELECT _body FROM ${quoted(job.rows)} WHERE ${sql}`)
    .pluck()
    .all(range);
  if (missing.length < came.length * MOST_ROWS) return leftOut;
  const read = (bodies: readonly (string | undefined)[]) =>
    bodies.flatMap((body) => (body === undefined ? [] : [keyedRow(body)]));
  // A row whose age moved within the walk came several times.
  const different = Math.min(came.length, total ?? came.length);
  const fields = fieldsToLeaveOut(read(came.map(find)), read(missing), [...ages, ...leftOut], different);
  return [...leftOut, ...fields];
}

type StoredRow = KeyedRow & { number: number; key: string; changedAt: string };

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
  const hasChanged = giveKeys(connection, job, keyed, walk);
  if (hasChanged) {
    connection.prepare('UPDATE _datasets SET keys_seq = ? WHERE job = ?').run(takeSeq(), job.name);
  }
  return keyed;
}

/** @returns whether any key has changed. */
function giveKeys(
  connection: Connection,
  job: Job,
  shape: DiscoveredShape,
  walk: RowsOfWalk | undefined,
): boolean {
  const rows = readStoredRows(connection, job);
  const keys = new Map<number, string>();
  const unite = createUniter(connection, job, shape, walk);
  for (const [key, some] of groupBy(rows, (row) => plainKeyOf(row, shape))) {
    // A number and a text alike are one key, unless both are there.
    const texts = groupBy(some, (row) => textKeyOf(row, shape.key ?? []) ?? key);
    for (const [typed, same] of texts.size > 1 ? texts : new Map([[key, some]]))
      for (const [number, own] of uniteSame(same, typed, shape, walk, unite)) keys.set(number, own);
  }
  const changed = rows.filter(({ number, key }) => keys.has(number) && keys.get(number) !== key);
  const update = connection.prepare<[string, number]>(
    `UPDATE ${quoted(job.rows)} SET _key = ? WHERE number = ?`,
  );
  // Two rows may change places.
  for (const { number } of changed) update.run(`\0${number}`, number);
  for (const { number } of changed) update.run(keys.get(number) as string, number);
  const haveVersionsChanged = giveKeysToVersions(connection, job, shape, keys);
  return haveVersionsChanged || changed.length > 0 || rows.some(({ number }) => !keys.has(number));
}

function groupBy<T>(items: readonly T[], keyOfItem: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOfItem(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

function readStoredRows(connection: Connection, job: Job): StoredRow[] {
  return connection
    .prepare<[], { number: number; key: string; changedAt: string; body: string }>(
      `SELECT number, _key AS key, _changed_at AS changedAt, _body AS body FROM ${quoted(job.rows)}`,
    )
    .all()
    .map(({ body, ...stored }) => ({ ...stored, ...keyedRow(body) }));
}

const plainKeyOf = (row: KeyedRow, { key, ages, leftOut }: DiscoveredShape): string =>
  (key && keyOf(row, key)) ?? digestOf(row, [...ages, ...leftOut]);

/** Decides which rows of one key are one row. @returns the keys of those that stay. */
function uniteSame(
  rows: readonly StoredRow[],
  key: string,
  { ages }: DiscoveredShape,
  walk: RowsOfWalk | undefined,
  unite: (earlier: StoredRow, later: StoredRow) => StoredRow,
): [number, string][] {
  const isMet = ({ number }: StoredRow) => walk?.pages.has(number) === true;
  const shown = (row: StoredRow) => (walk?.shownAgain.has(row.number) ? 2 : isMet(row) ? 1 : 0);
  const changedAt = (row: StoredRow) => Date.parse(row.changedAt);
  const [last, ...earlier] = rows.toSorted(
    (one, other) =>
      shown(other) - shown(one) || changedAt(other) - changedAt(one) || other.number - one.number,
  );
  let present = last as StoredRow;
  const apart: [number, string][] = [];
  for (const other of earlier) {
    const digest = digestOf(other, ages);
    // Two rows that the walk has shown, and that differ, are two.
    const areTwo = shown(other) > 0 && shown(present) === 1 && digest !== digestOf(present, ages);
    if (areTwo) apart.push([other.number, `${key}#${digest}`]);
    else present = unite(other, present);
  }
  return [[present.number, key], ...apart];
}

/** Returns what makes one row of two: the earlier becomes a version of the later. Mostly their first number stays. */
function createUniter(
  connection: Connection,
  job: Job,
  { ages }: DiscoveredShape,
  walk: RowsOfWalk | undefined,
) {
  const table = quoted(job.rows);
  const history = quoted(job.versions ?? '');
  const find = connection.prepare<[number], { changedAt: string; walkId: number }>(
    `SELECT _changed_at AS changedAt, _walk_id AS walkId FROM ${table} WHERE number = ?`,
  );
  const remove = connection.prepare<[number]>(`DELETE FROM ${table} WHERE number = ?`);
  const removal = `_row = ? AND _ended_by = 'delete'`;
  const forgetRemoval = connection.prepare<[number]>(`DELETE FROM ${history} WHERE ${removal}`);
  const endByUpdate = connection.prepare<[string, number]>(
    `UPDATE ${history} SET _ended_by = 'update', _valid_to = max(_valid_from, ?) WHERE ${removal}`,
  );
  const handOn = connection.prepare<[number, number]>(`UPDATE ${history} SET _row = ? WHERE _row = ?`);
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
    handOn.run(kept.number, gone.number);
    if (walk) walk.pages.unite(gone.number, kept.number);
    else uniteNumbers(connection, gone.number, kept.number);
    return { ...later, number: kept.number, key: kept.key };
  };
}

/** Gives versions the key of their row; those of a row that is gone, the key that it would have. */
function giveKeysToVersions(
  connection: Connection,
  job: Job,
  shape: DiscoveredShape,
  keys: Map<number, string>,
): boolean {
  const history = quoted(job.versions ?? '');
  const last = connection.prepare<[number], string>(`SELECT _body FROM ${history} WHERE number = ?`).pluck();
  const update = connection.prepare<[string, number]>(`UPDATE ${history} SET _key = ? WHERE number = ?`);
  // The latest first: what a row was when it was removed decides.
  const versions = connection
    .prepare<[], { number: number; row: number; key: string }>(
      `SELECT number, _row AS row, _key AS key FROM ${history} ORDER BY number DESC`,
    )
    .all();
  let changed = false;
  for (const { number, row, key } of versions) {
    const own = keys.get(row) ?? plainKeyOf(keyedRow(last.get(number) ?? '{}'), shape);
    keys.set(row, own);
    if (own === key) continue;
    update.run(own, number);
    changed = true;
  }
  return changed;
}
