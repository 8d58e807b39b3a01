/** Making a table there equal to that of the mirror: counts and digests say whether it is, a stage is loaded beside it and put in its place. */

import { Failure } from '../../base/errors.ts';
import { reportingRows } from '../../base/progress.ts';
import { count, number } from '../../output/numbers.ts';
import { isHeldColumn } from '../../reading/columns.ts';
import { type Connection, quoted } from '../../store/read.ts';
import type { Postgres } from './client.ts';
import type { Table } from './tables.ts';
import { tooWideFor, type Unheld } from './unheld.ts';
import {
  copyField,
  digestOf,
  digestSql,
  digestTextSql,
  type SentText,
  type StoredValue,
  textMakerOf,
} from './values.ts';

/** Both sides: the mirror at one moment, and Postgres in a transaction. */
export type Sides = {
  readonly postgres: Postgres;
  readonly connection: Connection;
  /** Rows that Postgres cannot hold are sent and compared nowhere; they are noted here, and values that it cannot hold. */
  readonly unheld: Unheld;
};

/** A table that differs: how many rows it has on each side. Where both have as many, some have other values. */
export type TableDifference = { table: string; mirrored: number; shipped: number };

/** Undefined where counts and digests are equal. What is held is no part of them. */
export async function compareTable(sides: Sides, table: Table): Promise<TableDifference | undefined> {
  const here = digestHere(sides, table);
  const there = await digestThere(sides.postgres, table, table.name);
  if (here.rows === there.rows && here.sum === there.sum) return undefined;
  return { table: table.name, mirrored: here.rows, shipped: there.rows };
}

/** How many rows there are, and the sum of their digests. */
type Digest = { rows: number; sum: bigint };

function digestHere(sides: Sides, table: Table): Digest {
  const isDigested = table.columns.map(digested);
  const types = table.columns.filter(digested).map(({ type }) => type);
  const digest = { rows: 0, sum: 0n };
  for (const { texts } of sentRows(sides, table)) {
    digest.rows += 1;
    digest.sum += digestOf(
      texts.filter((_, at) => isDigested[at]),
      types,
    );
  }
  return digest;
}

/** @param of the table, or the stage. */
async function digestThere(postgres: Postgres, table: Table, of: string): Promise<Digest> {
  const [found] = await postgres.query<{ rows: string; sum: string | null }>(
    `SELECT count(*) AS rows, sum(${digestOfRow(table)}) AS sum FROM ${quoted(of)} WHERE ${ofJob(table)}`,
  );
  return { rows: Number(found?.rows), sum: BigInt(found?.sum ?? 0) };
}

const digested = ({ name }: { name: string }) => !isHeldColumn(name);

/** @param of in which the columns lie, where they need to be told apart. */
const digestOfRow = ({ columns }: Table, of = '') =>
  digestSql(columns.filter(digested).map(({ name, type }) => digestTextSql(`${of}${quoted(name)}`, type)));

const ofJob = ({ job }: Table) => (job === undefined ? 'true' : `job = '${job}'`);

const listed = ({ columns }: Table) => columns.map(({ name }) => quoted(name)).join(', ');

const keyOf = ({ key }: Table) => key.map(quoted).join(', ');

/**
 * Loads all rows beside those that are there, and puts them in their place: readers see the ones or the others. Rows that are equal stay.
 * @throws Failure `incomplete` where both sides still differ: something else changes rows there.
 */
export async function replaceRows(sides: Sides, table: Table): Promise<number> {
  const { postgres } = sides;
  const staged = await loadStage(sides, table);
  const isSame = table.key.map((name) => `stage.${quoted(name)} = kept.${quoted(name)}`).join(' AND ');
  await postgres.run(
    `DELETE FROM ${quoted(table.name)} AS kept WHERE ${ofJob(table)} AND NOT EXISTS (SELECT 1 FROM stage WHERE ${isSame})`,
  );
  await postgres.run(
    `${putSql(table)} WHERE ${digestOfRow(table, 'kept.')} <> ${digestOfRow(table, 'excluded.')}${heldDiffers(table)}`,
  );
  const [loaded, kept] = [
    await digestThere(postgres, table, 'stage'),
    await digestThere(postgres, table, table.name),
  ];
  if (loaded.rows !== kept.rows || loaded.sum !== kept.sum)
    throw refusedRows(postgres, table, 'still differs after it was loaded anew');
  return staged;
}

const heldDiffers = ({ columns }: Table) =>
  columns
    .filter(({ name }) => isHeldColumn(name))
    .map(({ name }) => ` OR kept.${quoted(name)} IS DISTINCT FROM excluded.${quoted(name)}`)
    .join('');

/** SQL that puts the rows of the stage into the table, over those of the same key, which are `kept`. */
function putSql(table: Table): string {
  const others = table.columns.filter(({ name }) => !table.key.includes(name));
  const set = others.map(({ name }) => `${quoted(name)} = excluded.${quoted(name)}`);
  return `INSERT INTO ${quoted(table.name)} AS kept (${listed(table)}) SELECT ${listed(table)} FROM stage
     ON CONFLICT (${keyOf(table)}) DO UPDATE SET ${set.join(', ')}`;
}

/** Sends all rows to a table that was made just now. @returns how many. */
export const fill = (sides: Sides, table: Table): Promise<number> => load(sides, table, table.name);

/**
 * Puts these rows into the table, over those of the same key. One that Postgres cannot hold leaves no earlier version there.
 * @throws Failure `incomplete` where the table took fewer.
 */
export async function putRows(sides: Sides, table: Table, where: string): Promise<number> {
  const { postgres, unheld } = sides;
  const staged = await loadStage(sides, table, where);
  const [key = ''] = table.key;
  const tooWide = unheld.idsOf(table.name);
  if (tooWide.length > 0)
    await postgres.run(`DELETE FROM ${quoted(table.name)} WHERE ${quoted(key)}::text = ANY ($1)`, [tooWide]);
  return expectAll(postgres, table, await postgres.run(putSql(table)), staged);
}

/** Removes the rows whose last version is one of these. @throws Failure `incomplete` where the table keeps some. */
export async function removeGone(sides: Sides, rows: Table, history: Table, where: string): Promise<void> {
  const { postgres, connection } = sides;
  const numbers = connection
    .prepare<[], number>(`SELECT _row FROM ${history.of} WHERE ${where} AND _ended_by = 'delete'`)
    .pluck()
    .all();
  if (numbers.length === 0) return;
  const gone = `FROM ${quoted(rows.name)} WHERE _number = ANY ($1)`;
  await postgres.run(`DELETE ${gone}`, [numbers]);
  const [kept] = await postgres.query<{ rows: string }>(`SELECT count(*) AS rows ${gone}`, [numbers]);
  if (Number(kept?.rows) > 0)
    throw refusedRows(postgres, rows, `kept ${count(Number(kept?.rows), 'row')} of those that are gone`);
}

/** Notes anew which rows and values of a table Postgres cannot hold. */
export function noteUnheld(sides: Sides, table: Table): void {
  for (const _ of sentRows(sides, table));
}

/**
 * Loads rows into the temporary table `stage`, which is made anew, and dropped at the end of the transaction. Its rows are as wide as those
 * of the table. @returns how many.
 */
export async function loadStage(sides: Sides, table: Table, where?: string): Promise<number> {
  await sides.postgres.run(
    `DROP TABLE IF EXISTS pg_temp.stage;
     CREATE TEMP TABLE stage ON COMMIT DROP AS SELECT * FROM ${quoted(table.name)} WITH NO DATA`,
  );
  const staged = await load(sides, table, 'stage', where);
  await sides.postgres.run(`CREATE INDEX ON stage (${keyOf(table)}); ANALYZE stage`);
  return staged;
}

/** Sends rows to an empty table. @returns how many. @throws Failure `incomplete` where the table took fewer. */
async function load(sides: Sides, table: Table, into: string, where?: string): Promise<number> {
  let sent = 0;
  const lines = linesOf(sides, table, where, () => {
    sent += 1;
  });
  const kept = await sides.postgres.copy(`${quoted(into)} (${listed(table)}) FROM STDIN`, lines);
  return expectAll(sides.postgres, table, kept, sent);
}

const refusedRows = (postgres: Postgres, { name }: Pick<Table, 'name'>, how: string) =>
  new Failure(
    'incomplete',
    `${postgres.name}: the table ${name} ${how}: a trigger or rule that was added there drops or changes rows; remove it and ship again`,
  );

/** @throws Failure `incomplete` where fewer rows were kept than were sent. */
function expectAll(postgres: Postgres, table: Table, kept: number, sent: number): number {
  if (kept === sent) return sent;
  throw refusedRows(postgres, table, `took ${number(kept)} of ${count(sent, 'row')}`);
}

/** Few enough to keep in memory, and so many that a message is worth sending. */
const PIECE_LETTERS = 64 * 1024;

/** In the text form of COPY, many rows in a piece. @param count called for each row. */
function* linesOf(
  sides: Sides,
  table: Table,
  where: string | undefined,
  count: () => void,
): Generator<Buffer> {
  let piece = '';
  for (const { texts } of sentRows(sides, table, where)) {
    for (let at = 0; at < texts.length; at += 1) {
      if (at > 0) piece += '\t';
      piece += copyField(texts[at] ?? null);
    }
    piece += '\n';
    count();
    if (piece.length < PIECE_LETTERS) continue;
    yield Buffer.from(piece);
    piece = '';
  }
  if (piece !== '') yield Buffer.from(piece);
}

/** The texts of the values of the rows that Postgres can hold; what it cannot is noted. @param where SQL over the table of the mirror. */
function* sentRows(
  { connection, unheld }: Sides,
  table: Table,
  where?: string,
): Generator<{ texts: readonly SentText[] }> {
  const { columns, key } = table;
  const senders = columns.map(({ type }) => textMakerOf(type));
  const isTooWide = tooWideFor(table);
  const at = (name: string) => columns.findIndex((column) => column.name === name);
  const keyAt = key.map(at);
  const nameAt = Math.max(at('_key'), keyAt[0] ?? 0);
  for (const row of valuesOf(connection, table, where)) {
    const texts = senders.map((send, at) => send(row[at] ?? null));
    const name = () => ({ id: keyAt.map((at) => texts[at] ?? '').join(' '), key: texts[nameAt] ?? '' });
    if (isTooWide(texts)) {
      unheld.addRow(table, name());
      continue;
    }
    columns.forEach((column, at) => {
      if (row[at] === null || column.isDerived) return;
      if (texts[at] === null) unheld.addValue(table, column, name());
      else if (isSpelt(column, row[at]) && texts[at] !== row[at]) unheld.addLetters(table, column, name());
    });
    yield { texts };
  }
}

/** Whether the value is sent as it is, but for letters that Postgres has not. */
const isSpelt = ({ type }: Table['columns'][number], value: StoredValue | undefined) =>
  typeof value === 'string' && (type === 'text' || type === 'json');

function valuesOf(
  connection: Connection,
  { name, of, columns, job }: Table,
  where = 'true',
): Iterable<readonly StoredValue[]> {
  const ofJob = job === undefined ? '' : ` AND job = '${job}'`;
  const list = columns.map(({ from }) => from).join(', ');
  const rows = connection
    .prepare<[], StoredValue[]>(`SELECT ${list} FROM ${of} WHERE (${where})${ofJob}`)
    .raw()
    .safeIntegers()
    .iterate();
  const all = () => Number(connection.prepare(`SELECT count(*) FROM ${of} WHERE true${ofJob}`).pluck().get());
  return reportingRows(rows, name, () => (where === 'true' ? all() : null));
}
