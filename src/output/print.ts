/** Printing: at the pace of the reader, rows in the form that is asked for. */

import { type EventEmitter, once } from 'node:events';
import { printableLines } from '../printable.ts';
import type { Column, Format, Formatter, Rows } from './answer.ts';
import { type CsvFormatter, csvFormatter } from './csv.ts';
import { jsonFormatter, ndjsonFormatter } from './json.ts';
import { mdFormatter } from './md.ts';
import { type TableFormatter, tableFormatter } from './table.ts';
import { paintFor } from './text.ts';

export type Output = { write(text: string): void; isTTY?: boolean; columns?: number };

/** Resolves when more may be written: to false where the reader has gone, as `head` does, and nobody takes more. */
export type Write = (piece: string | Uint8Array) => Promise<boolean>;

/** @throws the error of an output that broke otherwise. */
export function writerTo(output: Output): Write {
  const stream = isStream(output) ? output : undefined;
  let broken: NodeJS.ErrnoException | undefined;
  // A pipe may break after the last write, while its buffer empties: the listener stays, or it would be a crash.
  stream?.on('error', (error) => {
    broken = error;
  });
  return async (piece) => {
    const ready: unknown = output.write(piece as string);
    if (ready === false && stream && !broken) await once(stream, 'drain').catch(() => undefined);
    if (broken && broken.code !== 'EPIPE') throw broken;
    return !broken;
  };
}

function isStream(output: Output): output is Output & EventEmitter {
  return 'on' in output;
}

export type Printing = { format: Format; limit: number; exact: boolean };

/** Prints the rows; what there is to say about how goes to `notes`. */
export async function printRows(
  answer: Rows,
  { format, limit, exact }: Printing,
  output: Output,
  notes: string[],
): Promise<void> {
  const formatter = formatterOf(format, answer.columns, exact, output);
  // These formats keep values as they are, which is right for a program and wrong for a terminal.
  const raw = output.isTTY && (format === 'csv' || format === 'json' || format === 'ndjson');
  const write = writerTo(output);
  for await (const piece of piecesOf(answer, formatter, limit, notes))
    if (!(await write(raw ? printableLines(piece) : piece))) return;
  if (formatter.cut?.())
    notes.push('some values are cut to the width of the terminal: --format json prints them whole');
  if (formatter.defused?.()) notes.push(describeDefused(formatter.defused()));
}

export function describeDefused(cells: number): string {
  return `${cells} cell(s) begin like a formula and got an apostrophe, so that no spreadsheet runs them: --exact keeps them`;
}

async function* piecesOf(
  { batches }: Rows,
  formatter: AnyFormatter,
  limit: number,
  notes: string[],
): AsyncGenerator<string> {
  yield formatter.head();
  let rows = 0;
  for await (const batch of batches) {
    const taken = batch.slice(0, limit - rows);
    rows += taken.length;
    if (taken.length > 0) yield formatter.rows(taken);
    if (taken.length < batch.length) {
      notes.push(`there are more rows than these ${rows}: raise --limit`);
      break;
    }
  }
  yield await formatter.tail();
}

type AnyFormatter = (Formatter | TableFormatter) &
  Partial<Pick<CsvFormatter, 'defused'> & Pick<TableFormatter, 'cut'>>;

function formatterOf(
  format: Format,
  columns: readonly Column[],
  exact: boolean,
  output: Output,
): AnyFormatter {
  switch (format) {
    case 'table': {
      const width = (output.isTTY && output.columns) || Number.POSITIVE_INFINITY;
      return tableFormatter(columns, width, paintFor(output));
    }
    case 'json':
      return jsonFormatter(columns);
    case 'ndjson':
      return ndjsonFormatter(columns);
    case 'csv':
      return csvFormatter(columns, exact);
    case 'md':
      return mdFormatter(columns);
  }
}
