/** Making a table equal to that of the mirror: ranges of rows are compared by count and digest, and those that differ are sent. */

import { type Connection, quoted } from '../../store/read.ts';
import type { RowDifference } from '../difference.ts';
import type { Postgres } from './postgres.ts';
import { linesOf, type Range, rangesOf, type Which } from './rows.ts';
import type { Table } from './tables.ts';
import { digestSql, rangeSql, toldAs } from './values.ts';

/** What differed, and is mended now. */
export type Mended = RowDifference & { table: string };

const MOST_KEYS = 10;

/**
 * Makes the rows there those of the mirror, at the moment at which `connection` stands. Call it in a transaction.
 * @returns what differed; all rows are missing in a table that is empty.
 */
export async function mendTable(postgres: Postgres, connection: Connection, table: Table): Promise<Mended> {
  const none = { table: table.name, missing: 0, extra: 0, changed: 0, keys: [] };
  const there = await rangesThere(postgres, table);
  if (there.size === 0) return { ...none, missing: await load(postgres, connection, table, table.name) };
  const here = rangesOf(connection, table);
  const differing = [...new Set([...here.keys(), ...there.keys()])].filter(
    (range) => !areEqual(here.get(range), there.get(range)),
  );
  if (differing.length === 0) return none;
  return { ...none, ...(await mendRanges(postgres, connection, table, differing)) };
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
  digestSql(columns.map(({ name, type }) => toldAs(quoted(name), type)));

/** Gives a table that was made in this transaction its rows and its key: an index is made fastest of all rows at once. */
export async function fillTable(postgres: Postgres, connection: Connection, table: Table): Promise<Mended> {
  const { name, key } = table;
  // Nobody has seen the table yet, so its rows can be what they become when all who might not see them have ended.
  const missing = await load(postgres, connection, table, name, { how: 'WITH (FREEZE)' });
  await postgres.run(`ALTER TABLE ${quoted(name)} ADD PRIMARY KEY (${key.map(quoted).join(', ')})`);
  return { table: name, missing, extra: 0, changed: 0, keys: [] };
}

/** Sends rows to an empty table. @param how options of COPY. @returns how many. */
export async function load(
  postgres: Postgres,
  connection: Connection,
  table: Table,
  into: string,
  { how = '', ...which }: Which & { how?: string } = {},
): Promise<number> {
  const list = table.columns.map(({ name }) => quoted(name)).join(', ');
  return await postgres.copy(
    `${quoted(into)} (${list}) FROM STDIN ${how}`,
    linesOf(connection, table, which),
  );
}

/** Makes a temporary table of the same columns, which the end of the transaction drops. */
export async function makeStage(postgres: Postgres, table: Table, stage: string): Promise<void> {
  await postgres.run(
    `DROP TABLE IF EXISTS pg_temp.${quoted(stage)};
     CREATE TEMP TABLE ${quoted(stage)} (LIKE ${quoted(table.name)}) ON COMMIT DROP`,
  );
}

/** Puts the rows of `stage` into the table, over those of the same key. @returns how many. */
export function putSql({ name, columns, key }: Table, stage: string, where = ''): string {
  const list = columns.map((column) => quoted(column.name)).join(', ');
  const others = columns.filter((column) => !key.includes(column.name));
  const set = others.map((column) => `${quoted(column.name)} = excluded.${quoted(column.name)}`);
  return (
    `INSERT INTO ${quoted(name)} (${list}) SELECT ${list} FROM ${quoted(stage)}${where} ` +
    `ON CONFLICT (${key.map(quoted).join(', ')}) DO ${set.length > 0 ? `UPDATE SET ${set.join(', ')}` : 'NOTHING'}`
  );
}

async function mendRanges(
  postgres: Postgres,
  connection: Connection,
  table: Table,
  ranges: readonly string[],
): Promise<RowDifference> {
  const key = table.key.map(quoted).join(', ');
  const digests = (from: string, where: string) =>
    `SELECT ${key}, ${digestThere(table)} AS digest FROM ${quoted(from)} WHERE ${where}`;
  const inThem = `${ofJob(table)} AND ${rangeThere(table)} = ANY ('{${ranges.join()}}')`;
  await makeStage(postgres, table, 'stage');
  await load(postgres, connection, table, 'stage', { ranges: new Set(ranges) });
  await postgres.run('DROP TABLE IF EXISTS pg_temp.differing');
  await postgres.run(
    `CREATE TEMP TABLE differing ON COMMIT DROP AS SELECT ${key},
       CASE WHEN there.digest IS NULL THEN 'missing' WHEN here.digest IS NULL THEN 'extra' ELSE 'changed' END AS how
     FROM (${digests(table.name, inThem)}) AS there
     FULL JOIN (${digests('stage', 'true')}) AS here USING (${key})
     WHERE there.digest IS DISTINCT FROM here.digest`,
  );
  const counts = await postgres.query<{ how: 'missing' | 'extra' | 'changed'; rows: string }>(
    'SELECT how, count(*) AS rows FROM differing GROUP BY how',
  );
  const keys = await postgres.query<{ key: string }>(
    `SELECT DISTINCT ${quoted(table.key[0] ?? '')}::text AS key FROM differing ORDER BY 1 LIMIT ${MOST_KEYS}`,
  );
  await postgres.run(
    `DELETE FROM ${quoted(table.name)} WHERE ${ofJob(table)}
       AND (${key}) IN (SELECT ${key} FROM differing WHERE how = 'extra')`,
  );
  await postgres.run(putSql(table, 'stage', ` WHERE (${key}) IN (SELECT ${key} FROM differing)`));
  const countOf = (how: string) => Number(counts.find((count) => count.how === how)?.rows ?? 0);
  return {
    missing: countOf('missing'),
    extra: countOf('extra'),
    changed: countOf('changed'),
    keys: keys.map((row) => row.key),
  };
}
