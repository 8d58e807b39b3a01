/** Random text, and what a row says, as a search would look at it. */

import fc from 'fast-check';

/** Of so few letters that texts often hold each other: some with accents, some that JSON escapes. */
export const shortText = fc.string({
  unit: fc.constantFrom(
    'a',
    'A',
    'b',
    'é',
    'E\u0301',
    'ß',
    's',
    'Σ',
    'ς',
    '1',
    '.',
    '-',
    ' ',
    '"',
    '\\',
    '\n',
    '💡',
  ),
  maxLength: 4,
});

/** The texts in a value, and its numbers as JSON writes them. */
export function leaves(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [JSON.stringify(value)];
  return value instanceof Object ? Object.values(value).flatMap(leaves) : [];
}
