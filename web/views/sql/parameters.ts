/** Parameters of a text of SQL, and the values that are typed for them. */

import { parameterNames, tokenize } from '../../../src/base/sql-tokens.ts';
import type { Sql } from '../../question.ts';

/** Their names, each once, in their order: `:name`, `@name` and `$name` are one. */
export const parametersOf = (sql: string): string[] => [...parameterNames(tokenize(sql))];

export type Typed = Readonly<Record<string, string>>;

/** What a link asks for behind its `#`, or null. */
export function linkedQuery(hash: URLSearchParams): Sql | null {
  const sql = hash.get('sql');
  if (sql === null) return null;
  try {
    return { sql, params: (JSON.parse(hash.get('params') ?? '{}') ?? {}) as Sql['params'] };
  } catch {
    return { sql, params: {} };
  }
}

const whole = /^-?(?:0|[1-9]\d{0,15})$/;
const fraction = /^-?(?:0|[1-9]\d*)?(?:\.\d+(?:e[+-]?\d+)?|(?<=\d)e[+-]?\d+)$/i;

/**
 * What a typed text stands for: `12` and `0.5` are numbers, `null` is nothing, and quotes make a text of either: `'12'`.
 * A number that a double cannot hold stays a text, so that no digit is lost.
 */
export function typedValue(typed: string): string | number | null {
  const text = typed.trim();
  if (/^null$/i.test(text)) return null;
  const number = Number(text);
  if (whole.test(text) && Number.isSafeInteger(number)) return number;
  if (fraction.test(text) && Number.isFinite(number)) return number;
  return /^'.*'$/s.test(text) ? text.slice(1, -1).replaceAll("''", "'") : typed;
}

/** How a value is typed, so that the same comes of it again. */
export function typedOf(value: string | number | null): string {
  if (typeof value !== 'string') return String(value);
  return typedValue(value) === value ? value : `'${value.replaceAll("'", "''")}'`;
}

/** The parameters of `sql` with their values; one for which nothing was typed is an empty text. */
export function paramsOf(sql: string, typed: Typed): Sql['params'] {
  return Object.fromEntries(parametersOf(sql).map((name) => [name, typedValue(typed[name] ?? '')]));
}
