/** Rows as JSON objects: one array, or one object a line. */

import { printableJson } from '../printable.ts';
import { type Cell, type Column, distinctNames, type Formatter } from './answer.ts';
import { numberText } from './number.ts';

export function jsonFormatter(columns: readonly Column[]): Formatter {
  const toJson = rowToJson(columns);
  let written = false;
  return {
    head: () => '[',
    rows(batch) {
      const text = batch.map(toJson).join(',\n');
      const separator = written ? ',\n' : '\n';
      written = true;
      return separator + text;
    },
    tail: () => (written ? '\n]\n' : ']\n'),
  };
}

export function ndjsonFormatter(columns: readonly Column[]): Formatter {
  const toJson = rowToJson(columns);
  return { head: () => '', rows: (batch) => batch.map((row) => `${toJson(row)}\n`).join(''), tail: () => '' };
}

function rowToJson(columns: readonly Column[]): (row: readonly Cell[]) => string {
  const keys = distinctNames(columns).map((name) => `${quote(name)}:`);
  return (row) => `{${keys.map((key, at) => key + toJson(row[at] ?? null)).join(',')}}`;
}

/** Every digit of an integer is kept; bytes come as sqlite-utils writes them. */
function toJson(cell: Cell): string {
  if (cell === null) return 'null';
  if (typeof cell === 'string') return quote(cell);
  if (typeof cell === 'bigint') return numberText(cell);
  if (typeof cell === 'number')
    return Number.isFinite(cell) ? numberText(cell) : `${cell < 0 ? '-' : ''}9e999`;
  return `{"$base64":true,"encoded":"${Buffer.from(cell).toString('base64')}"}`;
}

const quote = (text: string) => printableJson(text, 0);
