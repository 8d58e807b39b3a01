/**
 * Parts of a response exactly as they were received: order of members, spelling of numbers and all. The text must
 * be valid JSON; of any other, nothing can be said but that it ends. Nothing here recurses, so no depth of nesting
 * can overflow the stack.
 */

export type Slice = {
  text: string;
  /** How many members its objects name, repeated names included. */
  members: number;
};

/**
 * Every element of the array that lies at `path`, from the root down; none where there is no array.
 * Where a name is given twice, the last one counts, as it does for `JSON.parse`.
 */
export function sliceElements(text: string, path: readonly string[]): Slice[] {
  const begin = path.reduce((at, name) => findMember(text, at, name), skipSpace(text, 0));
  if (text.charCodeAt(begin) !== OPEN_ARRAY) return [];
  const slices: Slice[] = [];
  for (let at = skipSpace(text, begin + 1); at < text.length && text.charCodeAt(at) !== CLOSE_ARRAY; ) {
    const { end, members } = spanOf(text, at);
    slices.push({ text: text.slice(at, end), members });
    at = skipSeparator(text, end);
  }
  return slices;
}

/** The text of a member of an object, or undefined where it has none of that name. */
export function sliceMember(text: string, name: string): string | undefined {
  const begin = findMember(text, skipSpace(text, 0), name);
  return begin < 0 ? undefined : text.slice(begin, spanOf(text, begin).end);
}

/** Where the value that begins at a place ends. */
export const endOfValue = (text: string, begin: number) => spanOf(text, begin).end;

/** The text of the value that a path of names and places leads to. */
export function sliceValue(text: string, path: readonly (string | number)[]): string | undefined {
  return path.reduce<string | undefined>(
    (inner, step) =>
      inner === undefined || typeof step === 'string'
        ? inner && sliceMember(inner, step as string)
        : sliceElements(inner, [])[step]?.text,
    text,
  );
}

const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;

/** Where the value of the member begins; -1 where `at` holds no object, or none with that name. */
function findMember(text: string, at: number, name: string): number {
  if (text.charCodeAt(at) !== OPEN_OBJECT) return -1;
  let found = -1;
  for (let next = skipSpace(text, at + 1); next < text.length && text.charCodeAt(next) !== CLOSE_OBJECT; ) {
    const nameEnd = endOfString(text, next);
    const value = skipSpace(text, skipSpace(text, nameEnd) + 1);
    if (readString(text, next, nameEnd) === name) found = value;
    next = skipSeparator(text, spanOf(text, value).end);
  }
  return found;
}

function readString(text: string, begin: number, end: number): unknown {
  const inside = text.slice(begin + 1, end - 1);
  return inside.includes('\\') ? JSON.parse(text.slice(begin, end)) : inside;
}

function spanOf(text: string, begin: number): { end: number; members: number } {
  let depth = 0;
  let members = 0;
  for (let at = begin; ; ) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) at = endOfString(text, at);
    else {
      if (char === OPEN_OBJECT || char === OPEN_ARRAY) depth += 1;
      else if (char === CLOSE_OBJECT || char === CLOSE_ARRAY) depth -= 1;
      else if (char === COLON) members += 1;
      at += 1;
    }
    if (at >= text.length || (depth === 0 && isEnd(text.charCodeAt(at)))) return { end: at, members };
  }
}

/** What can follow a whole value; not a number outside the text, which is NaN. */
function isEnd(char: number): boolean {
  return char === COMMA || char === CLOSE_OBJECT || char === CLOSE_ARRAY || !(char > SPACE);
}

/** Behind the closing quote of the string that begins at `begin`, or whose first backslash lies there. */
export function endOfString(text: string, begin: number): number {
  for (let at = text.indexOf('"', begin + 1); at > 0; at = text.indexOf('"', at + 1))
    if (text.charCodeAt(at - 1) !== BACKSLASH || !isEscaped(text, at)) return at + 1;
  return text.length;
}

/** A character behind an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

function skipSeparator(text: string, from: number): number {
  const at = skipSpace(text, from);
  return text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at;
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= SPACE) at += 1;
  return at;
}
