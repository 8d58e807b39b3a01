/**
 * A page whose rows are, letter by letter, as they are stored: it is told by its text, and none of its rows is parsed. All
 * else is left to those who look at every row.
 */

import type { Body } from '../api/call.ts';
import type { DiscoveredShape, Row, StoredRow, StoredRows } from './checked.ts';
import { asRecord } from './envelope.ts';
import { endOfValue, sliceMember } from './raw.ts';
import { LONGEST_TEXT, mayHoldHostileText } from './storable.ts';

/** A page without its rows: in its JSON one text stands where they were. A class, so that no JSON is taken for one. */
export class PageAsStored {
  readonly rows: readonly StoredRow[];
  readonly json: unknown;
  /** What it was read by. */
  readonly shape: DiscoveredShape;

  constructor(rows: readonly StoredRow[], json: unknown, shape: DiscoveredShape) {
    this.rows = rows;
    this.json = json;
    this.shape = shape;
  }
}

/**
 * @param shape how the dataset is read.
 * @param before the rows of the page before, as far as they were found: these may lie behind them.
 * @returns undefined where a row is new or another one, or where that cannot be told for sure by the text.
 */
export function readAsStored(
  body: Body,
  shape: DiscoveredShape,
  stored: StoredRows,
  before: readonly Row[] = [],
): PageAsStored | undefined {
  const { keyField, sharedKeys } = shape;
  if (keyField === null || sharedKeys.length > 0) return undefined;
  return readRun(body.bytes, shape, stored, before) ?? readEach(body.text(), shape, keyField, stored);
}

/** All rows at once, by their bytes, where they lie behind those of the page before, as they mostly do. */
function readRun(
  bytes: Buffer,
  shape: DiscoveredShape,
  stored: StoredRows,
  before: readonly Row[],
): PageAsStored | undefined {
  const last = before.at(-1)?.stored;
  // Where there is no escape, nothing is spelled otherwise than it reads.
  if (!last || bytes.length > LONGEST_TEXT || bytes.includes('\\')) return undefined;
  // A byte a character, whatever it stands for.
  const head = bytes.toString('latin1', 0, LONGEST_HEAD);
  const begin = findRows(head, shape.rowsPath);
  if (begin < 0) return undefined;
  const first = skipSpace(head, begin + 1);
  // Pages that are joined by a row begin with the last one of the page before.
  const these = bytes.subarray(first);
  const from = [last.rowid, last.rowid + 1].find((number) => stored.isFirstOf(these, number));
  const run = from === undefined ? undefined : stored.run(from, before.length, these);
  if (!run) return undefined;
  const behind = bytes.toString('utf8', first + run.bytes);
  const end = skipSpace(behind, 0);
  if (behind[end] !== ']') return undefined;
  const json = parseAround(bytes.toString('utf8', 0, begin), shape.rowsPath, behind.slice(end + 1));
  return json === undefined ? undefined : new PageAsStored(run.rows, json, shape);
}

/** Within so many bytes the rows begin. */
const LONGEST_HEAD = 4_096;

/** One row after the other, by their text. */
function readEach(
  text: string,
  shape: DiscoveredShape,
  keyField: string,
  stored: StoredRows,
): PageAsStored | undefined {
  if (mayHoldHostileText(text)) return undefined;
  const begin = findRows(text, shape.rowsPath);
  const found = begin < 0 ? undefined : matchRows(text, begin, keyField, stored);
  if (!found || escapedName.test(text)) return undefined;
  const json = parseAround(text.slice(0, begin), shape.rowsPath, text.slice(found.end));
  return json === undefined ? undefined : new PageAsStored(found.rows, json, shape);
}

/** A name that is spelled with an escape, or what looks like one: what is stored has been given plain names. */
const escapedName = /\\[^"\\]*"\s*:/;

/** Where the first array begins that has the name of the rows; -1 where there is none. */
function findRows(text: string, path: readonly string[]): number {
  const name = path.at(-1);
  if (name === undefined) return at(text, skipSpace(text, 0), '[');
  const quoted = `"${name}"`;
  for (let found = text.indexOf(quoted); found >= 0; found = text.indexOf(quoted, found + 1)) {
    const colon = at(text, skipSpace(text, found + quoted.length), ':');
    const begin = colon < 0 ? -1 : at(text, skipSpace(text, colon + 1), '[');
    if (begin >= 0) return begin;
  }
  return -1;
}

/** More rows than that are read by parts. */
const PAGE_ROWS = 100;

type Match = { rows: readonly StoredRow[]; end: number };

/** Rows mostly come in the order in which they lie in the table; one that does not is looked up by its key. */
function matchRows(text: string, begin: number, keyField: string, stored: StoredRows): Match | undefined {
  const rows: StoredRow[] = [];
  const keys = new Set<string>();
  const foresight = createForesight(stored);
  for (let next = skipSpace(text, begin + 1); ; ) {
    const foreseen = foresight.next(PAGE_ROWS - rows.length);
    const row =
      foreseen && liesAt(text, next, foreseen.body()) ? foreseen : lookUp(text, next, keyField, stored);
    if (!row || keys.has(row.key)) return undefined;
    if (row !== foreseen) foresight.beginAt(row);
    rows.push(row);
    keys.add(row.key);
    const end = skipSpace(text, next + row.body().length);
    if (text[end] === ']') return { rows, end: end + 1 };
    if (text[end] !== ',') return undefined;
    next = skipSpace(text, end + 1);
  }
}

/** `startsWith` looks at one letter after the other, which takes ten times as long. */
const liesAt = (text: string, at: number, part: string) => text.slice(at, at + part.length) === part;

function lookUp(text: string, begin: number, keyField: string, stored: StoredRows): StoredRow | undefined {
  const body = text.slice(begin, endOfValue(text, begin));
  const key = readKey(sliceMember(body, keyField));
  const row = key === undefined ? undefined : stored.find(key);
  return row?.body() === body ? row : undefined;
}

/** The key that a value is, where it is spelled as most are. */
function readKey(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const [, text, digits] = /^(?:"([^"\\]+)"|(0|-?[1-9]\d*))$/.exec(value) ?? [];
  return text ?? digits;
}

/** Rows that are likely to come next. More are read at once the longer the likely ones come, but no more than a page may have. */
function createForesight(stored: StoredRows) {
  let foreseen: StoredRow[] = [];
  let last: StoredRow | undefined;
  let place = 0;
  let count = 1;
  return {
    next(most: number): StoredRow | undefined {
      if (!last) return undefined;
      if (place === foreseen.length) {
        foreseen = stored.after(last, Math.max(1, Math.min(count, most)));
        place = 0;
        count *= 4;
      }
      last = foreseen[place] ?? last;
      place += 1;
      return foreseen[place - 1];
    },
    beginAt(row: StoredRow): void {
      foreseen = [];
      last = row;
      place = 0;
      count = 1;
    },
  };
}

const ROWS = 'the rows';

/** Undefined where that is no JSON, or where the rows that JSON knows by their path may be others. */
function parseAround(before: string, path: readonly string[], behind: string): unknown {
  const name = path.at(-1);
  // Of two members of one name the last one counts, however it is spelled.
  if (before.includes('\\') || behind.includes('\\')) return undefined;
  if (name !== undefined && behind.includes(`"${name}"`)) return undefined;
  try {
    const json: unknown = JSON.parse(`${before}["${ROWS}"]${behind}`);
    const rows = path.reduce<unknown>((around, step) => asRecord(around)?.[step], json);
    return Array.isArray(rows) && rows[0] === ROWS ? json : undefined;
  } catch {
    return undefined;
  }
}

/** -1 unless the character lies there. */
const at = (text: string, place: number, char: string) => (text[place] === char ? place : -1);

/** Only what JSON takes for space. */
function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return at;
}
