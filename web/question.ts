/**
 * Questions in the grammar of `/mirror/v1`. The query string of a list's address is its question; beside it stand `words` of the
 * page alone. The service makes SQL of it.
 */

import type { PageCell } from '../src/serve/page/wire.ts';

/** SQL with its parameters. */
export type Sql = { sql: string; params: Readonly<Record<string, string | number | null>> };

/** A parameter of a question. */
export type Term = readonly [name: string, value: string];

/** Of an address; none of them is a condition. */
const words = 'at from to show q since range select order limit offset seq as_of'.split(' ');

export const comparisons = {
  eq: 'is',
  neq: 'is not',
  contains: 'contains',
  starts: 'starts with',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  null: 'is null',
  'not null': 'is not null',
} as const;

export type Comparison = keyof typeof comparisons;

export const needsValue = (is: Comparison): boolean => is !== 'null' && is !== 'not null';

/** The conditions of an address. */
export const conditionsIn = (search: URLSearchParams): Term[] =>
  [...search].filter(([name]) => !words.includes(name));

/** A name as the grammar writes it. */
export const nameOf = (column: string): string =>
  /^[\p{L}_][\p{L}\p{N}_]*$/u.test(column) ? column : `"${column.replace(/["\\]/g, '\\$&')}"`;

const writtenValue = (is: Comparison, value: string): string => {
  if (is === 'null') return 'is.null';
  if (is === 'not null') return 'not.is.null';
  if (is === 'contains') return `ilike.*${patternOf(value)}*`;
  return is === 'starts' ? `ilike.${patternOf(value)}*` : `${is}.${value}`;
};

/** A `*` cannot be written as itself: any letter stands for it. */
const patternOf = (text: string) => text.replace(/[\\%_]/g, '\\$&').replaceAll('*', '_');

/** A condition on a column, whatever its name is. */
export function condition(column: string, is: Comparison, value = ''): Term {
  const written = writtenValue(is, value);
  return words.includes(column) || column === 'and' || column === 'or'
    ? ['and', `(${column}.${inTree(written)})`]
    : [nameOf(column), written];
}

/** Within parentheses a value is quoted. */
const inTree = (written: string) =>
  written.replace(/^((?:not\.)?[a-z]+\.)(.*)$/s, (whole, operator: string, value: string) =>
    /[,()"\\]/.test(value) ? `${operator}"${value.replace(/["\\]/g, '\\$&')}"` : whole,
  );

/** That at least one of these columns contains the text beside it. */
export const anyContains = (pairs: readonly (readonly [column: string, text: string])[]): Term => [
  'or',
  `(${pairs.map(([column, text]) => `${nameOf(column)}.${inTree(writtenValue('contains', text))}`).join(',')})`,
];

/** The condition that a row has this value. */
export function conditionBy(column: string, value: PageCell, isBoolean: boolean): Term {
  if (value === null) return condition(column, 'null');
  const plain = typeof value === 'object' ? ('integer' in value ? value.integer : '') : String(value);
  return condition(column, 'eq', isBoolean && /^[01]$/.test(plain) ? String(plain === '1') : plain);
}

/** How a condition is said: `grade is A`. */
export function conditionText([name, value]: Term): string {
  const column = name.replace(/^"(.*)"$/, '$1');
  if (value === 'is.null') return `${column} is null`;
  if (value === 'not.is.null') return `${column} is not null`;
  const [, operator = '', rest = ''] = /^([a-z]+)\.(.*)$/s.exec(value) ?? [];
  if (operator === 'ilike') {
    const text = rest.replace(/\*$/, '').replace(/\\(.)/g, '$1');
    return text.startsWith('*') ? `${column} contains ${text.slice(1)}` : `${column} starts with ${text}`;
  }
  const said = comparisons[operator as Comparison] as string | undefined;
  return said === undefined ? `${column} ${value}` : `${column} ${said} ${rest === '' ? 'empty' : rest}`;
}

/** The terms with one more; a column has one value or none at a time, so another replaces it. */
export function withTerm(terms: readonly Term[], added: Term): Term[] {
  const isValue = ([, value]: Term) => /^(?:eq\.|is\.null$)/.test(value);
  const isReplaced = (one: Term) => one[0] === added[0] && isValue(one) && isValue(added);
  return [...terms.filter((one) => !isReplaced(one)), added];
}

/** The value of `column=eq.value`, or of another operator; null where the address has none. */
export function valueIn(search: URLSearchParams, column: string, operator = 'eq'): string | null {
  const found = search.getAll(column).find((value) => value.startsWith(`${operator}.`));
  return found === undefined ? null : found.slice(operator.length + 1);
}

export type Order = { column: string; descending: boolean };

/** Empty values come last in both directions: who sorts wants to see values. */
export const orderText = ({ column, descending }: Order): string =>
  `${nameOf(column)}.${descending ? 'desc' : 'asc'}.nullslast`;

export function orderIn(search: URLSearchParams): Order | null {
  const [, quoted, plain = '', way] =
    /^(?:"((?:[^"\\]|\\.)*)"|([^",.]+))(?:\.(asc|desc))?/.exec(search.get('order') ?? '') ?? [];
  const column = quoted?.replace(/\\(.)/g, '$1') ?? plain;
  return column === '' ? null : { column, descending: way === 'desc' };
}

/** The columns that an address chooses; null where it leaves that to the view. */
export function columnsIn(search: URLSearchParams): string[] | null {
  const text = search.get('select');
  const names = text?.match(/"(?:[^"\\]|\\.)*"|[^",]+/g);
  return names?.map((name) => name.replace(/^"(.*)"$/s, '$1').replace(/\\(.)/g, '$1')) ?? null;
}

export const selectText = (columns: readonly string[]): string => columns.map(nameOf).join(',');

type Parts = {
  table: string;
  select?: readonly string[];
  where?: readonly Term[];
  order?: readonly Order[];
  limit?: number;
  offset?: number;
};

/** `<table>?<question>`, as the service takes it. */
export function askOf({ table, select, where = [], order = [], limit, offset = 0 }: Parts): string {
  const terms: Term[] = [
    ...(select ? [['select', selectText(select)] as const] : []),
    ...where,
    ...(order.length > 0 ? [['order', order.map(orderText).join(',')] as const] : []),
    ...(limit === undefined ? [] : [['limit', String(limit)] as const]),
    ...(offset > 0 ? [['offset', String(offset)] as const] : []),
  ];
  return `${table}?${new URLSearchParams(terms as [string, string][])}`;
}

/** An identifier of SQL, whatever letters it has. */
export const quoted = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`;
