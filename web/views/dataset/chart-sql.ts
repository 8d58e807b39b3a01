/** The SQL of a chart over time: what the database counts, so that a million rows become a few hundred points. */

import { type Condition, name, type Sql, whereOf } from '../../sql.ts';
import type { Column } from './columns.ts';

export const buckets = ['minute', 'hour', 'day', 'week', 'month'] as const;
export type Bucket = (typeof buckets)[number];

export type Charted = {
  table: string;
  time: Pick<Column, 'name' | 'clock'>;
  /** A column of numbers, or null to count rows. */
  value: string | null;
  where: readonly Condition[];
};

/** At most so many points: more than a screen has columns. */
export const MOST_POINTS = 2_000;

/**
 * Columns `at` (ISO 8601 UTC, the beginning of the time that is counted together), `rows`, and of a value `avg`, `min` and
 * `max`. The latest first, so that what is cut off is the oldest.
 */
export function chartSql({ table, time, value, where }: Charted, by: Bucket): Sql {
  const { sql, params } = whereOf(where);
  const of = value === null ? '' : name(value);
  const measures =
    value === null ? [] : [`avg(${of}) AS "avg"`, `min(${of}) AS "min"`, `max(${of}) AS "max"`];
  const isNumber = value === null ? '' : `typeof(${of}) IN ('integer', 'real')`;
  const needed = isNumber === '' ? sql : `${sql === '' ? 'WHERE' : `${sql}\n  AND`} ${isNumber}`;
  const at = bucketOf(time, by);
  const lines = [
    `SELECT ${[`${at} AS "at"`, 'count(*) AS "rows"', ...measures].join(', ')}`,
    `FROM ${name(table)}`,
    ...(needed === '' ? [] : [needed]),
    // Query of the groups, so that the time of a row is read once.
    `GROUP BY 1 HAVING ${at} IS NOT NULL ORDER BY 1 DESC`,
  ];
  return { sql: lines.join('\n'), params };
}

/** From when to when its rows reach, in epoch seconds: `first` and `last`. */
export function extentSql({ table, time, where }: Charted): Sql {
  const { sql, params } = whereOf(where);
  const at = `unixepoch(${momentArguments(time).join(', ')})`;
  return {
    sql: `SELECT min(${at}) AS "first", max(${at}) AS "last"\nFROM ${name(table)}\n${sql}`.trimEnd(),
    params,
  };
}

/** A few hundred points at most, if they can be had. @param first and `last` in epoch seconds. */
export function suitingBucket(first: number, last: number): Bucket {
  const hours = (last - first) / 3_600;
  if (hours <= 6) return 'minute';
  if (hours <= 14 * 24) return 'hour';
  if (hours <= 3 * 365 * 24) return 'day';
  return hours <= 20 * 365 * 24 ? 'week' : 'month';
}

const formats: Readonly<Record<Bucket, string>> = {
  minute: '%Y-%m-%dT%H:%MZ',
  hour: '%Y-%m-%dT%H:00Z',
  day: '%Y-%m-%dT00:00Z',
  week: '%Y-%m-%dT00:00Z',
  month: '%Y-%m-01T00:00Z',
};

function bucketOf(time: Charted['time'], by: Bucket): string {
  // The Monday on or before it.
  const back = by === 'week' ? ["'weekday 0'", "'-6 days'"] : [];
  return `strftime(${[`'${formats[by]}'`, ...momentArguments(time), ...back].join(', ')})`;
}

function momentArguments({ name: column, clock }: Charted['time']): string[] {
  if (clock === 'seconds') return [name(column), "'unixepoch'"];
  return clock === 'milliseconds' ? [`${name(column)} / 1000`, "'unixepoch'"] : [name(column)];
}
