/** SQL with parameters, made of what was chosen: names are quoted here and nowhere else, values are never part of it. */

export type Sql = { sql: string; params: Record<string, string | number | null> };

/** An integer too large for a number keeps its digits. */
export type Value = string | number | null | { integer: string };

/** An identifier, whatever letters it has. */
export const name = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`;

const END_SEQ = 'CAST(round((julianday("_valid_to") - 2440587.5) * 86400000) AS INTEGER)';

/**
 * The walk that proved that a row of `table` was gone at its `_valid_to`. A walk that removes much has a number for each thousand
 * rows, of which it keeps the first and the last.
 */
export const removerSql = (table: string): string =>
  `(SELECT id FROM walks WHERE last_seq >= ${END_SEQ} AND first_seq <= ${END_SEQ}
    AND kind = 'walk' AND replace(job, '-', '_') = '${table.replaceAll("'", "''")}' ORDER BY last_seq LIMIT 1)`;

export type Comparison = '=' | '<>' | '<' | '<=' | '>' | '>=' | 'contains' | 'starts' | 'null' | 'not null';

export type Condition =
  | { column: string; is: Comparison; value?: Value }
  /** At least one of the columns contains the text. */
  | { anyOf: readonly string[]; contains: string }
  /** At least one of them holds. */
  | { either: readonly Condition[] };

export type Order = { column: string; descending?: boolean };

export type Select = {
  /** Not given: all. */
  columns?: readonly string[];
  from: string;
  where?: readonly Condition[];
  order?: readonly Order[];
  limit?: number;
  offset?: number;
};

/** Empty values come last in both directions: who sorts wants to see values. */
export function select({ columns, from, where = [], order = [], limit, offset = 0 }: Select): Sql {
  const { sql, params } = whereOf(where);
  const lines = [
    `SELECT ${columns ? columns.map(name).join(', ') : '*'}`,
    `FROM ${name(from)}`,
    ...(sql === '' ? [] : [sql]),
    ...(order.length === 0 ? [] : [`ORDER BY ${order.map(orderTerm).join(', ')}`]),
    ...(limit === undefined ? [] : [`LIMIT ${whole(limit)}${offset > 0 ? ` OFFSET ${whole(offset)}` : ''}`]),
  ];
  return { sql: lines.join('\n'), params };
}

/** `WHERE …` with the values of its parameters; an empty text for no conditions. @param prefix of the parameters' names. */
export function whereOf(conditions: readonly Condition[], prefix = 'p'): Sql {
  const params: Sql['params'] = {};
  const bind = (value: Value) => {
    const parameter = `${prefix}${Object.keys(params).length + 1}`;
    const isLarge = value !== null && typeof value === 'object';
    params[parameter] = isLarge ? value.integer : value;
    return isLarge ? `CAST(:${parameter} AS INTEGER)` : `:${parameter}`;
  };
  const terms = conditions.map((condition) => termOf(condition, bind));
  return { sql: terms.length === 0 ? '' : `WHERE ${terms.join('\n  AND ')}`, params };
}

type Bind = (value: Value) => string;

function termOf(condition: Condition, bind: Bind): string {
  if ('anyOf' in condition) {
    if (condition.anyOf.length === 0) return 'false';
    const pattern = bind(`%${escaped(condition.contains)}%`);
    return `(${condition.anyOf.map((column) => like(column, pattern)).join(' OR ')})`;
  }
  if ('either' in condition) {
    const terms = condition.either.map((one) => termOf(one, bind));
    return terms.length === 0 ? 'false' : `(${terms.join(' OR ')})`;
  }
  const { column, is, value = null } = condition;
  switch (is) {
    case 'null':
      return `${name(column)} IS NULL`;
    case 'not null':
      return `${name(column)} IS NOT NULL`;
    case 'contains':
      return like(column, bind(`%${escaped(String(value))}%`));
    case 'starts':
      return like(column, bind(`${escaped(String(value))}%`));
    case '=':
      return `${name(column)} IS ${bind(value)}`;
    case '<>':
      return `${name(column)} IS NOT ${bind(value)}`;
    default:
      return `${name(column)} ${is} ${bind(value)}`;
  }
}

const like = (column: string, pattern: string) => `${name(column)} LIKE ${pattern} ESCAPE '\\'`;
const escaped = (text: string) => text.replace(/[\\%_]/g, '\\$&');
export const orderTerm = ({ column, descending }: Order) =>
  `${name(column)}${descending ? ' DESC' : ''} NULLS LAST`;
const whole = (value: number) => Math.max(0, Math.trunc(value));
