/** Whether a row is one of those that filters leave: decided from its JSON alone. */

import { fold } from './fold.ts';

/** What is looked for, folded. */
export type Wanted = {
  /** All of them, each anywhere in the row's text. */
  words: readonly string[];
  fields: readonly WantedField[];
};

/** The field of a row is the first place where it has a value or a list. */
export type WantedField = { places: readonly (readonly string[])[]; value: string };

/** @returns whether a row, given as JSON, is left. */
export function matcherOf({ words, fields }: Wanted): (json: string) => boolean {
  const parts = [...words, ...fields.map(({ value }) => value)];
  /** Whatever is somewhere in the row is somewhere in its JSON, unless that is written with escapes. */
  const mayMatch = (json: string) => {
    if (json.includes('\\')) return true;
    const folded = fold(json);
    return parts.every((part) => folded.includes(part));
  };
  return (json) => {
    if (!mayMatch(json)) return false;
    const row = JSON.parse(withNumbersAsTexts(json)) as unknown;
    if (!fields.every((field) => hasValue(row, field))) return false;
    if (words.length === 0) return true;
    const text = fold([...textsIn(row)].join('\n'));
    return words.every((word) => text.includes(word));
  };
}

/** Numbers are compared as they are written: parsing would change 1.0, and the last digits of long ones. */
function withNumbersAsTexts(json: string): string {
  return json.replace(textOrNumber, (token) => (token.startsWith('"') ? token : `"${token}"`));
}

const textOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Numbers are texts by then. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (value instanceof Object) for (const inner of Object.values(value)) yield* textsIn(inner);
}

function hasValue(row: unknown, { places, value }: WantedField): boolean {
  const found = places.map((place) => place.reduce(memberOf, row)).find(isComparable);
  const isIt = (held: unknown) => isScalar(held) && fold(String(held)) === value;
  return Array.isArray(found) ? found.some(isIt) : isIt(found);
}

function memberOf(value: unknown, name: string): unknown {
  if (!(value instanceof Object) || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

const isScalar = (value: unknown) => typeof value === 'string' || typeof value === 'boolean';

/** A null or an object in its place says no more than a member that is not there. */
const isComparable = (value: unknown) => isScalar(value) || Array.isArray(value);
