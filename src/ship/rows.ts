/** The rows of one table of the mirror, as they are sent. */

import { type Connection, quoted } from '../store/read.ts';
import type { Table } from './columns.ts';
import { copyLine, digestOf, type Given, rangeOf, type Sent, senderOf, sentKey } from './values.ts';

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
  const list = columns.map(({ from }) => from).join(', ');
  const statement = connection
    .prepare<[], Given[]>(`SELECT ${list} FROM ${quoted(name)} WHERE ${where}${ofJob}`)
    .raw()
    .safeIntegers();
  const senders = columns.map(({ name, type }) => (name === '_key' ? sentKey : senderOf(type)));
  for (const row of statement.iterate()) {
    const values = senders.map((send, at) => send(row[at] ?? null));
    yield { key: values[keyAt] ?? '', values };
  }
}

const typesOf = ({ columns }: Table) => columns.map(({ type }) => type);

const PIECE_LENGTH = 64 * 1024;

/** In pieces that are worth a message each. */
export function* linesOf(
  table: Table,
  rows: Iterable<Row>,
  counted: () => void = () => undefined,
): Generator<string> {
  const types = typesOf(table);
  let piece = '';
  for (const { values } of rows) {
    piece += copyLine(values, types);
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

export function rangesOf(table: Table, rows: Iterable<Row>): Map<string, Range> {
  const types = typesOf(table);
  const ranges = new Map<string, Range>();
  for (const { key, values } of rows) {
    const name = rangeOf(key);
    const range = ranges.get(name) ?? { rows: 0, sum: 0n };
    ranges.set(name, { rows: range.rows + 1, sum: range.sum + digestOf(values, types) });
  }
  return ranges;
}
