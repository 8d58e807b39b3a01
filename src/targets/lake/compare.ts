/** The rows of a file of Parquet beside those of the mirror, value by value. */

import { createHash } from 'node:crypto';
import { microsOf } from '../../output/answer.ts';
import type { Connection } from '../../store/read.ts';
import type { RowDifference } from '../difference.ts';
import { asHeld, type LakeColumn } from './columns.ts';

export type CompareParts = {
  connection: Connection;
  /** What the mirror has, in the order of `columns`. */
  sql: string;
  columns: readonly Pick<LakeColumn, 'name' | 'holds'>[];
  /** The columns by which rows are told apart. */
  key: readonly string[];
  /** The file. */
  data: Buffer;
};

const KEYS_SHOWN = 5;
const ROWS_AT_ONCE = 25_000;

/** Columns that the file lacks, for they were found later, are passed over; and so are those that the mirror is not asked for. */
export async function compareRows({
  connection,
  sql,
  columns,
  key,
  data,
}: CompareParts): Promise<RowDifference> {
  const { parquetMetadata, parquetReadObjects } = await import('hyparquet');
  const bytes = data.buffer.slice(data.byteOffset, data.byteOffset + data.length) as ArrayBuffer;
  const file = {
    byteLength: bytes.byteLength,
    slice: (from: number, to?: number) => bytes.slice(from, to),
  };
  const metadata = parquetMetadata(bytes);
  // The first is what holds all others: a column may have its name.
  const [, ...elements] = metadata.schema;
  const types = new Map(elements.map(({ name, type, converted_type: more }) => [name, more ?? type]));
  const present = columns.map(({ name }) => types.has(name));
  const names = columns.map(({ name }) => name).filter((_, at) => present[at]);
  const told = (row: readonly unknown[]) => {
    const hash = createHash('sha1');
    for (const value of row) hash.update(value === null ? '~' : `${Buffer.byteLength(`${value}`)}:${value}`);
    return hash.digest('base64');
  };

  const here = new Map<string, string>();
  const keyAt = key.map((name) => columns.findIndex((column) => column.name === name));
  for (const row of connection.prepare<[], unknown[]>(sql).raw().safeIntegers().iterate()) {
    const values = columns.map(({ name, holds }, at) => plain(asHeld(row[at], holds), types.get(name)));
    here.set(keyAt.map((at) => values[at]).join(' '), told(values.filter((_, at) => present[at])));
  }

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
      const wanted = here.get(name);
      here.delete(name);
      if (wanted === undefined) found('extra', name);
      else if (told(names.map((column) => row[column] ?? null)) !== wanted) found('changed', name);
    }
  }
  for (const name of here.keys()) found('missing', name);
  return compared;
}

/** As a reader of the file sees it. */
function plain(value: ReturnType<typeof asHeld>, type: string | undefined): unknown {
  if (value === null) return null;
  if (type === 'DOUBLE') return Number(value);
  if (type === 'TIMESTAMP_MICROS') return microsOf(value as string) ?? null;
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
}
