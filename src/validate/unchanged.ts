/**
 * A page of rows as received that is, byte by byte, as the table holds it: nothing of it is parsed but what is around its rows.
 * Every other page is left to those who look at each row; both ways leave the same database.
 */

import type { Body } from '../api/response.ts';
import type { DiscoveredShape, Row, StoredRun } from './checked.ts';
import { skipSpace } from './json-text.ts';
import { asRecord, LONGEST_TEXT } from './values.ts';

/**
 * Finds the rows that lie in the table behind those of the page before, or from its last one on, where their bodies, joined by
 * commas, are what `text` begins with, in UTF-8. Undefined where `text` begins otherwise.
 */
export type FindStoredRun = (text: Buffer) => StoredRun | undefined;

/** A class, so that no JSON of the API is taken for one. */
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

/** Returns undefined where a row is new or another one, or where the bytes cannot tell for sure. */
export function readUnchanged(
  { bytes }: Body,
  shape: DiscoveredShape,
  findRun: FindStoredRun,
): UnchangedPage | undefined {
  // Digests and shared keys are found by looking at each row.
  if (shape.keyField === null || shape.sharedKeys.length > 0) return undefined;
  // Where there is no escape, nothing is spelled otherwise than it reads: no name, and no lone surrogate.
  if (bytes.length > LONGEST_TEXT || bytes.includes('\\')) return undefined;
  // A byte a character, whatever it stands for.
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

/** Within so many bytes the rows begin. */
const LONGEST_HEAD = 4_096;

/** Where the first array begins that has the name of the rows; -1 where there is none. */
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

/** Undefined where that is no JSON, or where the rows that JSON knows by their path may be others. */
function parseAround(before: string, path: readonly string[], behind: string): unknown {
  const name = path.at(-1);
  // Of two members of one name the last one counts.
  if (name !== undefined && behind.includes(`"${name}"`)) return undefined;
  try {
    const json: unknown = JSON.parse(`${before}["${ROWS}"]${behind}`);
    const rows = path.reduce<unknown>((around, step) => asRecord(around)?.[step], json);
    return Array.isArray(rows) && rows[0] === ROWS ? json : undefined;
  } catch {
    return undefined;
  }
}
