/** What changed between two versions of a row, value by value. */

import type { Leaf, Leaves } from './leaves.ts';

/** `before` is null for a value that came, `after` for one that went. */
export type Change = { place: string; before: Leaf | null; after: Leaf | null };

export function changesBetween(before: Leaves, after: Leaves): Change[] {
  const places = new Set([...after.keys(), ...before.keys()]);
  return [...places].flatMap((place) => {
    const [old, young] = [before.get(place) ?? null, after.get(place) ?? null];
    return old?.kind === young?.kind && old?.text === young?.text
      ? []
      : [{ place, before: old, after: young }];
  });
}

/** A text in three parts, of which the middle one is what the other text does not have. */
export type Marked = readonly [same: string, other: string, same: string];

/** Where two texts differ. Null where they have too little in common for that to tell anything. */
export function markDifference(before: string, after: string): { before: Marked; after: Marked } | null {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  if (head > 0 && isFirstHalf(before.charCodeAt(head - 1))) head -= 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-tail - 1) === after.at(-tail - 1)) tail += 1;
  if (tail > 0 && isSecondHalf(before.charCodeAt(before.length - tail))) tail -= 1;
  if ((head + tail) * 3 < shorter || head + tail === 0) return null;
  const parts = (text: string): Marked => [
    text.slice(0, head),
    text.slice(head, text.length - tail),
    text.slice(text.length - tail),
  ];
  return { before: parts(before), after: parts(after) };
}

const isFirstHalf = (code: number) => code >= 0xd800 && code < 0xdc00;
const isSecondHalf = (code: number) => code >= 0xdc00 && code < 0xe000;
