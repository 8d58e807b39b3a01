/** Exporting an answer in the form of a file, with a receipt that says what it was made of. */

import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { openAtomicFile, writing } from '../atomic-file.ts';
import { Failure } from '../errors.ts';
import type { ListedJob } from '../job.ts';
import type { Cell, Rows } from '../output/answer.ts';
import { csv, json, ndjson } from '../output/forms.ts';
import { reportProgress } from '../progress.ts';
import { type Connection, isBeforeRestore, quoted, readMirror, seqOf } from '../store/read.ts';
import { columnNames } from './query/as-of.ts';
import { type Answer, latestSeq, refuseGap, type Source } from './query/sources.ts';
import type { Params } from './query/statement.ts';

export const exportFormats = ['csv', 'ndjson', 'json', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** All times are ISO 8601 UTC. */
export type Order = {
  format: ExportFormat;
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
  { format, exact }: Order,
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
    case 'parquet': {
      const { parquet, parquetTypes } = await import('../output/parquet.ts');
      return { pieces: parquet(rows, about), types: parquetTypes(rows.columns) };
    }
  }
}

/**
 * SQL over a mirrored table for the rows that came (`_change` is `insert`), changed (`update`) or went (`delete`, with
 * their last values) after `since`, with the number of that change in `_seq`. Rows that came and went again meanwhile are
 * left out.
 * @param since ISO 8601 UTC with milliseconds.
 * @throws Failure `usage` where there is no such table, or no change can have come by then.
 */
export function changedSince(
  dir: string,
  { name, table }: Pick<ListedJob, 'name' | 'table'>,
  since: string,
  now: number,
): string {
  return readMirror(dir, (connection) => {
    const columns = columnNames(connection, table);
    if (columns.length === 0) throw new Failure('usage', `there is no table ${table} in the mirror`);
    if (isBeforeRestore(connection, Date.parse(since)))
      throw new Failure(
        'usage',
        `--since: a restore of the mirror took back changes up to ${since}: export all of it, and go on from the receipt's seq`,
      );
    // Before the first change there was no row that could have had another key.
    if (Date.parse(since) > 0 && Date.parse(since) < keysSince(connection, name))
      throw new Failure(
        'usage',
        `--since: rows of ${table} have got other keys since then: export all of it, and go on from the receipt's seq`,
      );
    // Where the clock was put back, the latest change is ahead of it.
    if (Date.parse(since) > Math.max(now, latestSeq(connection, null)))
      throw new Failure('usage', `--since: no change has the number ${Date.parse(since)} yet`);
    const kept = columnNames(connection, `${table}_history`);
    const past = columns.map((name) => (kept.includes(name) ? quoted(name) : 'NULL'));
    return compose(table, columns.map(quoted), kept.length > 0 ? past : undefined, `'${since}'`);
  });
}

/** The number of the last change that gave rows other keys; 0 where none has. */
function keysSince(connection: Connection, job: string): number {
  const find = connection.prepare<[string], number | null>('SELECT keys_seq FROM _datasets WHERE job = ?');
  return find.pluck().get(job) ?? 0;
}

/** @param columnsPast what the history shows of each column; undefined where there is no history. */
function compose(
  table: string,
  columns: readonly string[],
  columnsPast: readonly string[] | undefined,
  since: string,
): string {
  const now = quoted(table);
  const past = quoted(`${table}_history`);
  if (!columnsPast)
    return `SELECT 'insert' AS _change, ${seqOf('_changed_at')} AS _seq, ${columns}
FROM ${now} WHERE _changed_at > ${since} ORDER BY _seq, _key`;
  const stoodThen = (row: string) =>
    `EXISTS (SELECT 1 FROM ${past} AS before WHERE before._key = ${row}._key
    AND before._valid_from <= ${since} AND before._valid_to > ${since})`;
  return `SELECT CASE WHEN ${stoodThen('row')} THEN 'update' ELSE 'insert' END AS _change,
  ${seqOf('_changed_at')} AS _seq, ${columns}
FROM ${now} AS row WHERE _changed_at > ${since}
UNION ALL
SELECT 'delete', ${seqOf('_valid_to')}, ${columnsPast}
FROM ${past} AS row WHERE _ended_by = 'delete' AND _valid_to > ${since} AND ${stoodThen('row')}
  AND NOT EXISTS (SELECT 1 FROM ${now} AS again WHERE again._key = row._key)
  AND NOT EXISTS (SELECT 1 FROM ${past} AS later WHERE later._key = row._key AND later._valid_to > row._valid_to)
ORDER BY _seq, _key`;
}

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
