/** Exporting an answer in the form of a file, with a receipt that says what it was made of. */

import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { openAtomicFile, writing } from '../base/atomic-file.ts';
import { Failure } from '../base/errors.ts';
import { reportProgress } from '../base/progress.ts';
import type { ListedJob } from '../job.ts';
import type { Cell, Rows } from '../output/answer.ts';
import { csv, html, json, markdown, ndjson } from '../output/forms.ts';
import { quoted, readMirror } from '../store/read.ts';
import { gapAfter, outcomeSql } from './changes.ts';
import { columnNames } from './query/as-of.ts';
import { type Answer, latestSeq, refuseGap, type Source } from './query/sources.ts';
import type { Params } from './query/statement.ts';

export const exportFormats = ['csv', 'ndjson', 'json', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Those that reports know as well. */
export const fileFormats = [...exportFormats, 'md', 'html'] as const;
export type FileFormat = (typeof fileFormats)[number];

/** All times are ISO 8601 UTC. */
export type Order = {
  format: FileFormat;
  /** CSV: keep cells that a spreadsheet would run as formulas. */
  exact: boolean;
  sql: string;
  params: Params;
  /** The job whose dataset it is, where it was named instead of SQL. */
  job: string | null;
  asOf: string | null;
  /** Only what changed after that time. */
  since: string | null;
  exportedAt: string;
  /** Name and version of the program. */
  by: string;
  /** The report whose result it is. */
  report?: { name: string; title: string };
};

/** What a file was made of. Within one `version` members are added, never removed or changed in meaning. */
export type Receipt = Exported & Delivered;

export type Exported = Omit<Order, 'exact'> & {
  version: 1;
  rows: number;
  columns: { name: string; type: string | null }[];
  /** Every dataset that it was made from, with the walk that proves it and how many rows are in quarantine. */
  sources: Source[];
  /** The latest change that it can show: where `--since` goes on from. */
  seq: number;
  /** CSV: whether cells got an apostrophe against formulas, and how many. */
  csv: { exact: boolean; defused: number } | null;
};

/**
 * Hands the file to `write`, piece by piece, until that returns false: the reader has gone.
 * @throws Failure `usage` where changes after `order.since` have been dropped.
 */
export async function exportAnswer(
  answer: Answer,
  order: Order,
  write: (piece: string | Uint8Array) => Promise<boolean>,
): Promise<Exported> {
  const { columns, sources, seq } = answer;
  // Checked as of the moment of the rows: history is dropped at any time.
  if (order.since !== null) refuseGap(sources, order.since);
  const { exact, ...request } = order;
  const params = Object.fromEntries(
    Object.entries(order.params).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? String(value) : value,
    ]),
  );
  const facts = { version: 1, ...request, params, sources, seq } as const;
  const written = { rows: 0 };
  const expected =
    order.since === null ? (sources.find(({ job }) => job === order.job)?.proof?.rows ?? null) : null;
  const defused = { cells: 0 };
  const form = await formOf(
    { columns, batches: counted(answer.batches, written, order.job ?? 'rows', expected) },
    order,
    facts,
    defused,
  );
  for await (const piece of form.pieces) if (!(await write(piece))) break;
  return {
    ...facts,
    rows: written.rows,
    columns: columns.map(({ name }, at) => ({ name, type: form.types[at] ?? null })),
    csv: order.format === 'csv' ? { exact, defused: defused.cells } : null,
  };
}

async function* counted(
  batches: Rows['batches'],
  written: { rows: number },
  what: string,
  total: number | null,
): AsyncGenerator<Cell[][], void> {
  for await (const batch of batches) {
    written.rows += batch.length;
    reportProgress({ what, unit: 'rows', done: written.rows, total });
    yield batch;
  }
}

/** The pieces of the file, and the types that the columns have in its form. */
async function formOf(
  rows: Rows,
  { format, exact, report }: Order,
  about: unknown,
  defused: { cells: number },
): Promise<{ pieces: AsyncGenerator<string | Uint8Array, void>; types: (string | null)[] }> {
  const types = rows.columns.map(({ type }) => type);
  switch (format) {
    case 'csv':
      return { pieces: csv(rows, exact, defused), types };
    case 'ndjson':
      return { pieces: ndjson(rows), types };
    case 'json':
      return { pieces: json(rows), types };
    case 'md':
      return { pieces: markdown(rows, report?.title), types };
    case 'html':
      return { pieces: html(rows, report?.title), types };
    case 'parquet': {
      const { parquet, parquetTypes } = await import('../output/parquet.ts');
      return { pieces: parquet(rows, about), types: parquetTypes(rows.columns) };
    }
  }
}

/**
 * SQL for what became of the rows of a dataset since a time, see `outcomeSql`.
 * @param since ISO 8601 UTC with milliseconds.
 * @throws Failure `usage` where there is no such table, no change can have come by then, or readers begin anew since.
 */
export function changedSince(
  dir: string,
  job: Pick<ListedJob, 'name' | 'table' | 'history'>,
  since: string,
  now: number,
  withBody = false,
): string {
  const { table } = job;
  return readMirror(dir, (connection) => {
    const present = columnNames(connection, table).filter((name) => withBody || name !== BODY);
    if (present.length === 0) throw new Failure('usage', `there is no table ${table} in the mirror`);
    const gap = gapAfter(connection, job, Date.parse(since));
    // Of what was forgotten, `refuseGap` tells as of the moment of the rows.
    if (gap === 'restored' || gap === 'keys')
      throw new Failure(
        'usage',
        `--since: ${gap === 'keys' ? `rows of ${table} have got other keys since then` : `a restore of the mirror took back changes up to ${since}`}: export all of it, and go on from the receipt's seq`,
      );
    // Where the clock was put back, the latest change is ahead of it.
    if (Date.parse(since) > Math.max(now, latestSeq(connection, null)))
      throw new Failure('usage', `--since: no change has the number ${Date.parse(since)} yet`);
    return outcomeSql(job, { present, past: columnNames(connection, `${job.history}`) }, since);
  });
}

/** SQL for all of a table or view; without the body of its rows, unless that is wanted: it says everything once more. */
export function wholeSql(dir: string, table: string, withBody: boolean): string {
  const all = `SELECT * FROM ${quoted(table)}`;
  if (withBody) return all;
  return readMirror(dir, (connection) => {
    const columns = columnNames(connection, table);
    const shown = columns.filter((name) => name !== BODY);
    return shown.length === columns.length
      ? all
      : `SELECT ${shown.map(quoted).join(', ')} FROM ${quoted(table)}`;
  });
}

const BODY = '_body';

/** A file as it was delivered: its name, its length, its digest. */
type Delivered = { file: string; bytes: number; sha256: string };

/**
 * The file, and its receipt beside it: both are begun, or none.
 * @param force whether files that are there may be replaced.
 * @throws Failure as `openAtomicFile` does.
 */
export async function openFiles(output: string, force: boolean) {
  const data = await openDigested(output, force);
  const meta = await openDigested(`${output}.meta.json`, force).catch(async (thrown: unknown) => {
    await data.discard();
    throw thrown;
  });
  return {
    /** Resolves to true: a file takes everything. */
    async write(piece: string | Uint8Array): Promise<true> {
      await data.write(piece);
      return true;
    },
    /** Puts both files where they belong; the receipt adds to `exported` what it says of the file. */
    async commit<Described extends object>(exported: Described): Promise<Described & Delivered> {
      const receipt = { ...exported, file: basename(output), ...(await data.commit()) };
      await meta.write(`${JSON.stringify(receipt, null, 2)}\n`);
      await meta.commit();
      return receipt;
    },
    /** Leaves nothing behind, unless the files were committed. */
    async close(): Promise<void> {
      await data.discard();
      await meta.discard();
    },
  };
}

/** A file with the digest of what was written to it. */
async function openDigested(path: string, force: boolean) {
  const file = await openAtomicFile(path, force);
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    async write(piece: string | Uint8Array): Promise<void> {
      const data = typeof piece === 'string' ? Buffer.from(piece) : piece;
      hash.update(data);
      bytes += data.length;
      await writing(path, async () => {
        for (let from = 0; from < data.length; ) from += (await file.handle.write(data, from)).bytesWritten;
      });
    },
    async commit(): Promise<{ bytes: number; sha256: string }> {
      await file.commit();
      return { bytes, sha256: hash.digest('hex') };
    },
    discard: file.discard,
  };
}
