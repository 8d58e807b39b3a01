/**
 * Reads valid JSON as text, with its order of members and its spelling of names and numbers. A scan of any other text ends, too.
 * Nothing recurses, so no depth of nesting overflows the stack.
 */

import type { Problem } from './checked.ts';
import { LONGEST_SHOWN, LONGEST_TEXT } from './values.ts';

/**
 * Called for every bracket and comma within a value, and with `:` for every name, which stands from `begin` to `end`. `depth` is
 * counted behind the token: an opening bracket has raised it, a closing one lowered it.
 */
type Visit = (token: string, begin: number, end: number, depth: number) => void;

/** Returns where the value ends that begins at `begin`. */
function scanValue(text: string, begin: number, visit?: Visit): number {
  let depth = 0;
  for (let at = skipSpace(text, begin); at < text.length; ) {
    const char = text[at] as string;
    if (char === '"') {
      const end = endOfString(text, at);
      if (visit && text[skipSpace(text, end)] === ':') visit(':', at, end, depth);
      at = end;
    } else {
      if (char === '{' || char === '[') depth += 1;
      else if (char === '}' || char === ']') depth -= 1;
      if (char !== ':' && PUNCTUATION.includes(char)) visit?.(char, at, at + 1, depth);
      at += 1;
    }
    if (depth === 0 && at < text.length && BEHIND_A_VALUE.includes(text[at] as string)) return at;
  }
  return text.length;
}

const PUNCTUATION = '{}[],:';
const BEHIND_A_VALUE = ',}] \n\r\t';

/** Behind the closing quote of the string that begins at `begin`. */
function endOfString(text: string, begin: number): number {
  for (let at = text.indexOf('"', begin + 1); at !== -1; at = text.indexOf('"', at + 1))
    if (!isEscaped(text, at)) return at + 1;
  return text.length;
}

/** A character behind an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first -= 1;
  return (at - first) % 2 === 1;
}

/** Only what JSON takes for space. */
export function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text[at])) at += 1;
  return at;
}

const isSpace = (char: string | undefined) => char === ' ' || char === '\n' || char === '\r' || char === '\t';

/**
 * Every element of the array that lies at `path`, from the root down; none where there is no array.
 * Where a name is given twice, the last one counts, as it does for `JSON.parse`.
 */
export function sliceElements(text: string, path: readonly string[] = []): string[] {
  const begin = path.reduce((at, name) => findMember(text, at, name), skipSpace(text, 0));
  if (text[begin] !== '[') return [];
  const elements: string[] = [];
  for (let at = skipSpace(text, begin + 1); at < text.length && text[at] !== ']'; ) {
    const end = scanValue(text, at);
    elements.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return elements;
}

/** The text of a member of an object, or undefined where it has none of that name. */
export function sliceMember(text: string, name: string): string | undefined {
  const begin = findMember(text, skipSpace(text, 0), name);
  return begin < 0 ? undefined : text.slice(begin, scanValue(text, begin));
}

/** The text of the value that a path of names and positions leads to. */
export function sliceValue(text: string, path: readonly (string | number)[]): string | undefined {
  let inner: string | undefined = text;
  for (const step of path)
    inner = inner && (typeof step === 'string' ? sliceMember(inner, step) : sliceElements(inner)[step]);
  return inner;
}

/** Where the value of the member begins; -1 where `begin` holds no object, or none with that name. */
function findMember(text: string, begin: number, name: string): number {
  let found = -1;
  if (text[begin] !== '{') return found;
  scanValue(text, begin, (token, from, to, depth) => {
    if (token === ':' && depth === 1 && readName(text, from, to) === name)
      found = skipSpace(text, skipSpace(text, to) + 1);
  });
  return found;
}

function readName(text: string, begin: number, end: number): string {
  const inside = text.slice(begin + 1, end - 1);
  return inside.includes('\\') ? (JSON.parse(text.slice(begin, end)) as string) : inside;
}

/** Whether a page may hold text that no table can keep, or a name twice in an object; most pages need no further look. */
export function isSuspicious(text: string, json: unknown): boolean {
  if (text.length > LONGEST_TEXT || text.includes('\\ud') || text.includes('\\uD')) return true;
  return countNames(text) !== countMembers(json);
}

/** Colons behind a quote; some texts look like the end of a name, too. */
function countNames(text: string): number {
  let names = 0;
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    let before = at - 1;
    while (isSpace(text[before])) before -= 1;
    if (text[before] === '"') names += 1;
  }
  return names;
}

/** Without recursion, whatever the depth of nesting. */
function countMembers(json: unknown): number {
  const open: unknown[] = [json];
  let members = 0;
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    if (inner !== value) members += inner.length;
    for (const one of inner) if (typeof one === 'object') open.push(one);
  }
  return members;
}

/**
 * The problem of an object with two members of one name: readers of JSON differ in which one they take.
 * @param parsed how many members `JSON.parse` made of the text: it keeps one of each name.
 */
export function findRepeatedName(text: string, parsed: number): Problem | undefined {
  let names = 0;
  scanValue(text, 0, (token) => {
    if (token === ':') names += 1;
  });
  if (names === parsed) return undefined;
  return {
    path: pathOfRepeatedName(text),
    expected: 'each name once in an object',
    received: 'the same name again',
  };
}

/** Names and positions that lead to the first member whose name its object has had, joined by dots. */
function pathOfRepeatedName(text: string): string {
  const path: { step: string | number; names: Set<string> }[] = [];
  let found: string | undefined;
  scanValue(text, 0, (token, begin, end) => {
    const inner = path.at(-1);
    if (found !== undefined) return;
    if (token === '{' || token === '[') path.push({ step: token === '[' ? 0 : '', names: new Set() });
    else if (token === '}' || token === ']') path.pop();
    else if (token === ',' && typeof inner?.step === 'number') inner.step += 1;
    else if (token === ':' && inner) {
      const name = readName(text, begin, end);
      inner.step = name;
      if (inner.names.has(name)) found = path.map(({ step }) => step).join('.');
      inner.names.add(name);
    }
  });
  return (found ?? '').slice(0, LONGEST_SHOWN).toWellFormed();
}

/** The text with names spelled as `JSON.stringify` spells them: some readers compare the spelling of names. */
export function withPlainNames(text: string): string {
  if (!text.includes('\\')) return text;
  let plain = '';
  let done = 0;
  scanValue(text, 0, (token, begin, end) => {
    if (token !== ':') return;
    plain += text.slice(done, begin) + JSON.stringify(readName(text, begin, end));
    done = end;
  });
  return plain + text.slice(done);
}
