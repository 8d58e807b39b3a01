/** Exporting an answer in the form of a file, with a receipt that says what it was made of. */

import type { Cell, Rows } from '../output/answer.ts';
import { csv, json, ndjson } from '../output/forms.ts';
import type { Delivered } from './export/files.ts';
import { type Answer, refuseGap, type Source } from './query/sources.ts';
import type { Params } from './query/statement.ts';

export { openFiles } from './export/files.ts';
export { changedSince } from './export/since.ts';

export const exportFormats = ['csv', 'ndjson', 'json', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** What was asked; all times are ISO 8601 UTC. */
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
 * Hands the file to `write`, piece by piece, until that returns false: nobody takes more.
 * @throws Failure `usage` where changes after `order.since` have been dropped.
 */
export async function exportAnswer(
  answer: Answer,
  order: Order,
  write: (piece: string | Uint8Array) => Promise<boolean>,
): Promise<Exported> {
  const { columns, sources, seq } = answer;
  // Of the same moment as the rows: what is old is dropped at any time.
  if (order.since !== null) refuseGap(sources, order.since);
  const { exact, ...asked } = order;
  const params = Object.fromEntries(
    Object.entries(order.params).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? String(value) : value,
    ]),
  );
  const facts = { version: 1, ...asked, params, sources, seq } as const;
  const written = { rows: 0 };
  const defused = { cells: 0 };
  const form = await formOf({ columns, batches: counted(answer.batches, written) }, order, facts, defused);
  for await (const piece of form.pieces) if (!(await write(piece))) break;
  return {
    ...facts,
    rows: written.rows,
    columns: columns.map(({ name }, at) => ({ name, type: form.types[at] ?? null })),
    csv: order.format === 'csv' ? { exact, defused: defused.cells } : null,
  };
}

async function* counted(batches: Rows['batches'], written: { rows: number }): AsyncGenerator<Cell[][], void> {
  for await (const batch of batches) {
    written.rows += batch.length;
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
