/** What Postgres cannot hold of a dataset: values that a column there does not take, and rows that are wider than its pages. */

import { count, number } from '../../output/numbers.ts';
import type { Column } from '../../reading/columns.ts';
import type { Table } from './tables.ts';
import type { SentText } from './values.ts';

/** Found while rows are sent or compared: most of it more than once. */
export type Unheld = {
  /** A row that is too wide: it is not there. */
  addRow(table: Table, row: RowName): void;
  /** A value that the column does not take: it is null there. */
  addValue(table: Table, column: Column, row: RowName): void;
  /** A text with letters that Postgres has not: others stand for them there. */
  addLetters(table: Table, column: Column, row: RowName): void;
  /** Whether all rows and values are there, whatever their letters. */
  isEmpty(): boolean;
  /** What tells the rows from others that are too wide for a table. */
  idsOf(table: string): string[];
  /** What is not there, for people, in a line each; and what is there in other letters. */
  lines(): string[];
  notes(): string[];
};

/** What tells a row from the others of its table, and its key. */
type RowName = { id: string; key: string };

/** @param rows their keys by id. */
type Lack = {
  table: string;
  what: 'rows' | 'values' | 'letters';
  words: string;
  why: string;
  rows: Map<string, string>;
};

const MAX_KEYS_NAMED = 10;
/** Of a key. */
const SHOWN_CHARACTERS = 100;

const listedKeys = (keys: readonly string[]) =>
  keys
    .map((key) => (key.length > SHOWN_CHARACTERS ? `${key.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : key))
    .join(', ');

export function openUnheld(): Unheld {
  const lacks = new Map<string, Lack>();

  function add(lack: Omit<Lack, 'rows'>, { id, key }: RowName): void {
    const known = lacks.get(lack.words) ?? { ...lack, rows: new Map() };
    lacks.set(lack.words, known);
    known.rows.set(id, key);
  }

  const isLetters = ({ what }: Lack) => what === 'letters';
  const describe = ({ words, why, rows }: Lack) => {
    const keys = listedKeys([...rows.values()].slice(0, MAX_KEYS_NAMED));
    return `${words} ${count(rows.size, 'row')} ${why}: ${keys}`;
  };

  return {
    addRow({ name, columns }, row) {
      const why = `that ${number(columns.length)} columns make wider than a page of Postgres (${number(PAGE_BYTES)} bytes)`;
      add({ table: name, what: 'rows', words: `${name} lacks`, why }, row);
    },
    addValue({ name }, column, row) {
      const why = `where the mirror has a value that is no ${column.type}`;
      add({ table: name, what: 'values', words: `${name}.${column.name} is null in`, why }, row);
    },
    addLetters({ name }, column, row) {
      const why = 'for a NUL, or half of a surrogate pair, which Postgres has not';
      add({ table: name, what: 'letters', words: `${name}.${column.name} has U+FFFD in`, why }, row);
    },
    isEmpty: () => [...lacks.values()].every(isLetters),
    idsOf: (table) =>
      [...lacks.values()].flatMap((lack) =>
        lack.table === table && lack.what === 'rows' ? [...lack.rows.keys()] : [],
      ),
    lines: () => [...lacks.values()].filter((lack) => !isLetters(lack)).map(describe),
    notes: () => [...lacks.values()].filter(isLetters).map(describe),
  };
}

/** Of a page, for the one row that a row may be at most. */
const PAGE_BYTES = 8_160;
/** A longer value can lie elsewhere, with a pointer to it in the row. */
const MAX_INLINE_BYTES = 24;
const POINTER_BYTES = 18;

/** @returns whether a row is too wide for a page there, by the texts of its columns. */
export function tooWideFor(table: Table): (texts: readonly SentText[]) => boolean {
  const { columns, layout = columns.map(({ name }) => name) } = table;
  // Hardly any table is so wide that a row of it could be.
  if (headBytes(layout.length) + columns.length * MAX_INLINE_BYTES <= PAGE_BYTES) return () => false;
  const places = layout.map((name) => columns.findIndex((column) => column.name === name));
  return (texts) => {
    let bytes = 0;
    let hasNull = false;
    for (const at of places) {
      const text = texts[at] ?? null;
      const type = columns[at]?.type;
      if (text === null || type === undefined) hasNull = true;
      else if (type === 'text' || type === 'json') bytes += inlineBytes(Buffer.byteLength(text));
      else if (type === 'numeric') bytes += inlineBytes(numericBytes(text));
      else if (type === 'boolean') bytes += 1;
      else bytes = aligned(bytes) + 8;
    }
    return headBytes(hasNull ? places.length : 0) + bytes > PAGE_BYTES;
  };
}

/** @param columns with a bit each, where one of them is null. */
const headBytes = (columns: number) => aligned(23 + Math.ceil(columns / 8));

const aligned = (bytes: number) => Math.ceil(bytes / 8) * 8;

/** At most: four digits take two. */
const numericBytes = (text: string) => 4 + Math.ceil(text.length / 4) * 2;

/** With a byte for the length. */
const inlineBytes = (bytes: number) => (bytes + 1 > MAX_INLINE_BYTES ? POINTER_BYTES : bytes + 1);
