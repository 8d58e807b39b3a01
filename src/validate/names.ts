/**
 * The names in JSON that is kept as text. Readers differ in which of two members of one name they believe, and some
 * look for the spelling of a name instead of what it says; so each name comes once in an object, spelled plainly.
 */

import { endOfString, type Slice, skipSpace, sliceElements } from './raw.ts';
import type { Problem } from './types.ts';

const LONGEST_PLACE = 100;

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
