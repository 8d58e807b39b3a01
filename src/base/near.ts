/** Names that somebody may have meant. */

import { distance } from 'fastest-levenshtein';

const MAX_NAMES = 3;

/** Names that are so much farther than the nearest one are shown as well. */
const MAX_EXTRA_DISTANCE = 1;

/** ` (did you mean …?)` for names at most a third of the letters away, nearest first; else empty. */
export function nearest(name: string, known: readonly string[], prefix = ''): string {
  const question = didYouMean(name, known, prefix);
  return question === '' ? '' : ` (${question})`;
}

/** The same without parentheses. */
export function didYouMean(name: string, known: readonly string[], prefix = ''): string {
  const written = name.toLowerCase();
  const possible = known
    // A name can be as long as anybody likes: what differs so much in length is not compared.
    .filter((candidate) => Math.abs(name.length - candidate.length) <= mostSlips(name, candidate))
    .map((candidate) => ({ candidate, away: slips(written, candidate.toLowerCase()) }))
    .filter(({ away, candidate }) => away <= mostSlips(name, candidate))
    .sort((a, b) => a.away - b.away);
  const near = possible
    .filter(({ away }) => away <= (possible[0]?.away ?? 0) + MAX_EXTRA_DISTANCE)
    .slice(0, MAX_NAMES)
    .map(({ candidate }) => prefix + candidate);
  return near.length > 0 ? `did you mean ${near.join(' or ')}?` : '';
}

const mostSlips = (written: string, meant: string) =>
  Math.max(1, Math.floor(Math.max(written.length, meant.length) / 3));

/** Letters in the wrong order are the commonest slip, and one. */
function slips(written: string, meant: string): number {
  const letters = (word: string) => [...word].sort().join('');
  return written !== meant && letters(written) === letters(meant) ? 1 : distance(written, meant);
}
