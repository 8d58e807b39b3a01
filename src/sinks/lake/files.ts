/** A file of the lake: rows as Parquet, and the receipt beside it, which is also within the file but for its length and digest. */

import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { ListedJob } from '../../job-list.ts';
import { type Cell, type Column, fits, type Holding, microsOf, surveyRows } from '../../output/answer.ts';
import { parquetTypes, parquetWriter } from '../../output/parquet.ts';
import { reportingRows } from '../../progress.ts';
import { type ColumnType, columnsOfJob, isHeldColumn } from '../../reading/columns.ts';
import type { Source } from '../../reading/query/sources.ts';
import { type ChangeSource, type Connection, changeSources, quoted, seqOf } from '../../store/read.ts';
import { changedAfter, positionOf } from '../follow.ts';
import { json, readJson, type Spool, type Spooled, type Storage } from './storage.ts';

/** What a file was made of. Within one `version` members are added, never removed or changed in meaning. */
export type About = {
  version: 1;
  job: string;
  /** The latest change that it shows. */
  seq: number;
  /** Of a file of changes: those after `from`, up to `seq`, on that course of the mirror. */
  changes: Changes | null;
  /** The dataset, with the walk that proves it and how many rows are in quarantine. */
  source: Source;
  exportedAt: string;
  by: string;
  columns: { name: string; type: string }[];
};

type Changes = {
  from: number;
  /** Number of the folder, and of the mirror's own: see its table `identity`. */
  course: number;
  epoch: string;
  /** Number and beginning of the latest walk. */
  lastWalk: string;
};

/** What a file holds. */
type Written = { about: About; rows: number };

/** What lies beside it. */
export type Receipt = About & { rows: number; file: string; bytes: number; sha256: string };

const BATCH = 1_000;

/** @param columns of the statement, in its order. */
export function writeParquet(
  connection: Connection,
  sql: string,
  columns: readonly Pick<LakeColumn, 'name' | 'holds'>[],
  about: Omit<About, 'version' | 'columns'>,
  spool: Spool,
): Written {
  const statement = connection.prepare<[], unknown[]>(sql).raw().safeIntegers();
  function* read() {
    for (const row of statement.iterate())
      yield row.map((value, at) => valueAs(value, columns[at]?.holds ?? 'text'));
  }
  const surveyed = surveyRows(read(), columns.length);
  const fileColumns = columns.map(
    ({ name, holds }, at): Column => ({
      name,
      type: null,
      holds: fits(holds, surveyed[at] ?? 'nothing') ? holds : 'text',
    }),
  );
  const types = parquetTypes(fileColumns);
  const whole: About = {
    version: 1,
    ...about,
    columns: fileColumns.map(({ name }, at) => ({ name, type: types[at] ?? '' })),
  };
  const writer = parquetWriter(fileColumns, whole);
  let rows = 0;
  let batch: Cell[][] = [];
  const flush = () => {
    spool.write(writer.rows(batch));
    rows += batch.length;
    batch = [];
  };
  const total = () => Number(connection.prepare(`SELECT count(*) FROM (${sql})`).pluck().get());
  for (const row of reportingRows(read(), about.job, total)) {
    batch.push(row);
    if (batch.length === BATCH) flush();
  }
  flush();
  spool.write(writer.end());
  return { about: whole, rows };
}

/** The receipt of a file, written after it; where it lacks, it is made of the file. Readers of Parquet skip names that begin with `_`. */
export const receiptPath = (path: string) =>
  join(dirname(path), `_${basename(path).replace(/\.parquet$/, '.json')}`);

/**
 * Puts a file there, unless there is one, and its receipt, in place of that of a file that was removed.
 * @returns undefined where there was a file.
 */
export async function putWithReceipt(
  storage: Storage,
  path: string,
  write: (spool: Spool) => Written,
): Promise<Receipt | undefined> {
  let written: Written | undefined;
  const put = await storage.put(path, (spool) => {
    written = write(spool);
  });
  if (!put || !written) return undefined;
  const receipt = receiptOf(path, written, put);
  await storage.replace(receiptPath(path), json(receipt));
  return receipt;
}

/** The receipt of a file that is there, which is put beside it where it is lacking. */
export async function ensureReceipt(storage: Storage, path: string): Promise<Receipt> {
  const known = await readJson<Receipt>(storage, receiptPath(path));
  if (known) return known;
  const receipt = await receiptOfFile(storage, path);
  await storage.put(receiptPath(path), json(receipt));
  return receipt;
}

async function receiptOfFile(storage: Storage, path: string): Promise<Receipt> {
  const data = await storage.read(path);
  if (!data) throw new Failure('incomplete', `${storage.shown}: ${path} went away while it was looked at`);
  const sha256 = createHash('sha256').update(data).digest('hex');
  return receiptOf(path, await readFooter(path, data), { bytes: data.length, sha256 });
}

const receiptOf = (
  path: string,
  { about, rows }: Written,
  { bytes, sha256 }: Pick<Spooled, 'bytes' | 'sha256'>,
): Receipt => ({ ...about, rows, file: basename(path), bytes, sha256 });

/** @throws Failure `config` for a file that is not one of ours. */
async function readFooter(path: string, data: Buffer): Promise<Written> {
  const { parquetMetadata } = await import('hyparquet');
  try {
    const { key_value_metadata: own = [], num_rows: rows } = parquetMetadata(
      data.buffer.slice(data.byteOffset, data.byteOffset + data.length) as ArrayBuffer,
    );
    const about = own.find(({ key }) => key === 'market-mirror')?.value ?? '';
    return { about: JSON.parse(about) as About, rows: Number(rows) };
  } catch (thrown) {
    throw new Failure(
      'config',
      `${path} is no file that market-mirror has written: move it away, or name another lake`,
      { cause: thrown },
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
  holds: Holding;
};

const holdings: Record<ColumnType, Holding> = {
  text: 'text',
  json: 'text',
  numeric: 'text',
  boolean: 'boolean',
  bigint: 'integer',
  'double precision': 'real',
  'timestamp with time zone': 'timestamp',
};

/** Folders are named `course=…` and `date=…`: readers make a column of each, which hides a column of the same name. */
const FOLDER_COLUMNS: readonly string[] = ['course', 'date'];

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
export function valueAs(value: unknown, holds: Holding): Cell {
  if (holds === 'integer' && Number.isSafeInteger(value)) return BigInt(value as number);
  if (holds !== 'timestamp') return value as Cell;
  if (typeof value !== 'string') return null;
  const cut = value.replace(/(\.\d{6})\d+/, '$1');
  return microsOf(cut) === undefined ? null : cut;
}

/** SQL that names them all, over the dataset's table or over its history. */
const listed = (columns: readonly LakeColumn[], side: 'from' | 'fromHistory') =>
  columns.map((column) => `${column[side]} AS ${quoted(column.name)}`).join(', ');

/** SQL for the rows of the dataset as they are now. */
export function rowsSql(job: ListedJob, columns: readonly LakeColumn[]): string {
  return `SELECT ${listed(columns, 'from')}
FROM ${quoted(job.table)} ORDER BY _key`;
}

/** The same as they were after a change; of a history that goes back so far. */
export function snapshotSql(job: ListedJob, columns: readonly LakeColumn[], seq: number): string {
  const at = `'${isoTime(seq)}'`;
  const now = `SELECT ${listed(columns, 'from')} FROM ${quoted(job.table)} WHERE _changed_at <= ${at}`;
  if (job.history === null) return now;
  return `${now}
UNION ALL SELECT ${listed(columns, 'fromHistory')} FROM ${quoted(job.history)} WHERE _valid_from <= ${at} AND _valid_to > ${at}`;
}

/** Changes with a greater number than `from`, up to `to`; see the view `changes`. */
export type Range = { from: number; to: number };

/** So many changes go into a file, at most, unless a single commit has made more. */
const MAX_ROWS_PER_FILE = 250_000;

/** SQL for the changes of a range, in their order: `_change` and `_seq`, then the columns. */
export function changesSql(
  connection: Connection,
  job: ListedJob,
  columns: readonly LakeColumn[],
  range: Range,
): string {
  const selects = changedIn(connection, job, range).map(({ change, at, from }) => {
    const list = listed(columns, isNow(at) ? 'from' : 'fromHistory');
    return `SELECT ${change} AS _change, ${seqOf(at)} AS _seq, ${list} FROM ${from}`;
  });
  return `${selects.join('\nUNION ALL\n')}\nORDER BY _seq, _key, _change`;
}

/** Where a dataset has changed after `from`, cut at days (UTC) and at many rows, always between two commits. */
export function* rangesOf(connection: Connection, job: ListedJob, whole: Range): Generator<Range> {
  const seqs = changedIn(connection, job, whole)
    .map(({ at, from }) => `SELECT ${seqOf(at)} AS seq FROM ${from}`)
    .join(' UNION ALL ');
  const commits = connection
    .prepare<[], { seq: number; rows: number }>(
      `SELECT seq, count(*) AS rows FROM (${seqs}) GROUP BY seq ORDER BY seq`,
    )
    .all();
  let { from } = whole;
  let [to, rows] = [from, 0];
  for (const commit of commits) {
    const isNext = rows > 0 && (rows + commit.rows > MAX_ROWS_PER_FILE || dayOf(commit.seq) !== dayOf(to));
    if (isNext) {
      yield { from, to };
      [from, rows] = [to, 0];
    }
    to = commit.seq;
    rows += commit.rows;
  }
  if (rows > 0) yield { from, to };
}

/** The number of its first change that is known; undefined where there is none. */
export function firstSeq(connection: Connection, job: ListedJob): number | undefined {
  const firsts = changeSources(job).map(({ at, source }) =>
    connection
      .prepare<[], number | null>(`SELECT min(${seqOf(at)}) FROM ${source}`)
      .pluck()
      .get(),
  );
  const known = firsts.filter((seq) => typeof seq === 'number');
  return known.length > 0 ? Math.min(...known) : undefined;
}

export const dayOf = (seq: number) => isoTime(seq).slice(0, 10);

type Changed = Pick<ChangeSource, 'change' | 'at'> & { from: string };

const isNow = (at: ChangeSource['at']) => at === '_changed_at';

/** The rows and versions that began or ended in a range. */
function changedIn(connection: Connection, job: ListedJob, { from, to }: Range): Changed[] {
  // Rows whose earlier versions were forgotten are found only by looking at all.
  const isForgotten = isoTime(from) < positionOf(connection, job).historyFrom;
  const changed = isForgotten ? { rows: 'true', versions: 'true' } : changedAfter(connection, job, from);
  return changeSources({ ...job, history: job.versions }).map(({ change, at, source, where }) => ({
    ...{ change, at },
    from: `${source} WHERE ${isNow(at) ? changed.rows : changed.versions}
  AND ${at} > '${isoTime(from)}' AND ${at} <= '${isoTime(to)}' AND ${where ?? 'true'}`,
  }));
}
