/** Parameters of a text of SQL: which there are, and the values that are typed for them. */

import type { Sql } from '../../sql.ts';

/** Text, quoted names and comments may hold the like of a parameter, and are skipped. */
const token =
  /--[^\n]*|\/\*.*?(?:\*\/|$)|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|[\p{L}_][\p{L}\p{N}_$]*|\d[\p{L}\p{N}_.]*|[:@$](?<name>[\p{L}\p{N}_]+)/gsu;

/** Their names, each once, in their order: `:name`, `@name` and `$name` are one. */
export function parametersOf(sql: string): string[] {
  const names = new Set<string>();
  for (const { groups } of sql.matchAll(token)) if (groups?.['name'] !== undefined) names.add(groups['name']);
  return [...names];
}

export type Typed = Readonly<Record<string, string>>;

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
