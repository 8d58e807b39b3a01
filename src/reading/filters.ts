/**
 * The rows of a moment that the filters of a query leave: decided from the JSON of each row alone, case and accents aside.
 * docs/serve.md ("Filters") has the rules.
 */

import { createHash } from 'node:crypto';
import type { ListedJob } from '../job/list.ts';
import type { Connection } from '../store/read.ts';
import type { Moment, Pages } from './pages.ts';

export type Filters = {
  /** Names them: the same for the same filters, in whatever order and spelling. Fits into an ETag as it is. */
  readonly key: string;
  readonly words: readonly string[];
  readonly fields: readonly (readonly [name: string, value: string])[];
};

/**
 * @param parameter gives the value of one by its name; where it is repeated, that of the first.
 * @returns null where every row is left.
 */
export function filtersOf(
  job: Pick<ListedJob, 'filters'>,
  parameter: (name: string) => string | null | undefined,
): Filters | null {
  const words: string[] = [];
  const fields: [string, string][] = [];
  for (const [name, rule] of Object.entries(job.filters)) {
    const text = parameter(name) ?? '';
    const value = normalize(text);
    if (rule.by === 'text') words.push(...wordsOf(text));
    else if (value !== '' && value !== normalize(rule.all ?? '')) fields.push([name, value]);
  }
  if (words.length + fields.length === 0) return null;
  const wanted = { words: [...new Set(words)].sort(), fields };
  const key = createHash('sha256').update(JSON.stringify(wanted)).digest('base64url');
  return { key, ...wanted };
}

/** So many rows are in memory at a time. */
const ROWS_AT_ONCE = 1_000;

/** The numbers of the rows of a moment that are left, in its order. Reads every row: to be called where it can be ended. */
export function matchingRows(
  connection: Connection,
  pages: Pages,
  moment: Moment,
  filters: Filters,
): number[] {
  const pathsOf = openFieldPaths(connection);
  const fields = filters.fields.map(([name, value]) => ({ value, paths: pathsOf(moment.job, name) }));
  const matches = matcherOf({ words: filters.words, fields });
  const found: number[] = [];
  for (let from = 0; from < moment.total; from += ROWS_AT_ONCE) {
    const numbers = pages.numbersOf(moment, from, ROWS_AT_ONCE);
    for (const [at, json] of pages.readRows(moment, numbers).entries())
      if (json !== undefined && matches(json)) found.push(numbers[at] as number);
  }
  return found;
}

/** Text as it is compared. The form of two joined texts is their forms joined: so a text is part of another exactly where its form is part of the other's. */
export function normalize(text: string): string {
  return text.replace(beyondAscii, normalizeRun).toLowerCase().replaceAll('ς', 'σ');
}

/** Each once. */
export function wordsOf(text: string): string[] {
  return [...new Set(normalize(text).split(/\s+/))].filter((word) => word !== '');
}

/** Most texts have little of it, and none of what follows is quick. */
const beyondAscii = /[^\0-\x7f]+/g;

/** Upper case on the way, which alone knows that a sharp s is two. */
function normalizeRun(run: string): string {
  return run.normalize('NFKD').replace(marks, '').toLowerCase().toUpperCase();
}

const marks = /\p{M}+/gu;

/** Paths of names at which the field of a filter may lie, the first choice first: its own member, its column, the same of its plural. */
export function openFieldPaths(connection: Connection): (job: string, name: string) => string[][] {
  const pathOf = connection
    .prepare<[string, string], string>('SELECT path FROM fields WHERE job = ? AND "column" = ?')
    .pluck();
  return (job, filter) =>
    [filter, pluralOf(filter)].flatMap((name) => {
      const path = pathOf.get(job, name);
      return [[name], ...(path === undefined ? [] : [namesIn(path)])];
    });
}

/** The names that a path such as `$.market."base asset"` leads through. */
function namesIn(path: string): string[] {
  return [...path.matchAll(/\.(\w+|"(?:[^"\\]|\\.)*")/g)].map(([, name = '']) =>
    name.startsWith('"') ? (JSON.parse(name) as string) : name,
  );
}

function pluralOf(name: string): string {
  if (/[^aeiou]y$/.test(name)) return name.replace(/y$/, 'ies');
  return /(s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}

/** What is searched for, normalized. */
type MatchTerms = {
  /** All of them, each anywhere in the row's text. */
  words: readonly string[];
  fields: readonly FieldTerm[];
};

/** The field of a row is the first of the paths at which it has a value or a list. */
type FieldTerm = { paths: readonly (readonly string[])[]; value: string };

/** @returns whether a row, given as JSON, is left. */
export function matcherOf({ words, fields }: MatchTerms): (json: string) => boolean {
  const parts = [...words, ...fields.map(({ value }) => value)];
  /** Whatever is somewhere in the row is somewhere in its JSON, unless that is written with escapes. */
  const mayMatch = (json: string) => {
    if (json.includes('\\')) return true;
    const normalized = normalize(json);
    return parts.every((part) => normalized.includes(part));
  };
  return (json) => mayMatch(json) && hasWords(json, words) && hasFields(json, fields);
}

function hasWords(json: string, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = normalizedText(json);
  return words.every((word) => text.includes(word));
}

function hasFields(json: string, fields: readonly FieldTerm[]): boolean {
  if (fields.length === 0) return true;
  const row = JSON.parse(withNumbersAsTexts(json)) as unknown;
  return fields.every((field) => hasValue(row, field));
}

/** The texts and numbers in a row, one a line; a word never reaches beyond its line. */
export function normalizedText(json: string): string {
  const tokens = (json.match(textNameOrNumber) ?? []).filter((token) => !token.endsWith(':'));
  return normalize(tokens.map(plainText).join('\n'));
}

const textNameOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"(?:\s*:)?|-?\d[\d.eE+-]*/g;

function plainText(token: string): string {
  if (!token.startsWith('"')) return token;
  return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
}

/** Numbers are compared as they are written: parsing would change 1.0, and the last digits of long ones. */
function withNumbersAsTexts(json: string): string {
  return json.replace(textOrNumber, (token) => (token.startsWith('"') ? token : `"${token}"`));
}

const textOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

function hasValue(row: unknown, { paths, value }: FieldTerm): boolean {
  const found = paths.map((path) => path.reduce(memberOf, row)).find(isComparable);
  const isIt = (held: unknown) => isScalar(held) && normalize(String(held)) === value;
  return Array.isArray(found) ? found.some(isIt) : isIt(found);
}

function memberOf(value: unknown, name: string): unknown {
  if (!(value instanceof Object) || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

const isScalar = (value: unknown) => typeof value === 'string' || typeof value === 'boolean';

/** A null or an object in its place says no more than a member that is not there. */
const isComparable = (value: unknown) => isScalar(value) || Array.isArray(value);
