/** What a column holds, by its declaration and by the values that came: how it is aligned and shown. */

import type { PageCell } from '../src/serve/page/wire.ts';
import { timeOf } from './formats.ts';

export type Kind = 'number' | 'time' | 'text';

/** @param type as declared, or null for an expression. @param values of the column. */
export function kindOf(type: string | null, values: Iterable<PageCell>): Kind {
  const declared = (type ?? '').toUpperCase();
  let kind: Kind | undefined;
  for (const value of values) {
    if (value === null) continue;
    const found = kindOfValue(value);
    if (kind !== undefined && found !== kind) return 'text';
    kind = found;
  }
  return kind ?? (/INT|REAL|NUM|DOUB|FLOA/.test(declared) ? 'number' : 'text');
}

function kindOfValue(value: Exclude<PageCell, null>): Kind {
  if (typeof value === 'number' || (typeof value === 'object' && 'integer' in value)) return 'number';
  return typeof value === 'string' && timeOf(value) !== null ? 'time' : 'text';
}

/** The number in a cell; null where there is none. A large integer becomes the nearest double. */
export function amountOf(value: PageCell | undefined): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'object' && value !== null && 'integer' in value ? Number(value.integer) : null;
}

/** A number that names something has no separators and no mean. */
export const isIdentity = (column: string): boolean => /(^|_)(id|seq|rowid|block)$/i.test(column);

/** The address of a text that is nothing but a web address; null for all else, and for other schemes. */
export function webAddress(text: string): string | null {
  if (!/^https?:\/\/\S+$/i.test(text)) return null;
  try {
    return new URL(text).href;
  } catch {
    return null;
  }
}

/** A text of JSON that is an object or a list, laid out in lines; null for all else. */
export function prettyJson(text: string): string | null {
  if (!/^\s*[[{]/.test(text)) return null;
  // Numbers too large for a double would lose digits on the way.
  if (/\d{16}/.test(text)) return null;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}
