/** Whether a lake is whole: every file there, as it was put there, with the rows that the mirror has. */

import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { isoTime } from '../../clock.ts';
import { microsOf } from '../../output/answer.ts';
import { reportingRows, reportProgress } from '../../progress.ts';
import type { Connection } from '../../store/read.ts';
import { differenceWords, isDifferent, positionOf, type RowDifference } from '../follow.ts';
import {
  changeColumns,
  changesPath,
  courseFolder,
  type DatasetParts,
  hasAllAfter,
  inReadTransaction,
  type LatestCourse,
  latestCourse,
  provenAfter,
  putRange,
  seqsIn,
  snapshotFiles,
} from './dataset.ts';
import {
  changesSql,
  ensureReceipt,
  type LakeColumn,
  type Range,
  type Receipt,
  snapshotSql,
  stableColumns,
  valueAs,
} from './files.ts';
import type { Storage } from './storage.ts';

export type Verified = {
  job: string;
  /** Files of changes and snapshots, and the rows in them. */
  files: number;
  rows: number;
  /** Of those files: from times of which the mirror has forgotten much, so that their digests alone were compared. */
  older: number;
  differences: Difference[];
};

export type Difference = {
  /** The path in the lake. */
  file: string;
  /** What is wrong with it, in a line. */
  message: string;
  /** Whether that is over. */
  mended: boolean;
};

/** A dataset with its course, and what is found. `comparesRows`: with the mirror, or only files with their receipts. */
type Verification = DatasetParts & {
  comparesRows: boolean;
  course: LatestCourse | undefined;
  verified: Verified;
};

async function beginVerification(parts: DatasetParts, comparesRows: boolean): Promise<Verification> {
  const verified = { job: parts.job.name, files: 0, rows: 0, older: 0, differences: [] };
  return { ...parts, comparesRows, course: await latestCourse(parts.storage, parts.job), verified };
}

function addDifference({ verified }: Verification, file: string, message: string, mended = false): void {
  verified.differences.push({ file, message, mended });
}

/** Looks at the files of one dataset; puts there again what is missing and still known. */
export async function verifyDataset(parts: DatasetParts): Promise<Verified> {
  const verification = await beginVerification(parts, true);
  await verifyChanges(verification);
  await verifySnapshots(verification);
  return verification.verified;
}

/** Compares them with their receipts, without writing. What is proven and not there yet differs, too. */
export async function checkDataset(parts: DatasetParts): Promise<Verified> {
  const { connection, job, identity } = parts;
  const nothing = async () => undefined;
  const storage: Storage = { ...parts.storage, put: nothing, replace: nothing, remove: nothing };
  const verification = await beginVerification({ ...parts, storage }, false);
  const { course, verified } = verification;
  const folder = courseFolder(job, course?.number ?? 1);
  if (course && course.epoch !== identity.epoch) {
    addDifference(
      verification,
      folder,
      'is of before a backup was restored: the next lake begins another course',
    );
    return verified;
  }
  const reached = await verifyChanges(verification);
  const [first] = provenAfter(connection, job, reached);
  if (first) addDifference(verification, folder, `changes after ${first.from} are not there yet`);
  await verifySnapshots(verification);
  return verified;
}

/** @returns the change up to which files are there. */
async function verifyChanges(verification: Verification): Promise<number> {
  const { connection, job, course } = verification;
  if (!course) return 0;
  const isKnown = ({ from }: Range) => hasAllAfter(from, course.historyFrom, positionOf(connection, job));
  let expected = course.from;
  for (const path of await changeFiles(verification, course.number)) {
    const from = Number.parseInt(basename(path), 10);
    if (from !== expected) {
      const missing = { from: expected, to: from };
      const canPut = expected < from && isKnown(missing);
      const isMended = canPut && (await putRange(verification, course, missing)) !== undefined;
      const file = changesPath(job, course.number, missing);
      addDifference(verification, file, `changes after ${expected}, up to ${from}, are missing`, isMended);
    }
    const receipt = await verifyFile(verification, path, ({ seq: to }) => {
      if (!isKnown({ from, to })) return undefined;
      const columns = stableColumns(connection, job);
      const sql = changesSql(connection, job, columns, { from, to });
      return { columns: [...changeColumns, ...columns], sql, key: ['_seq', '_key', '_change'] };
    });
    expected = receipt?.seq ?? from;
  }
  return expected;
}

async function verifySnapshots(verification: Verification): Promise<void> {
  const { storage, connection, job, course } = verification;
  // Those from before a backup was restored are of another past.
  const begunAt = course?.begunAt ?? '';
  for (const path of await snapshotFiles(storage, job))
    await verifyFile(verification, path, ({ seq, exportedAt }) => {
      const { historyFrom } = positionOf(connection, job);
      const columns = stableColumns(connection, job);
      const hasPast = historyFrom === '' || (job.history !== null && isoTime(seq) >= historyFrom);
      if (!hasPast || exportedAt < begunAt) return undefined;
      return { columns, sql: snapshotSql(job, columns, seq), key: ['_key'] };
    });
}

/** In their order. What else lies among them is named: a reader would take it for changes. */
async function changeFiles(verification: Verification, course: number): Promise<string[]> {
  const { storage, job } = verification;
  const folder = courseFolder(job, course);
  const found: string[] = [];
  for (const day of (await storage.list(folder)).folders.sort()) {
    const { files } = await storage.list(`${folder}/${day}`);
    const own = seqsIn(files)
      .sort((one, other) => one - other)
      .map((seq) => `${seq}.parquet`);
    found.push(...own.map((name) => `${folder}/${day}/${name}`));
    for (const name of files)
      if (name.endsWith('.parquet') && !own.includes(name))
        addDifference(verification, `${folder}/${day}/${name}`, 'is no file of the lake: move it away');
  }
  return found;
}

/** @returns its receipt; undefined where the file cannot be believed. */
async function verifyFile(
  verification: Verification,
  path: string,
  expectedRows: (receipt: Receipt) => ExpectedRows | undefined,
): Promise<Receipt | undefined> {
  const { storage, connection, comparesRows, verified } = verification;
  const differs = (message: string) => addDifference(verification, path, message);
  verified.files += 1;
  const data = await storage.read(path);
  if (!data) return void differs('went away while it was looked at');
  let receipt: Receipt;
  try {
    receipt = await ensureReceipt(storage, path);
  } catch {
    return void differs('is damaged: it cannot be read');
  }
  verified.rows += receipt.rows;
  const digest = createHash('sha256').update(data).digest('hex');
  if (digest !== receipt.sha256) {
    differs(
      `is damaged: ${data.length} bytes with another digest than its receipt has (${receipt.bytes} bytes)`,
    );
    return receipt;
  }
  if (!comparesRows) return receipt;
  const compared = await compareRows(connection, data, () => expectedRows(receipt));
  if (!compared) verified.older += 1;
  else if (isDifferent(compared)) differs(`its rows differ from the mirror's: ${differenceWords(compared)}`);
  return receipt;
}

/** What the mirror has of a file. */
type ExpectedRows = {
  /** In the order of `columns`. */
  sql: string;
  columns: readonly Pick<LakeColumn, 'name' | 'holds'>[];
  /** The columns by which rows are told apart. */
  key: readonly string[];
};

const text = new TextDecoder('utf-8', { ignoreBOM: true });

/** Times in full, and texts with a U+FEFF at their beginning, which the reader of Parquet would drop. */
const parsers = {
  timestampFromMicroseconds: (micros: bigint) => micros,
  stringFromBytes: (bytes: Uint8Array | undefined) => bytes && text.decode(bytes),
};

const MAX_KEYS_NAMED = 5;
const ROWS_AT_ONCE = 25_000;

/**
 * Columns that the file lacks, for they were found later, are passed over; and so are those that the mirror is not asked for.
 * @param wanted called at the moment at which the mirror is read; undefined where it has forgotten that.
 * @returns undefined where it has.
 */
async function compareRows(
  connection: Connection,
  data: Buffer,
  expectedRows: () => ExpectedRows | undefined,
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
    const expected = expectedRows();
    return expected && rowsHere(connection, expected, types, Number(metadata.num_rows));
  });
  if (!mirrored) return undefined;
  const { here, names, key } = mirrored;

  const keys: string[] = [];
  const compared = { missing: 0, extra: 0, changed: 0, keys };
  const found = (what: 'missing' | 'extra' | 'changed', name: string) => {
    compared[what] += 1;
    if (keys.length < MAX_KEYS_NAMED) keys.push(name);
  };
  for (let from = 0; from < Number(metadata.num_rows); from += ROWS_AT_ONCE) {
    const rows = await parquetReadObjects({
      ...{ file, metadata, columns: names, rowStart: from },
      rowEnd: Math.min(from + ROWS_AT_ONCE, Number(metadata.num_rows)),
      parsers,
    });
    const all = Number(metadata.num_rows);
    reportProgress({ what: 'comparing a file', unit: 'rows', done: from, total: all });
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
  { sql, columns, key }: ExpectedRows,
  types: ReadonlyMap<string, string | undefined>,
  rowsOfFile: number,
) {
  const present = columns.map(({ name }) => types.has(name));
  const names = columns.map(({ name }) => name).filter((_, at) => present[at]);
  const keyAt = key.map((name) => columns.findIndex((column) => column.name === name));
  const here = new Map<string, string>();
  const rows = connection.prepare<[], unknown[]>(sql).raw().safeIntegers().iterate();
  for (const row of reportingRows(rows, 'reading the mirror', () => rowsOfFile)) {
    const values = columns.map(({ name, holds }, at) => inType(valueAs(row[at], holds), types.get(name)));
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
  // A column that has become wider shows `1.0` and `-0` as JSON has them.
  if (type === 'INT64' && Number.isSafeInteger(Number(value))) return String(Number(value));
  if (type === 'BOOLEAN') return value === 1n || value === 'true';
  if (type === 'TIMESTAMP_MICROS') return microsOf(value as string) ?? null;
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
}
