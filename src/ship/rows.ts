/** The rows of one table of the mirror, as they are sent. */

import { type Connection, quoted } from '../store/read.ts';
import type { Column, Table } from './columns.ts';
import { copyLine, digestOf, type Given, rangeOf, type Sent, sent, sentKey } from './values.ts';

/** A row as it is sent, column by column. */
export type Row = { key: string; values: readonly Sent[] };

/** @param where SQL over the table of the mirror. */
export function* rowsOf(
  connection: Connection,
  { name, columns, key: [first = ''], job }: Table,
  where = 'true',
): Generator<Row> {
  const keyAt = columns.findIndex((column) => column.name === first);
  const ofJob = job === undefined ? '' : ` AND job = '${job}'`;
  const statement = connection
    .prepare<[], Given[]>(
      `SELECT ${columns.map(({ from }) => from).join(', ')} FROM ${quoted(name)} WHERE ${where}${ofJob}`,
    )
    .raw()
    .safeIntegers();
  for (const given of statement.iterate()) {
    const values = columns.map((column, at) => sentColumn(column, given[at] ?? null));
    yield { key: values[keyAt]?.text ?? '', values };
  }
}

function sentColumn({ name, type }: Column, value: Given): Sent {
  if (name !== '_key') return sent(value, type);
  const text = sentKey(String(value));
  return { text, told: text };
}

const PIECE_LENGTH = 64 * 1024;

/** In pieces that are worth a message each. */
export function* linesOf(rows: Iterable<Row>, counted: () => void = () => undefined): Generator<string> {
  let piece = '';
  for (const { values } of rows) {
    piece += copyLine(values);
    counted();
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  if (piece) yield piece;
}

export function* inRanges(rows: Iterable<Row>, ranges: ReadonlySet<string>): Generator<Row> {
  for (const row of rows) if (ranges.has(rangeOf(row.key))) yield row;
}

/** How many rows a range has, and the sum of their digests. */
export type Range = { rows: number; sum: bigint };

export function rangesOf(rows: Iterable<Row>): Map<string, Range> {
  const ranges = new Map<string, Range>();
  for (const { key, values } of rows) {
    const name = rangeOf(key);
    const range = ranges.get(name) ?? { rows: 0, sum: 0n };
    ranges.set(name, { rows: range.rows + 1, sum: range.sum + digestOf(values) });
  }
  return ranges;
}
