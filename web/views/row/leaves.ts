/** A row as its single values, each with its place; numbers keep every digit, which JSON.parse would not. */

/** `literal`: true, false and null; `{}` and `[]`, which have nothing in them. */
export type Leaf = { kind: 'text' | 'number' | 'literal'; text: string };

/** By place, such as `source.name` or `impact[0]["<b>"]`, in the order in which they came. */
export type Leaves = ReadonlyMap<string, Leaf>;

/** More than this many places are compared as a whole: nobody reads them one by one. */
const MOST_LEAVES = 5_000;
const DEEPEST = 100;

/** The values of a text of JSON; null where it is none, is too deep or holds too many. @param at its own place. */
export function leavesOf(json: string, at = ''): Leaves | null {
  const tokens = json.matchAll(/\s*(?:([[\]{}:,])|("(?:[^"\\]|\\.)*")|([^\s[\]{}:,"]+))/gsy);
  const leaves = new Map<string, Leaf>();
  let token = tokens.next().value;
  const isSign = (sign: string) => token?.[1] === sign;
  const step = () => {
    token = tokens.next().value;
  };

  function take(sign: string): void {
    if (!isSign(sign)) throw new SyntaxError(`no ${sign}`);
    step();
  }

  function keep(place: string, leaf: Leaf): void {
    if (leaves.size >= MOST_LEAVES) throw new RangeError('too many');
    leaves.set(place, leaf);
  }

  function read(place: string, depth: number): void {
    if (depth > DEEPEST) throw new RangeError('too deep');
    if (isSign('{') || isSign('[')) {
      readInside(place, depth);
      return;
    }
    const [, , text, word] = token ?? [];
    if (text === undefined && word === undefined) throw new SyntaxError('no value');
    keep(place, leafOf(text, word));
    step();
  }

  function readInside(place: string, depth: number): void {
    const isList = isSign('[');
    const end = isList ? ']' : '}';
    step();
    if (isSign(end)) {
      keep(place, { kind: 'literal', text: isList ? '[]' : '{}' });
      step();
      return;
    }
    for (let index = 0; ; index += 1) {
      if (isList) read(`${place}[${index}]`, depth + 1);
      else {
        const [, , member] = token ?? [];
        if (member === undefined) throw new SyntaxError('no name');
        step();
        take(':');
        read(placeWithin(place, JSON.parse(member) as string), depth + 1);
      }
      if (!isSign(',')) break;
      step();
    }
    take(end);
  }

  try {
    read(at, 0);
    return token === undefined ? leaves : null;
  } catch {
    return null;
  }
}

export const leafOfValue = (value: string | number | null): Leaf =>
  typeof value === 'string'
    ? { kind: 'text', text: value }
    : { kind: value === null ? 'literal' : 'number', text: String(value) };

function leafOf(text: string | undefined, word = ''): Leaf {
  if (text !== undefined) return { kind: 'text', text: JSON.parse(text) as string };
  if (/^(true|false|null)$/.test(word)) return { kind: 'literal', text: word };
  if (Number.isNaN(Number(word))) throw new SyntaxError('no number');
  return { kind: 'number', text: word };
}

function placeWithin(place: string, member: string): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(member)) return `${place}[${JSON.stringify(member)}]`;
  return place === '' ? member : `${place}.${member}`;
}
