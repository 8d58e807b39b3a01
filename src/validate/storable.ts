/**
 * Whether a row can be kept as it came. Some values no table can hold faithfully, or they would break its readers. Of
 * JSON that is kept as text, readers differ in which of two members of one name they believe, and some look for the
 * spelling of a name instead of what it says; so each name comes once in an object, spelled plainly.
 */

import type { Problem } from './checked.ts';
import { endOfString, type Slice, skipSpace, sliceElements } from './raw.ts';

/** SQLite's JSON functions refuse to read anything deeper than 1,000 levels; people give up long before. */
const DEEPEST = 64;
export const LONGEST_TEXT = 1024 ** 2;
const LONGEST_NAME = 100;
const LONGEST_PLACE = 100;

type Inspection = {
  problem: Problem | undefined;
  /** How many members its objects have; a repeated name counts once, as it does for `JSON.parse`. */
  members: number;
  /** True where it holds a whole number whose last digits JavaScript has lost. */
  inexact: boolean;
};

/** True where a page may hold text that no table can keep; nearly every page is cleared by this look alone. */
export function mayHoldHostileText(text: string): boolean {
  return text.length > LONGEST_TEXT || text.includes('\\ud') || text.includes('\\uD');
}

/** Looks at every value and name of a row; at most one problem is named. */
export function inspect(row: unknown): Inspection {
  const inspection: Inspection = { problem: undefined, members: 0, inexact: false };
  look(row, inspection, 0);
  return inspection;
}

/** Returns true where it found a problem, whose path its callers complete from the inside out. */
function look(value: unknown, found: Inspection, depth: number): boolean {
  if (typeof value === 'string') return lookAtText(value, found);
  if (typeof value === 'number') return lookAtNumber(value, found);
  if (typeof value !== 'object' || value === null) return false;
  if (depth >= DEEPEST) return report(found, `nesting of at most ${DEEPEST} levels`, 'deeper nesting');
  if (Array.isArray(value))
    return value.some((inner, at) => look(inner, found, depth + 1) && within(found, String(at)));
  for (const name in value) {
    found.members += 1;
    if (lookAtName(name, found) || look((value as Record<string, unknown>)[name], found, depth + 1))
      return within(found, name);
  }
  return false;
}

/** SQLite reads a name up to its first NUL: to its JSON functions `a\0b` is `a`, and one column would show the other's values. */
function lookAtName(name: string, found: Inspection): boolean {
  return name.includes('\0')
    ? report(found, 'names without NUL', 'a name with NUL')
    : lookAtText(name, found);
}

function lookAtText(text: string, found: Inspection): boolean {
  if (text.length > LONGEST_TEXT)
    return report(found, `text of at most ${LONGEST_TEXT} characters`, `${text.length} characters`);
  return !text.isWellFormed() && report(found, 'well-formed Unicode', 'text with a lone surrogate');
}

function lookAtNumber(value: number, found: Inspection): boolean {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) found.inexact = true;
  return !Number.isFinite(value) && report(found, 'a number that a double can hold', 'a number too large');
}

function report(found: Inspection, expected: string, received: string): true {
  found.problem = { path: '', expected, received };
  return true;
}

function within({ problem }: Inspection, name: string): true {
  const shown = name.slice(0, LONGEST_NAME).toWellFormed();
  if (problem) problem.path = problem.path ? `${shown}.${problem.path}` : shown;
  return true;
}

/** @param parsed how many members `JSON.parse` made of the text: of two with one name it keeps the last. */
export function findRepeatedName({ text, members }: Slice, parsed: number): Problem | undefined {
  if (members === parsed) return undefined;
  return {
    path: placeOfRepeated(text),
    expected: 'each name once in an object',
    received: 'the same name again',
  };
}

/** The same of a whole text, which nothing has been cut out of. */
export function findRepeatedNameIn(text: string, parsed: number): Problem | undefined {
  const [whole] = sliceElements(`[${text}]`, []);
  return whole && findRepeatedName(whole, parsed);
}

/** The text with names spelled as `JSON.stringify` would, without escapes that none of them needs; all else as it was. */
export function withPlainNames(text: string): string {
  let plain = '';
  let done = 0;
  for (let at = text.indexOf('\\'); at >= 0; ) {
    // Only strings hold backslashes, and this is the first of its string.
    const end = endOfString(text, at);
    if (text[skipSpace(text, end)] === ':') {
      const begin = text.lastIndexOf('"', at);
      plain += text.slice(done, begin) + JSON.stringify(JSON.parse(text.slice(begin, end)));
      done = end;
    }
    at = text.indexOf('\\', end);
  }
  return done === 0 ? text : plain + text.slice(done);
}

/** Names and places that lead to the first member whose name its object has had, joined by dots. */
function placeOfRepeated(text: string): string {
  const around: { step: string | number; names: Set<string> }[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    const inner = around.at(-1);
    if (char === '{' || char === '[') around.push({ step: char === '[' ? 0 : '', names: new Set() });
    else if (char === '}' || char === ']') around.pop();
    else if (char === ',' && typeof inner?.step === 'number') inner.step += 1;
    else if (char === '"') {
      const end = endOfString(text, at);
      if (inner && text[skipSpace(text, end)] === ':') {
        const name = JSON.parse(text.slice(at, end)) as string;
        inner.step = name;
        if (inner.names.has(name)) break;
        inner.names.add(name);
      }
      at = end - 1;
    }
  }
  return around
    .map(({ step }) => step)
    .join('.')
    .slice(0, LONGEST_PLACE)
    .toWellFormed();
}
