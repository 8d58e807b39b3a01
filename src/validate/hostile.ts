/** Values that no table can hold faithfully, or that would break its readers. */

import type { Problem } from './types.ts';

/** SQLite's JSON functions refuse to read anything deeper than 1,000 levels; people give up long before. */
const DEEPEST = 64;
const LONGEST_TEXT = 1024 ** 2;
const LONGEST_NAME = 100;

export type Inspection = {
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
    if (lookAtText(name, found) || look((value as Record<string, unknown>)[name], found, depth + 1))
      return within(found, name);
  }
  return false;
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
