/** Printing: rows in the form that is asked for, at the speed of the reader. */

import { type EventEmitter, once } from 'node:events';
import { printableLines } from '../base/printable.ts';
import type { Cell, Format, Rows } from './answer.ts';
import { csv, describeDefused, json, markdown, ndjson } from './forms.ts';
import { table } from './table.ts';
import { paintFor } from './text.ts';

export type Output = { write(text: string): void; isTTY?: boolean; columns?: number };

/** Resolves when more may be written: to false where the reader has gone, as `head` does. */
export type Write = (piece: string | Uint8Array) => Promise<boolean>;

/** @throws the error of an output that broke otherwise. */
export function writerTo(output: Output): Write {
  const stream = isStream(output) ? output : undefined;
  let broken: NodeJS.ErrnoException | undefined;
  // A pipe may break after the last write, while its buffer empties. Without a listener that would be a crash.
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

type PrintOptions = { format: Format; limit: number; exact: boolean };

/** Prints the rows, and adds remarks to `notes`. */
export async function printRows(
  { columns, batches }: Rows,
  { format, limit, exact }: PrintOptions,
  output: Output,
  notes: string[],
): Promise<void> {
  const rows = { columns, batches: atMost(limit, batches, notes) };
  const defused = { cells: 0 };
  const width = (output.isTTY && output.columns) || Number.POSITIVE_INFINITY;
  const forms: Record<Format, () => AsyncGenerator<string, void>> = {
    table: () => table(rows, width, paintFor(output), notes),
    json: () => json(rows),
    ndjson: () => ndjson(rows),
    csv: () => csv(rows, exact, defused),
    md: () => markdown(rows),
  };
  // These formats keep control characters, which a terminal would obey.
  const raw = output.isTTY && (format === 'csv' || format === 'json' || format === 'ndjson');
  const write = writerTo(output);
  for await (const piece of forms[format]()) if (!(await write(raw ? printableLines(piece) : piece))) return;
  if (defused.cells > 0) notes.push(describeDefused(defused.cells));
}

async function* atMost(
  limit: number,
  batches: Rows['batches'],
  notes: string[],
): AsyncGenerator<Cell[][], void> {
  let rows = 0;
  for await (const batch of batches) {
    const wanted = batch.slice(0, limit - rows);
    rows += wanted.length;
    if (wanted.length > 0) yield wanted;
    if (wanted.length < batch.length) {
      notes.push(`there are more rows than these ${rows}: raise --limit`);
      return;
    }
  }
}
