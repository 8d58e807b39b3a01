/** JSON as what it says, whatever the order of members, the spaces, or the spelling of a number. */

import { isDeepStrictEqual } from 'node:util';

/** Parsing would lose the last digits of such a number, and with them a change. */
const longInteger = /[^.\d]\d{16}/;

/** Whether two texts of valid JSON say the same; false where that cannot be told for sure. */
export function saysTheSame(one: string, other: string): boolean {
  if (longInteger.test(one) || longInteger.test(other)) return false;
  return isDeepStrictEqual(JSON.parse(one), JSON.parse(other));
}
