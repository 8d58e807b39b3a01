/** The columns of a dataset wherever they have types: in Postgres, in a lake, in an exported file. */

import { createHash } from 'node:crypto';
import { storedName } from '../base/properties.ts';
import type { ListedJob, Schema } from '../job/list.ts';
import { parseRfc3339 } from '../output/answer.ts';
import { type Connection, quoted } from '../store/read.ts';
import type { FieldType } from '../validate/checked.ts';

export type Column = {
  /** In the sink, or in the file. */
  name: string;
  /** SQL over the table of the mirror. */
  from: string;
  /** SQL for the value as the mirror shows it, where `from` is its text as received. */
  valueSql: string;
  type: ColumnType;
  /** Beside a column that has the value as received: null where that is none of this type. */
  isDerived?: true;
};

const columnTypes = [
  'text',
  'boolean',
  'bigint',
  'double precision',
  'numeric',
  'json',
  'timestamp with time zone',
] as const;

/** As Postgres calls them. */
export type ColumnType = (typeof columnTypes)[number];

export const isColumnType = (type: string | undefined): type is ColumnType =>
  columnTypes.some((known) => known === type);

/** `received time`: a text, with a column of times beside it. `mixed`: text and other values, which become their text as received. */
export type Kind = ColumnType | 'received time' | 'mixed';

export type Mirrored = {
  /** The table or view of the mirror that has the rows; of a history, the table in which they have numbers. */
  of: string;
  columns: readonly Column[];
};

/** The dataset as it is read, and its history where it has one. */
export function columnsOfJob(
  connection: Connection,
  job: ListedJob,
): { rows: Mirrored; history: Mirrored | undefined } {
  const kinds = kindsOf(connection, job);
  const mirrored = (shown: string, of: string) => ({
    of,
    columns: typedColumns(connection, shown, (column) => kinds.get(column)),
  });
  return {
    rows: mirrored(job.table, job.table),
    history: job.history && job.versions ? mirrored(job.history, job.versions) : undefined,
  };
}

/**
 * The same over the tables in which the rows lie under their numbers (`stored`), with the number of a row as `_number`; of a version, that of
 * its row as `_row`, too.
 */
export function storedColumnsOf(
  connection: Connection,
  job: ListedJob,
): { rows: Column[]; history: Column[] | undefined } {
  const kinds = kindsOf(connection, job);
  const own = (name: string, from: string): Column => ({ name, from, valueSql: from, type: 'bigint' });
  const typed = (shown: string) =>
    typedColumns(
      connection,
      shown,
      (column) => kinds.get(column),
      (column) => `stored.${quoted(storedName(column))}`,
    );
  const number = own('_number', 'stored.number');
  return {
    rows: [number, ...typed(job.table)],
    history: job.history === null ? undefined : [number, own('_row', 'stored._row'), ...typed(job.history)],
  };
}

/** Whether it says that a row is held, which makes no version. */
export const isHeldColumn = (name: string) => name === '_held_since' || name === '_held_reason';

/** By the name of the column in the mirror, where more is known of it than the type that it is declared with. */
export const kindsOf = (connection: Connection, job: ListedJob): ReadonlyMap<string, Kind> =>
  new Map([...bookkeeping, ...kindsOfFields(connection, job)]);

const bookkeeping: readonly (readonly [string, Kind])[] = [
  ...['_first_seen_at', '_changed_at', '_held_since', '_valid_from', '_valid_to', '_fetched_at'].map(
    (name) => [name, 'timestamp with time zone'] as const,
  ),
  ['_body', 'json'],
  ['extra', 'json'],
];

/** The same of a column of the tables that the mirror keeps about itself. */
export function ownKindOf(table: string, column: string, declared: string): Kind | undefined {
  const isTime = /(_at|_until|^history_from)$/.test(column) || (table === 'requests' && column === 'at');
  if (declared.toUpperCase() === 'TEXT' && isTime && column !== 'generated_at')
    return 'timestamp with time zone';
  return ownKinds[`${table}.${column}`];
}

const ownKinds: Readonly<Record<string, Kind>> = {
  ...{ 'walks.anomalies': 'json', 'walks.generated_at': 'received time' },
  ...{ 'fields.types': 'json', 'fields.nullable': 'boolean', 'quarantine.problems': 'json' },
};

const kindOfType = (declared: string): Kind =>
  declared === 'INTEGER' ? 'bigint' : declared === 'REAL' ? 'double precision' : 'text';

/**
 * @param kindOf what is known of a column beyond the type that it is declared with.
 * @param sqlOf SQL for a column, where it lies elsewhere.
 */
export function typedColumns(
  connection: Connection,
  table: string,
  kindOf: (column: string, declared: string) => Kind | undefined,
  sqlOf: (column: string) => string = quoted,
): Column[] {
  const present = connection
    .prepare<[string], { name: string; type: string }>(
      'SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden <> 1',
    )
    .all(table);
  const usedNames = new Set<string>();
  const times: string[] = [];
  const columns = present.map(({ name, type }): Column => {
    const declared = type.toUpperCase();
    const kind = kindOf(name, declared) ?? kindOfType(declared);
    const field = kind === 'numeric' || kind === 'mixed' ? fieldOf(connection, table, name) : undefined;
    // Where other values have joined its times, too.
    if (kind === 'received time' || (kind === 'mixed' && showsTime(field?.example))) times.push(name);
    return {
      name: nameFor(name, usedNames),
      from: field ? receivedOf(field.path, sqlOf(name)) : sqlOf(name),
      valueSql: sqlOf(name),
      type: kind === 'received time' || kind === 'mixed' ? 'text' : kind,
    };
  });
  const timeColumns = times.map(
    (name): Column => ({
      name: nameFor(`${name}_utc`, usedNames),
      from: sqlOf(name),
      valueSql: sqlOf(name),
      type: 'timestamp with time zone',
      isDerived: true,
    }),
  );
  return [...columns, ...timeColumns];
}

/** What was found out about a column; undefined for one that the contract names. */
const fieldOf = (connection: Connection, table: string, column: string) =>
  connection
    .prepare<[string, string], { path: string; example: string | null }>(
      `SELECT path, example FROM fields WHERE "column" = ? AND ? IN (replace(job, '-', '_'), replace(job, '-', '_') || '_history')`,
    )
    .get(column, table);

/** SQL for the text of a value as received: a column shows a number as far as a double holds it, and true as 1. */
/** @param column SQL for it. */
function receivedOf(path: string, column: string): string {
  const literal = `'${path.replaceAll("'", "''")}'`;
  return `CASE WHEN json_type(_body, ${literal}) IN ('integer', 'real', 'true', 'false') THEN _body -> ${literal} ELSE ${column} END`;
}

/** Postgres cuts longer names, and two of them may become one. */
const MAX_NAME_BYTES = 63;

/** The columns that every table of Postgres has already. */
const ofPostgres = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']);

function nameFor(name: string, usedNames: Set<string>): string {
  const plain = ofPostgres.has(name) ? `${name}_` : name;
  for (let count = 1; ; count += 1) {
    const tail = count === 1 ? '' : `_${count}`;
    const found = shortened(plain, MAX_NAME_BYTES - tail.length) + tail;
    if (usedNames.has(found)) continue;
    usedNames.add(found);
    return found;
  }
}

function shortened(name: string, bytes: number): string {
  if (Buffer.byteLength(name) <= bytes) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  let kept = name;
  while (Buffer.byteLength(kept) > bytes - digest.length - 1) kept = [...kept].slice(0, -1).join('');
  return `${kept}_${digest}`;
}

/** What the contract says of columns, or what was found in the rows so far. */
function kindsOfFields(connection: Connection, job: ListedJob): [string, Kind][] {
  if (job.schemas) return kindsOfSchema(job.schemas.row, []);
  return connection
    .prepare<[string], { column: string; types: string; example: string | null }>(
      'SELECT "column", types, example FROM fields WHERE job = ? ORDER BY rowid',
    )
    .all(job.name)
    .map(({ column, types, example }) => [column, kindOfField(JSON.parse(types) as FieldType[], example)]);
}

function kindsOfSchema({ properties = {} }: Schema, path: readonly string[]): [string, Kind][] {
  return Object.entries(properties).flatMap(([name, property]): [string, Kind][] => {
    const schema = property.anyOf?.find(({ type }) => type !== 'null') ?? property;
    const here = [...path, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
    const kind = kindOfSchema(schema);
    return [[here.join('_'), kind], ...(kind === 'json' ? kindsOfSchema(schema, here) : [])];
  });
}

function kindOfSchema({ type, format }: Schema): Kind {
  const types = [type].flat();
  if (types.includes('object') || types.includes('array')) return 'json';
  if (types.includes('string')) return format === 'date-time' ? 'received time' : 'text';
  if (types.includes('number')) return 'double precision';
  return types.includes('integer') ? 'bigint' : types.includes('boolean') ? 'boolean' : 'text';
}

/** The narrowest kind that takes all of these types. */
function kindOfField(types: readonly FieldType[], example: string | null): Kind {
  const all = (...allowed: FieldType[]) => types.length > 0 && types.every((type) => allowed.includes(type));
  if (all('boolean')) return 'boolean';
  if (all('integer')) return 'bigint';
  if (all('integer', 'number')) return 'double precision';
  if (all('integer', 'number', 'big-integer')) return 'numeric';
  if (all('array', 'object')) return 'json';
  if (!all('string')) return types.length > 0 ? 'mixed' : 'text';
  return showsTime(example) ? 'received time' : 'text';
}

/** @param example of a field, as JSON. */
function showsTime(example: string | null = null): boolean {
  try {
    const value: unknown = example === null ? null : JSON.parse(example);
    return typeof value === 'string' && utcOf(value) !== null;
  } catch {
    return false;
  }
}

/** An RFC 3339 time as `2026-11-22T01:02:03.004000Z`, cut at the microsecond. Null for other text, a second of 60 and the year 0, which Postgres lacks. */
export function utcOf(text: string): string | null {
  const time = parseRfc3339(text);
  if (!time) return null;
  const { local, fraction, offsetMs } = time;
  const micros = fraction.length === 6 ? fraction : fraction.slice(0, 6).padEnd(6, '0');
  if (offsetMs === null) return local.startsWith(NO_YEAR) ? null : `${local}.${micros}Z`;
  const at = new Date(Date.parse(`${local}Z`) - offsetMs).toISOString();
  return /^\d{4}/.test(at) && !at.startsWith(NO_YEAR) ? `${at.slice(0, 19)}.${micros}Z` : null;
}

const NO_YEAR = '0000';
