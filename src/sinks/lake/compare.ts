/** The rows of a file of Parquet beside those of the mirror, value by value. */

import { createHash } from 'node:crypto';
import { microsOf } from '../../output/answer.ts';
import type { Connection } from '../../store/read.ts';
import type { RowDifference } from '../difference.ts';
import { asHeld, type LakeColumn } from './columns.ts';
import { inReadTransaction } from './course.ts';

/** What the mirror has of a file. */
export type Wanted = {
  /** In the order of `columns`. */
  sql: string;
  columns: readonly Pick<LakeColumn, 'name' | 'holds'>[];
  /** The columns by which rows are told apart. */
  key: readonly string[];
};

const KEYS_SHOWN = 5;
const ROWS_AT_ONCE = 25_000;

/**
 * Columns that the file lacks, for they were found later, are passed over; and so are those that the mirror is not asked for.
 * @param wanted called at the moment at which the mirror is read; undefined where it has forgotten that.
 * @returns undefined where it has.
 */
export async function compareRows(
  connection: Connection,
  data: Buffer,
  wanted: () => Wanted | undefined,
): Promise<RowDifference | undefined> {
  const { parquetMetadata, parquetReadObjects } = await import('hyparquet');
  const bytes = data.buffer.slice(data.byteOffset, data.byteOffset + data.length) as ArrayBuffer;
  const file = {
    byteLength: bytes.byteLength,
    slice: (from: number, to?: number) => bytes.slice(from, to),
  };
  const metadata = parquetMetadata(bytes);
  // The first element is the schema itself, which has a name, too.
  const columns = metadata.schema.slice(1);
  const types = new Map(columns.map(({ name, type, converted_type: more }) => [name, more ?? type]));
  const mirrored = inReadTransaction(connection, () => {
    const asked = wanted();
    return asked && rowsHere(connection, asked, types);
  });
  if (!mirrored) return undefined;
  const { here, names, key } = mirrored;

  const keys: string[] = [];
  const compared = { missing: 0, extra: 0, changed: 0, keys };
  const found = (what: 'missing' | 'extra' | 'changed', name: string) => {
    compared[what] += 1;
    if (keys.length < KEYS_SHOWN) keys.push(name);
  };
  for (let from = 0; from < Number(metadata.num_rows); from += ROWS_AT_ONCE) {
    const rows = await parquetReadObjects({
      ...{ file, metadata, columns: names, rowStart: from },
      rowEnd: Math.min(from + ROWS_AT_ONCE, Number(metadata.num_rows)),
      parsers: { timestampFromMicroseconds: (micros: bigint) => micros },
    });
    for (const row of rows) {
      const name = key.map((column) => row[column]).join(' ');
      const digest = here.get(name);
      here.delete(name);
      if (digest === undefined) found('extra', name);
      else if (digestOf(names.map((column) => row[column] ?? null)) !== digest) found('changed', name);
    }
  }
  for (const name of here.keys()) found('missing', name);
  return compared;
}

/** Digests of the mirror's rows by key, in the columns and types that the file has. */
function rowsHere(
  connection: Connection,
  { sql, columns, key }: Wanted,
  types: ReadonlyMap<string, string | undefined>,
) {
  const present = columns.map(({ name }) => types.has(name));
  const names = columns.map(({ name }) => name).filter((_, at) => present[at]);
  const keyAt = key.map((name) => columns.findIndex((column) => column.name === name));
  const here = new Map<string, string>();
  for (const row of connection.prepare<[], unknown[]>(sql).raw().safeIntegers().iterate()) {
    const values = columns.map(({ name, holds }, at) => inType(asHeld(row[at], holds), types.get(name)));
    here.set(keyAt.map((at) => values[at]).join(' '), digestOf(values.filter((_, at) => present[at])));
  }
  return { here, names, key };
}

function digestOf(row: readonly unknown[]): string {
  const hash = createHash('sha1');
  for (const value of row) hash.update(value === null ? '~' : `${Buffer.byteLength(`${value}`)}:${value}`);
  return hash.digest('base64');
}

/** A value of the mirror as a reader of the file sees it, whatever type its column has become since. */
function inType(value: unknown, type: string | undefined): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'DOUBLE') return Number(value);
  if (type === 'BOOLEAN') return value === 1n || value === 'true';
  if (type === 'TIMESTAMP_MICROS') return microsOf(value as string) ?? null;
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
}
