/** A file of the lake: rows as Parquet, and the receipt beside it, which is also within the file but for its length and digest. */

import { basename, dirname, join } from 'node:path';
import { Failure } from '../../base/errors.ts';
import { reportingRows } from '../../base/progress.ts';
import type { ListedJob } from '../../job/list.ts';
import {
  accepts,
  type Cell,
  type Column,
  inferTypes,
  microsOf,
  type ValueType,
} from '../../output/answer.ts';
import { parquetTypes, parquetWriter } from '../../output/parquet.ts';
import { type ColumnType, columnsOfJob, isHeldColumn } from '../../reading/columns.ts';
import type { Source } from '../../reading/query/sources.ts';
import { type Connection, quoted } from '../../store/read.ts';
import { measureFile, putFile, putJson, readJson, type Written } from './folder.ts';

/** What a file was made of. Within one `version` members are added, never removed or changed in meaning. */
export type About = {
  version: 1;
  job: string;
  /** The latest change that it shows. */
  seq: number;
  /** Of a file of changes: those after `from`, up to `seq`, in that folder. */
  changes: Changes | null;
  /** The dataset, with the walk that proves it and how many rows are in quarantine. */
  source: Source;
  exportedAt: string;
  by: string;
  columns: { name: string; type: string }[];
};

type Changes = {
  from: number;
  /** Number of the folder, and the mirror's own epoch: see its table `_identity`. */
  folder: number;
  epoch: string;
  /** Number and beginning of the latest walk. */
  lastWalk: string;
};

/** What lies beside it. */
export type Receipt = About & { rows: number; file: string } & Written;

/** The receipt of a file, written after it. Readers of Parquet skip names that begin with `_`. */
export const receiptPath = (path: string) =>
  join(dirname(path), `_${basename(path).replace(/\.parquet$/, '.json')}`);

const BATCH = 1_000;

/**
 * Makes a file of what a statement gives, and its receipt.
 * @param columns of the statement, in its order.
 */
export function putWithReceipt(
  folder: string,
  path: string,
  connection: Connection,
  sql: string,
  columns: readonly Pick<LakeColumn, 'name' | 'holds'>[],
  about: Omit<About, 'version' | 'columns'>,
): Receipt {
  const statement = connection.prepare<[], unknown[]>(sql).raw().safeIntegers();
  function* read() {
    for (const row of statement.iterate())
      yield row.map((value, at) => valueAs(value, columns[at]?.holds ?? 'text'));
  }
  const inferred = inferTypes(read(), columns.length);
  const fileColumns = columns.map(
    ({ name, holds }, at): Column => ({
      name,
      type: null,
      holds: accepts(holds, inferred[at] ?? 'nothing') ? holds : 'text',
    }),
  );
  const types = parquetTypes(fileColumns);
  const whole: About = {
    version: 1,
    ...about,
    columns: fileColumns.map(({ name }, at) => ({ name, type: types[at] ?? '' })),
  };
  const total = () => Number(connection.prepare(`SELECT count(*) FROM (${sql})`).pluck().get());
  let rows = 0;
  const written = putFile(folder, path, (write) => {
    const writer = parquetWriter(fileColumns, whole);
    let batch: Cell[][] = [];
    const flush = () => {
      write(writer.rows(batch));
      rows += batch.length;
      batch = [];
    };
    for (const row of reportingRows(read(), about.job, total)) {
      batch.push(row);
      if (batch.length === BATCH) flush();
    }
    flush();
    write(writer.end());
  });
  return putReceipt(folder, path, { ...whole, rows }, written);
}

function putReceipt(
  folder: string,
  path: string,
  about: About & { rows: number },
  written: Written,
): Receipt {
  const receipt = { ...about, file: basename(path), ...written };
  putJson(folder, receiptPath(path), receipt);
  return receipt;
}

/** The receipt of a file that is there; made of the file where a lake was killed before it. */
export async function ensureReceipt(folder: string, path: string): Promise<Receipt> {
  const known = readJson<Receipt>(folder, receiptPath(path));
  if (known) return known;
  const { asyncBufferFromFile, parquetMetadataAsync } = await import('hyparquet');
  try {
    const { key_value_metadata: own = [], num_rows: rows } = await parquetMetadataAsync(
      await asyncBufferFromFile(join(folder, path)),
    );
    const about = JSON.parse(own.find(({ key }) => key === 'market-mirror')?.value ?? '') as About;
    return putReceipt(folder, path, { ...about, rows: Number(rows) }, measureFile(join(folder, path)));
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    throw new Failure(
      'config',
      `${join(folder, path)} is no file that market-mirror has written: move it away`,
      {
        cause: thrown,
      },
    );
  }
}

/** A column of a dataset's files: of the same type in every file, unless its values do not fit it. */
export type LakeColumn = {
  name: string;
  /** SQL over the dataset's table and over its history. */
  from: string;
  fromHistory: string;
  /** What all its files hold. */
  holds: ValueType;
};

const holdings: Record<ColumnType, ValueType> = {
  text: 'text',
  json: 'text',
  numeric: 'text',
  boolean: 'boolean',
  bigint: 'integer',
  'double precision': 'real',
  'timestamp with time zone': 'timestamp',
};

/** Folders are named `epoch=…` and `date=…`: readers make a column of each, which hides a column of the same name. */
const FOLDER_COLUMNS: readonly string[] = ['epoch', 'date'];

/** All columns of the dataset. */
export function lakeColumns(connection: Connection, job: ListedJob): LakeColumn[] {
  const { rows, history } = columnsOfJob(connection, job);
  const usedNames = new Set(rows.columns.map(({ name }) => name));
  return rows.columns.map(({ name, from, type }) => ({
    name: FOLDER_COLUMNS.includes(name) ? freeName(name, usedNames) : name,
    from,
    fromHistory: history?.columns.find((column) => column.name === name)?.from ?? 'NULL',
    holds: holdings[type],
  }));
}

function freeName(name: string, usedNames: ReadonlySet<string>): string {
  let free = `${name}_`;
  for (let count = 2; usedNames.has(free); count += 1) free = `${name}_${count}`;
  return free;
}

/** Those whose values stay with a change for ever. */
export function stableColumns(connection: Connection, job: ListedJob): LakeColumn[] {
  return lakeColumns(connection, job).filter(
    ({ name }) => !job.volatile.includes(name) && !isHeldColumn(name),
  );
}

/** The value as such a column holds it: null for a text that is no time, and a whole number as one also where JSON writes it as `1.0`. */
function valueAs(value: unknown, holds: ValueType): Cell {
  if (holds === 'integer' && Number.isSafeInteger(value)) return BigInt(value as number);
  if (holds !== 'timestamp') return value as Cell;
  if (typeof value !== 'string') return null;
  const cut = value.replace(/(\.\d{6})\d+/, '$1');
  return microsOf(cut) === undefined ? null : cut;
}

/** SQL that names them all, over the dataset's table or over its history. */
export const listed = (columns: readonly LakeColumn[], side: 'from' | 'fromHistory') =>
  columns.map((column) => `${column[side]} AS ${quoted(column.name)}`).join(', ');
