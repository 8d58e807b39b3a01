/** Values that no table can hold faithfully, or that would break its readers. */

import type { Problem } from './types.ts';

const DEEPEST = 64;
const LONGEST_TEXT = 1024 ** 2;

/** True where a page may hold hostile text; nearly every page is cleared by this look alone. */
export function mayHoldHostileText(text: string): boolean {
  return text.length > LONGEST_TEXT || text.includes('\\ud') || text.includes('\\uD');
}

/** What is wrong with a row; at most one problem is named. */
export function hostileProblems(row: unknown): Problem[] {
  const problems: Problem[] = [];
  inspect(row, [], problems);
  return problems;
}

function inspect(value: unknown, path: string[], problems: Problem[]): void {
  if (problems.length > 0) return;
  const problem = (expected: string, received: string) =>
    problems.push({ path: path.join('.'), expected, received });
  if (typeof value === 'string') {
    if (value.length > LONGEST_TEXT)
      problem(`text of at most ${LONGEST_TEXT} characters`, `${value.length} characters`);
    else if (!value.isWellFormed()) problem('well-formed Unicode', 'text with a lone surrogate');
  } else if (typeof value === 'object' && value !== null) {
    if (path.length >= DEEPEST) problem(`nesting of at most ${DEEPEST} levels`, 'deeper nesting');
    else for (const [name, inner] of Object.entries(value)) inspect(inner, [...path, name], problems);
  }
}
