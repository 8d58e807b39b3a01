/** The rows of one table of the mirror: as lines that are sent, and as sums that are compared. */

import type { Column } from '../../reading/columns.ts';
import { type Connection, quoted } from '../../store/read.ts';
import { inPieces } from './pieces.ts';
import type { Table } from './tables.ts';
import { copied, digestOf, type Given, rangeOf, senderOf, sentKey } from './values.ts';

/** All rows, unless given: those of which some SQL over the table of the mirror is true; those of some ranges. */
export type Which = { where?: string; ranges?: ReadonlySet<string> };

/** In the text form of COPY, in pieces that are worth a message each. @param count called for each row. */
export function* linesOf(
  connection: Connection,
  table: Table,
  { where, ranges }: Which,
  count: () => void,
): Generator<Buffer> {
  const types = table.columns.map(({ type }) => type);
  const senders = table.columns.map(sender);
  const keyOf = keyIn(table);
  const pieces = inPieces();
  for (const row of valuesOf(connection, table, where)) {
    if (ranges && !ranges.has(rangeOf(keyOf(row)))) continue;
    let line = '';
    for (let at = 0; at < senders.length; at += 1) {
      if (at > 0) line += '\t';
      line += copied(row[at] ?? null, types[at] ?? 'text', senders[at] ?? sentKey);
    }
    count();
    yield* pieces.add(`${line}\n`);
  }
  yield* pieces.rest();
}

/** How many rows a range has, and the sum of their digests. */
export type Range = { rows: number; sum: bigint };

export function rangesOf(connection: Connection, table: Table): Map<string, Range> {
  const types = table.columns.map(({ type }) => type);
  const senders = table.columns.map(sender);
  const keyOf = keyIn(table);
  const ranges = new Map<string, Range>();
  for (const row of valuesOf(connection, table)) {
    const name = rangeOf(keyOf(row));
    const range = ranges.get(name) ?? { rows: 0, sum: 0n };
    const sent = senders.map((send, at) => send(row[at] ?? null));
    ranges.set(name, { rows: range.rows + 1, sum: range.sum + digestOf(sent, types) });
  }
  return ranges;
}

function valuesOf(
  connection: Connection,
  { of, columns, job }: Table,
  where = 'true',
): Iterable<readonly Given[]> {
  const ofJob = job === undefined ? '' : ` AND job = '${job}'`;
  const list = columns.map(({ from }) => from).join(', ');
  const sql = `SELECT ${list} FROM ${quoted(of)} WHERE (${where})${ofJob}`;
  return connection.prepare<[], Given[]>(sql).raw().safeIntegers().iterate();
}

const sender = ({ name, type }: Pick<Column, 'name' | 'type'>) =>
  name === '_key' ? sentKey : senderOf(type);

/** What says to which range a row belongs. */
function keyIn({ columns, key: [first] }: Table): (row: readonly Given[]) => string {
  const at = columns.findIndex(({ name }) => name === first);
  const send = sender(columns[at] ?? { name: '', type: 'text' });
  return (row) => send(row[at] ?? null) ?? '';
}
