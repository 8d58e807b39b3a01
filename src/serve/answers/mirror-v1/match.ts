/**
 * `like`, `ilike` and `cs` as functions of SQL. SQLite's own LIKE folds ASCII alone, and takes exponential time for some patterns; these
 * go through a text once for each part of a pattern.
 */

import type { Connection } from '../../../store/read.ts';

export function registerMatching(connection: Connection): void {
  const like = matcher((text) => text);
  const ilike = matcher(fold);
  const options = { deterministic: true };
  connection.function('mirror_like', options, (text, pattern) => like(text, pattern));
  connection.function('mirror_ilike', options, (text, pattern) => ilike(text, pattern));
  connection.function('mirror_contains', options, contains);
}

/** Whether JSON is a list with all of the values, which are texts: numbers and booleans are compared as what they are. */
function contains(json: unknown, wanted: unknown): 0 | 1 | null {
  if (json === null) return null;
  const items = parsed(String(json));
  if (!Array.isArray(items)) return 0;
  const isIt = (item: unknown, text: string) =>
    item === text ||
    (typeof item === 'number' && text !== '' && item === Number(text)) ||
    (typeof item === 'boolean' && String(item) === text);
  return (JSON.parse(String(wanted)) as string[]).every((text) => items.some((item) => isIt(item, text)))
    ? 1
    : 0;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Letters of either case as the same. */
const fold = (text: string) => text.toLowerCase().replaceAll('ς', 'σ');

/** Of a pattern, between two `%`: letters, and `undefined` for any one. */
type Part = readonly (string | undefined)[];

/** @returns 1, 0, or null for null, as SQL has it. */
function matcher(normal: (text: string) => string) {
  let known: { pattern: string; parts: readonly Part[] } | undefined;
  return (value: unknown, pattern: unknown): 0 | 1 | null => {
    if (value === null) return null;
    if (!known || known.pattern !== pattern)
      known = { pattern: String(pattern), parts: partsOf(normal(String(pattern))) };
    const text = normal(String(value));
    // `_` is one letter, which may be two units of UTF-16.
    return matches(known.pattern.includes('_') ? [...text] : text, known.parts) ? 1 : 0;
  };
}

/** `*` is `%`, as in PostgREST: any letters; `_` is one. Behind a backslash `%` and `_` stand for themselves, and `*` for `%`. */
function partsOf(pattern: string): Part[] {
  const parts: (string | undefined)[][] = [[]];
  const letters = pattern.includes('_') ? [...pattern.replaceAll('*', '%')] : pattern.replaceAll('*', '%');
  for (let at = 0; at < letters.length; at += 1) {
    const letter = letters[at];
    if (letter === '%') parts.push([]);
    else if (letter === '\\' && at + 1 < letters.length) parts.at(-1)?.push(letters[++at]);
    else parts.at(-1)?.push(letter === '_' ? undefined : letter);
  }
  return parts;
}

/** The first part begins the text, the last one ends it, and each of the others is taken where it first occurs. */
function matches(text: ArrayLike<string>, parts: readonly Part[]): boolean {
  const [first = [], ...others] = parts;
  const last = others.pop();
  if (!isAt(text, first, 0)) return false;
  if (last === undefined) return text.length === first.length;
  let at = first.length;
  for (const part of others) {
    while (at + part.length <= text.length && !isAt(text, part, at)) at += 1;
    at += part.length;
    if (at > text.length) return false;
  }
  return text.length - last.length >= at && isAt(text, last, text.length - last.length);
}

function isAt(text: ArrayLike<string>, part: Part, at: number): boolean {
  if (at + part.length > text.length) return false;
  for (let n = 0; n < part.length; n += 1)
    if (part[n] !== undefined && part[n] !== text[at + n]) return false;
  return true;
}
