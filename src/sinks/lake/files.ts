/** A file of the lake: rows as Parquet, and the receipt beside it, which is also within the file but for its length and digest. */

import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../../errors.ts';
import { type Cell, type Column, fits, surveyRows } from '../../output/answer.ts';
import { parquetTypes, parquetWriter } from '../../output/parquet.ts';
import { reportingRows } from '../../progress.ts';
import type { Source } from '../../reading/query/sources.ts';
import type { Connection } from '../../store/read.ts';
import { type LakeColumn, valueAs } from './rows.ts';
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
  const surveyed = surveyRows(statement.iterate(), columns.length);
  const held = columns.map(
    ({ name, holds }, at): Column => ({
      name,
      type: null,
      holds: fits(holds, surveyed[at] ?? 'nothing') ? holds : 'text',
    }),
  );
  const types = parquetTypes(held);
  const whole: About = {
    version: 1,
    ...about,
    columns: held.map(({ name }, at) => ({ name, type: types[at] ?? '' })),
  };
  const writer = parquetWriter(held, whole);
  let rows = 0;
  let batch: Cell[][] = [];
  const flush = () => {
    spool.write(writer.rows(batch));
    rows += batch.length;
    batch = [];
  };
  const total = () => Number(connection.prepare(`SELECT count(*) FROM (${sql})`).pluck().get());
  for (const row of reportingRows(statement.iterate(), about.job, total)) {
    batch.push(row.map((value, at) => valueAs(value, held[at]?.holds ?? 'text')));
    if (batch.length === BATCH) flush();
  }
  flush();
  spool.write(writer.end());
  return { about: whole, rows };
}

/**
 * The receipt of a file lies beside it, and comes after it: where a lake was killed between the two, it is made of the file.
 * Readers of Parquet pass over what begins with `_`.
 */
export const receiptPath = (path: string) =>
  join(dirname(path), `_${basename(path).replace(/\.parquet$/, '.json')}`);

/**
 * Puts a file there, unless there is one, and its receipt. A receipt that is there already is that of a file which somebody
 * has removed. @returns undefined where there was a file.
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
