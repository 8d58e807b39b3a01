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
  return (json) => mayMatch(json) && hasWords(json, words) && hasFields(json, fields);
}

function hasWords(json: string, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = foldedText(json);
  return words.every((word) => text.includes(word));
}

function hasFields(json: string, fields: readonly WantedField[]): boolean {
  if (fields.length === 0) return true;
  const row = JSON.parse(withNumbersAsTexts(json)) as unknown;
  return fields.every((field) => hasValue(row, field));
}

/** The texts and numbers in a row, one a line; a word never reaches beyond its line. */
export function foldedText(json: string): string {
  const tokens = (json.match(textNameOrNumber) ?? []).filter((token) => !token.endsWith(':'));
  return fold(tokens.map(plainText).join('\n'));
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
