/** Rows as text for other programs: JSON, newline-delimited JSON, CSV and Markdown, piece by piece as the rows come. */

import { stringify } from 'csv-stringify/sync';
import { printable, printableJson, printableRawJson } from '../base/printable.ts';
import { type Cell, type Column, distinctNames, hex, type Rows } from './answer.ts';
import { count } from './numbers.ts';

/** Rows as JSON objects: one array. */
export async function* json({ columns, batches }: Rows): AsyncGenerator<string, void> {
  const toJson = rowToJson(columns);
  yield '[';
  let separator = '\n';
  for await (const batch of batches) {
    if (batch.length === 0) continue;
    yield separator + batch.map(toJson).join(',\n');
    separator = ',\n';
  }
  yield separator === '\n' ? ']\n' : '\n]\n';
}

/** The same, one object a line. */
export async function* ndjson({ columns, batches }: Rows): AsyncGenerator<string, void> {
  const toJson = rowToJson(columns);
  for await (const batch of batches) yield batch.map((row) => `${toJson(row)}\n`).join('');
}

/** Writes a row as a JSON object. */
export function rowToJson(columns: readonly Column[]): (row: readonly Cell[]) => string {
  const keys = distinctNames(columns).map((name) => `${quote(name)}:`);
  const write = columns.map(({ inJson }) => (inJson === undefined ? cellToJson : asSuch[inJson]));
  return (row) => `{${keys.map((key, at) => key + write[at]?.(row[at] ?? null)).join(',')}}`;
}

/** What a column holds that a text or a number stands for; a query may have put other values beside these. */
const asSuch: Record<NonNullable<Column['inJson']>, (cell: Cell) => string> = {
  boolean: (cell) => (cell === 0 || cell === 1 ? String(cell === 1) : cellToJson(cell)),
  json: (cell) =>
    typeof cell === 'string' && isListOrObject(cell) ? printableRawJson(cell) : cellToJson(cell),
};

function isListOrObject(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Every digit of an integer is kept; bytes come as sqlite-utils writes them. */
function cellToJson(cell: Cell): string {
  if (cell === null) return 'null';
  if (typeof cell === 'string') return quote(cell);
  if (typeof cell === 'bigint') return String(cell);
  if (typeof cell === 'number') return Number.isFinite(cell) ? String(cell) : `${cell < 0 ? '-' : ''}9e999`;
  return `{"$base64":true,"encoded":"${Buffer.from(cell).toString('base64')}"}`;
}

const quote = (text: string) => printableJson(text, 0);

/**
 * What a spreadsheet takes for a formula, but for plain signed numbers. Some spreadsheets also begin a cell after a semicolon,
 * a tab or a line break, even within quotes.
 */
const FORMULA = /(?:^(?=[\t\r])|(?<=^|[;\t\r\n])(?=[=+\-@＝＋－＠]))(?![+-]?\d+(?:\.\d+)?(?:[;\t\r\n]|$))/g;

/**
 * Rows as CSV (RFC 4180, lines end in LF): null is empty, an empty text is `""`.
 * @param exact false puts an apostrophe before texts that a spreadsheet would run as formulas. True is for programs, which run
 * none.
 * @param defused counts the cells that got an apostrophe.
 */
export async function* csv(
  { columns, batches }: Rows,
  exact: boolean,
  defused: { cells: number },
): AsyncGenerator<string, void> {
  const write = (records: unknown[][]) => stringify(records, { cast: { string: quoteEmpty } });
  const toText = (cell: Cell): string | null => {
    // Readers skip a line without anything.
    if (cell === null) return columns.length > 1 ? null : '';
    if (typeof cell !== 'string') return cell instanceof Uint8Array ? hex(cell) : String(cell);
    const safe = exact ? cell : cell.replace(FORMULA, "'");
    if (safe !== cell) defused.cells += 1;
    return safe;
  };
  yield write([columns.map(({ name }) => toText(name))]);
  for await (const batch of batches) yield write(batch.map((row) => row.map(toText)));
}

const quoteEmpty = (text: string) => (text === '' ? { value: '', quoted_empty: true } : text);

export function describeDefused(cells: number): string {
  return `an apostrophe stands before ${count(cells, 'cell')} that would be a formula in a spreadsheet: --exact leaves it out`;
}

/** Rows as a Markdown table, below a title where there is one. */
export async function* markdown({ columns, batches }: Rows, title?: string): AsyncGenerator<string, void> {
  if (title !== undefined) yield `# ${escaped(title)}\n\n`;
  const line = (texts: string[]) => `| ${texts.join(' | ')} |\n`;
  yield line(columns.map(({ name }) => escaped(name))) + line(columns.map(() => '---'));
  for await (const batch of batches) yield batch.map((row) => line(row.map(cellToMarkdown))).join('');
}

function cellToMarkdown(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'string') return escaped(cell);
  return cell instanceof Uint8Array ? hex(cell) : String(cell);
}

/** Rows as a page of HTML that needs nothing else: a table below its title. */
export async function* html({ columns, batches }: Rows, title = ''): AsyncGenerator<string, void> {
  const line = (cells: string[]) => `<tr>${cells.join('')}</tr>\n`;
  yield `<!doctype html>
<meta charset="utf-8">
<title>${inHtml(title)}</title>
<style>
body { font: 14px system-ui, sans-serif; margin: 2em }
table { border-collapse: collapse }
th, td { border-bottom: 1px solid #8884; padding: .3em .8em; text-align: left; vertical-align: top }
td.number { text-align: right; font-variant-numeric: tabular-nums }
</style>
<h1>${inHtml(title)}</h1>
<table>
${line(columns.map(({ name }) => `<th>${inHtml(name)}</th>`))}`;
  for await (const batch of batches) yield batch.map((row) => line(row.map(cellToHtml))).join('');
  yield '</table>\n';
}

function cellToHtml(cell: Cell): string {
  if (cell === null) return '<td></td>';
  if (typeof cell === 'number' || typeof cell === 'bigint') return `<td class="number">${cell}</td>`;
  return `<td>${inHtml(cell instanceof Uint8Array ? hex(cell) : cell).replace(/\r?\n/g, '<br>')}</td>`;
}

const inHtml = (text: string) => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Escapes what would end the cell, start a format or be taken for HTML. */
function escaped(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => printable(line).replace(/[\\|`*<[&]/g, '\\$&'))
    .join('<br>');
}
