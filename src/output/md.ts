/** Rows as a Markdown table. */

import { printable } from '../printable.ts';
import { type Cell, type Column, type Formatter, hex } from './answer.ts';
import { numberText } from './number.ts';

export function mdFormatter(columns: readonly Column[]): Formatter {
  const line = (texts: string[]) => `| ${texts.join(' | ')} |\n`;
  return {
    head: () => line(columns.map(({ name }) => escaped(name))) + line(columns.map(() => '---')),
    rows: (batch) => batch.map((row) => line(row.map(toText))).join(''),
    tail: () => '',
  };
}

function toText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'string') return escaped(cell);
  return cell instanceof Uint8Array ? hex(cell) : numberText(cell);
}

// What would end the cell, start a format or be taken for HTML.
function escaped(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => printable(line).replace(/[\\|`*<[&]/g, '\\$&'))
    .join('<br>');
}
