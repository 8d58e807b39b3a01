/** JSON as what it says, whatever the order of members, the spaces, or the spelling of a value. */

import { isDeepStrictEqual } from 'node:util';

/** Parsing would lose the last digits of such a number, and with them a change. */
const longInteger = /[^.\d]\d{16}/;

/** The last escape in a name, or what looks like one: not all readers find a name with escapes. */
const escapedName = /\\.[^"\\]*"\s*:/;

/** Names, and strings that look like the end of one. */
const names = /"\s*:/g;

/**
 * Whether two texts of valid JSON say the same to every reader; false where that cannot be told for sure, such as
 * where one names a member twice or spells a name with escapes, as earlier releases stored them.
 */
export function saysTheSame(one: string, other: string): boolean {
  if (longInteger.test(one) || longInteger.test(other)) return false;
  if (escapedName.test(one) !== escapedName.test(other) || countNames(one) !== countNames(other))
    return false;
  return isDeepStrictEqual(JSON.parse(one), JSON.parse(other));
}

const countNames = (text: string) => text.match(names)?.length;
