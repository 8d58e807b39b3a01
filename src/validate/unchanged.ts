/**
 * A page whose rows equal the stored ones byte by byte: only the text around its rows is parsed. Any other page is checked row by
 * row, with the same result.
 */

import type { Body } from '../api/response.ts';
import type { DiscoveredShape, Row, StoredRun } from './checked.ts';
import { skipSpace } from './json-text.ts';
import { asRecord } from './values.ts';

/**
 * Finds the stored rows behind those of the last page, or from its last one on. Undefined where `text`, in UTF-8, does not begin
 * with their bodies, joined by commas.
 */
export type FindStoredRun = (text: Buffer) => StoredRun | undefined;

/** A class, since no JSON of the API can be an instance. */
export class UnchangedPage {
  readonly rows: readonly Row[];
  /** The page's JSON, in which one text stands for the rows. */
  readonly json: unknown;
  /** What it was read by. */
  readonly shape: DiscoveredShape;

  constructor(rows: readonly Row[], json: unknown, shape: DiscoveredShape) {
    this.rows = rows;
    this.json = json;
    this.shape = shape;
  }
}

/** Undefined where a row is new or changed, or where bytes alone do not tell. */
export function readUnchanged(
  { bytes }: Body,
  shape: DiscoveredShape,
  findRun: FindStoredRun,
): UnchangedPage | undefined {
  // Digests and shared keys need a look at each row.
  if (shape.keyField === null || shape.sharedKeys.length > 0) return undefined;
  // Without an escape no name is spelled in another way, and there is no lone surrogate.
  if (bytes.includes('\\')) return undefined;
  // One character a byte, so that positions are those of bytes.
  const head = bytes.toString('latin1', 0, LONGEST_HEAD);
  const begin = findRows(head, shape.rowsPath);
  if (begin < 0) return undefined;
  const first = skipSpace(head, begin + 1);
  const run = findRun(bytes.subarray(first));
  if (!run) return undefined;
  const behind = bytes.toString('utf8', first + run.bytes);
  const end = skipSpace(behind, 0);
  if (behind[end] !== ']') return undefined;
  const json = parseAround(bytes.toString('utf8', 0, begin), shape.rowsPath, behind.slice(end + 1));
  return json === undefined ? undefined : new UnchangedPage(run.rows, json, shape);
}

/** The rows must begin within so many bytes. */
const LONGEST_HEAD = 4_096;

/** Where the first array of that name begins; -1 where there is none. */
function findRows(text: string, path: readonly string[]): number {
  const name = path.at(-1);
  if (name === undefined) return text.search(/(?<=^[ \n\r\t]*)\[/);
  const quoted = `"${name}"`;
  for (let found = text.indexOf(quoted); found >= 0; found = text.indexOf(quoted, found + 1)) {
    const colon = skipSpace(text, found + quoted.length);
    const begin = skipSpace(text, colon + 1);
    if (text[colon] === ':' && text[begin] === '[') return begin;
  }
  return -1;
}

const ROWS = 'the rows';

/** Undefined where that is no JSON, or where the path may lead to another array. */
function parseAround(before: string, path: readonly string[], behind: string): unknown {
  try {
    // Of two members of one name the last one counts, as it does for the rows.
    const json: unknown = JSON.parse(`${before}["${ROWS}"]${behind}`);
    const rows = path.reduce<unknown>((around, step) => asRecord(around)?.[step], json);
    return Array.isArray(rows) && rows[0] === ROWS ? json : undefined;
  } catch {
    return undefined;
  }
}
