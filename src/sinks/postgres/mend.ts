/** Making a table equal to that of the mirror: ranges of rows are compared by count and digest, and those that differ are sent. */

import { Failure } from '../../errors.ts';
import { count, number } from '../../output/numbers.ts';
import { reportingRows } from '../../progress.ts';
import { type Connection, quoted } from '../../store/read.ts';
import { differenceWords, type RowDifference } from '../follow.ts';
import type { Postgres } from './client.ts';
import type { Table } from './tables.ts';
import { tooWideFor, type Unheld } from './unheld.ts';
import {
  copyField,
  digestOf,
  digestSql,
  digestTextSql,
  rangeOf,
  rangeSql,
  type SentText,
  type StoredValue,
  sentKey,
  textMakerOf,
} from './values.ts';

/** Both sides of a comparison: the mirror at one moment, and Postgres in a transaction. */
export type Sides = {
  readonly postgres: Postgres;
  readonly connection: Connection;
  /** Rows that Postgres cannot hold are sent and compared nowhere; they are noted here, and values that it cannot hold. */
  readonly unheld: Unheld;
};

/** How a table differs, or differed until it was mended. */
export type TableDifference = RowDifference & { table: string };

const MAX_KEYS_NAMED = 10;

/**
 * Makes the rows there those of the mirror, and compares once more what was mended.
 * @returns what differed; all rows are missing in a table that is empty.
 * @throws Failure `incomplete` where both sides still differ: something else changes rows there.
 */
export async function mendTable(sides: Sides, table: Table): Promise<TableDifference> {
  const here = rangesOf(sides, table);
  const ranges = await differingRanges(sides.postgres, table, here);
  if (ranges.length === 0) return { table: table.name, missing: 0, extra: 0, changed: 0, keys: [] };
  const mended = await mendRanges(sides, table, ranges);
  const remaining = await differingRanges(sides.postgres, table, here);
  if (remaining.length > 0) {
    const difference = await compareRanges(sides, table, remaining);
    throw refusedRows(
      sides.postgres,
      table,
      `still differs after it was mended (${differenceWords(difference)})`,
    );
  }
  return { ...mended, table: table.name };
}

/** What differs, also where Postgres could not hold it; nothing is mended. */
export async function compareTable(sides: Sides, table: Table): Promise<TableDifference> {
  const ranges = await differingRanges(sides.postgres, table, rangesOf(sides, table));
  const difference = ranges.length > 0 && (await compareRanges(sides, table, ranges));
  const { missing, extra, changed, keys } = difference || { missing: 0, extra: 0, changed: 0, keys: [] };
  const { rows, values } = sides.unheld.keysOf(table.name);
  return {
    table: table.name,
    missing: missing + rows.length,
    extra,
    changed: changed + values.length,
    keys: [...keys, ...rows, ...values].slice(0, MAX_KEYS_NAMED),
  };
}

const refusedRows = (postgres: Postgres, { name }: Pick<Table, 'name'>, how: string) =>
  new Failure(
    'incomplete',
    `${postgres.name}: the table ${name} ${how}: a trigger or rule that was added there drops or changes rows; remove it and ship again`,
  );

/** The ranges of rows whose count or digest there is not that of the mirror. */
async function differingRanges(
  postgres: Postgres,
  table: Table,
  here: ReadonlyMap<string, Range>,
): Promise<string[]> {
  const there = await rangesThere(postgres, table);
  return [...new Set([...here.keys(), ...there.keys()])].filter(
    (range) => !areEqual(here.get(range), there.get(range)),
  );
}

const areEqual = (one: Range | undefined, other: Range | undefined) =>
  one?.rows === other?.rows && one?.sum === other?.sum;

async function rangesThere(postgres: Postgres, table: Table): Promise<Map<string, Range>> {
  const rows = await postgres.query<{ range: string; rows: string; sum: string }>(
    `SELECT ${rangeThere(table)} AS range, count(*) AS rows, sum(${digestThere(table)}) AS sum
     FROM ${quoted(table.name)} WHERE ${ofJob(table)} GROUP BY 1`,
  );
  return new Map(rows.map(({ range, rows, sum }) => [range, { rows: Number(rows), sum: BigInt(sum) }]));
}

const ofJob = ({ job }: Table) => (job === undefined ? 'true' : `job = '${job}'`);

const rangeThere = ({ key: [first = ''] }: Table) => rangeSql(`${quoted(first)}::text`);

const digestThere = ({ columns }: Table) =>
  digestSql(columns.map(({ name, type }) => digestTextSql(quoted(name), type)));

/** Gives a table that was made in this transaction its rows and its key: an index is made fastest of all rows at once. */
export async function fillNewTable(sides: Sides, table: Table): Promise<TableDifference> {
  const { name, key } = table;
  // Nobody has seen the table yet, so its rows can be what they become when all who might not see them have ended.
  const missing = await load(sides, table, name, { how: 'WITH (FREEZE)' });
  await sides.postgres.run(`ALTER TABLE ${quoted(name)} ADD PRIMARY KEY (${key.map(quoted).join(', ')})`);
  return { table: name, missing, extra: 0, changed: 0, keys: [] };
}

/**
 * Sends rows to an empty table. @param how options of COPY. @returns how many.
 * @throws Failure `incomplete` where the table took fewer.
 */
export async function load(
  sides: Sides,
  table: Table,
  into: string,
  { how = '', ...which }: RowFilter & { how?: string } = {},
): Promise<number> {
  const list = table.columns.map(({ name }) => quoted(name)).join(', ');
  let sent = 0;
  const lines = linesOf(sides, table, which, () => {
    sent += 1;
  });
  const kept = await sides.postgres.copy(`${quoted(into)} (${list}) FROM STDIN ${how}`, lines);
  return expectAll(sides.postgres, table, kept, sent);
}

/** @throws Failure `incomplete` where fewer rows were kept than were sent. */
function expectAll(postgres: Postgres, table: Table, kept: number, sent: number): number {
  if (kept === sent) return sent;
  throw refusedRows(postgres, table, `took ${number(kept)} of ${count(sent, 'row')}`);
}

/**
 * Loads rows into the temporary table `stage`, which is made anew, and dropped at the end of the transaction. Its rows are as wide as those
 * of the table. @returns how many.
 */
export async function loadStage(sides: Sides, table: Table, which: RowFilter = {}): Promise<number> {
  await sides.postgres.run(
    `DROP TABLE IF EXISTS pg_temp.stage;
     CREATE TEMP TABLE stage ON COMMIT DROP AS SELECT * FROM ${quoted(table.name)} WITH NO DATA`,
  );
  return await load(sides, table, 'stage', which);
}

/**
 * Puts the rows of the stage into the table, over those of the same key. @param staged how many they are.
 * @throws Failure `incomplete` where the table took fewer.
 */
export async function putStaged(postgres: Postgres, table: Table, staged: number, where = ''): Promise<void> {
  const { name, columns, key } = table;
  const list = columns.map((column) => quoted(column.name)).join(', ');
  const others = columns.filter((column) => !key.includes(column.name));
  const set = others.map((column) => `${quoted(column.name)} = excluded.${quoted(column.name)}`);
  const put = await postgres.run(
    `INSERT INTO ${quoted(name)} (${list}) SELECT ${list} FROM stage${where}
     ON CONFLICT (${key.map(quoted).join(', ')}) DO ${set.length > 0 ? `UPDATE SET ${set.join(', ')}` : 'NOTHING'}`,
  );
  expectAll(postgres, table, put, staged);
}

/** Removes the rows whose last version is on the stage. @throws Failure `incomplete` where the table keeps some. */
export async function removeGone(postgres: Postgres, table: Table): Promise<void> {
  const gone = `FROM ${quoted(table.name)} WHERE _key IN (SELECT _key FROM stage WHERE _ended_by = 'delete')`;
  await postgres.run(`DELETE ${gone}`);
  const [kept] = await postgres.query<{ rows: string }>(`SELECT count(*) AS rows ${gone}`);
  const rows = Number(kept?.rows);
  if (rows > 0) throw refusedRows(postgres, table, `kept ${count(rows, 'row')} of those that are gone`);
}

async function mendRanges(sides: Sides, table: Table, ranges: readonly string[]): Promise<RowDifference> {
  const key = table.key.map(quoted).join(', ');
  const difference = await compareRanges(sides, table, ranges);
  await sides.postgres.run(
    `DELETE FROM ${quoted(table.name)} WHERE ${ofJob(table)}
       AND (${key}) IN (SELECT ${key} FROM differing WHERE how = 'extra')`,
  );
  const { missing, changed } = difference;
  await putStaged(
    sides.postgres,
    table,
    missing + changed,
    ` WHERE (${key}) IN (SELECT ${key} FROM differing WHERE how <> 'extra')`,
  );
  return difference;
}

/** Loads the rows of these ranges into the stage. The temporary table `differing` then says by key how the rows there differ. */
async function compareRanges(sides: Sides, table: Table, ranges: readonly string[]): Promise<RowDifference> {
  const key = table.key.map(quoted).join(', ');
  const digests = (from: string, where: string) =>
    `SELECT ${key}, ${digestThere(table)} AS digest FROM ${quoted(from)} WHERE ${where}`;
  const inThem = `${ofJob(table)} AND ${rangeThere(table)} = ANY ('{${ranges.join()}}')`;
  await loadStage(sides, table, { ranges: new Set(ranges) });
  await sides.postgres.run(
    `DROP TABLE IF EXISTS pg_temp.differing;
     CREATE TEMP TABLE differing ON COMMIT DROP AS SELECT ${key},
       CASE WHEN there.digest IS NULL THEN 'missing' WHEN here.digest IS NULL THEN 'extra' ELSE 'changed' END AS how
     FROM (${digests(table.name, inThem)}) AS there
     FULL JOIN (${digests('stage', 'true')}) AS here USING (${key})
     WHERE there.digest IS DISTINCT FROM here.digest`,
  );
  const counts = await sides.postgres.query<{ how: 'missing' | 'extra' | 'changed'; rows: string }>(
    'SELECT how, count(*) AS rows FROM differing GROUP BY how',
  );
  const keys = await sides.postgres.query<{ key: string }>(
    `SELECT DISTINCT ${quoted(table.key[0] ?? '')}::text AS key FROM differing ORDER BY 1 LIMIT ${MAX_KEYS_NAMED}`,
  );
  const countOf = (how: string) => Number(counts.find((count) => count.how === how)?.rows ?? 0);
  return {
    missing: countOf('missing'),
    extra: countOf('extra'),
    changed: countOf('changed'),
    keys: keys.map((row) => row.key),
  };
}

/** All rows, unless given. `where`: SQL over the table of the mirror. `ranges`: names, as `rangeOf` gives them. */
export type RowFilter = { where?: string; ranges?: ReadonlySet<string> };

/** Few enough to keep in memory, and so many that a message is worth sending. */
const PIECE_LETTERS = 64 * 1024;

/** In the text form of COPY, many rows in a piece. @param count called for each row. */
function* linesOf(
  sides: Sides,
  table: Table,
  { where, ranges }: RowFilter,
  count: () => void,
): Generator<Buffer> {
  let piece = '';
  for (const { texts, range } of sentRows(sides, table, where)) {
    if (ranges && !ranges.has(range())) continue;
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

/** How many rows a range has, and the sum of their digests. */
type Range = { rows: number; sum: bigint };

function rangesOf(sides: Sides, table: Table): Map<string, Range> {
  const types = table.columns.map(({ type }) => type);
  const ranges = new Map<string, Range>();
  for (const { texts, range } of sentRows(sides, table)) {
    const name = range();
    const known = ranges.get(name) ?? { rows: 0, sum: 0n };
    ranges.set(name, { rows: known.rows + 1, sum: known.sum + digestOf(texts, types) });
  }
  return ranges;
}

/** A row as it is sent: the texts of its values, and the name of its range. */
type SentRow = { texts: readonly SentText[]; range: () => string };

/** The rows that Postgres can hold; what it cannot is noted. */
function* sentRows({ connection, unheld }: Sides, table: Table, where?: string): Generator<SentRow> {
  const { columns, key } = table;
  const senders = columns.map(({ name, type }) => (name === '_key' ? sentKey : textMakerOf(type)));
  const isTooWide = tooWideFor(table);
  const keyAt = key.map((name) => columns.findIndex((column) => column.name === name));
  for (const row of valuesOf(connection, table, where)) {
    const texts = senders.map((send, at) => send(row[at] ?? null));
    const [first = '', ...others] = keyAt.map((at) => texts[at] ?? '');
    const name = () => ({ id: [first, ...others].join(' '), key: first });
    if (isTooWide(texts)) {
      unheld.addRow(table, name());
      continue;
    }
    columns.forEach((column, at) => {
      const isLost = texts[at] === null && row[at] !== null && !column.isDerived;
      if (isLost) unheld.addValue(table, column, name());
    });
    yield { texts, range: () => rangeOf(first) };
  }
}

function valuesOf(
  connection: Connection,
  { of, columns, job }: Table,
  where = 'true',
): Iterable<readonly StoredValue[]> {
  const ofJob = job === undefined ? '' : ` AND job = '${job}'`;
  const list = columns.map(({ from }) => from).join(', ');
  const sql = `SELECT ${list} FROM ${quoted(of)} WHERE (${where})${ofJob}`;
  const rows = connection.prepare<[], StoredValue[]>(sql).raw().safeIntegers().iterate();
  return reportingRows(rows, of, () =>
    where === 'true'
      ? Number(
          connection
            .prepare(`SELECT count(*) FROM ${quoted(of)} WHERE true${ofJob}`)
            .pluck()
            .get(),
        )
      : null,
  );
}
