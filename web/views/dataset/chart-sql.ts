/** The SQL of a chart over time: what the database counts, so that a million rows become a few hundred points. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../formats.ts';
import { type Condition, name, type Sql, whereOf } from '../../sql.ts';
import type { Column } from './columns.ts';

export const buckets = ['minute', 'hour', 'day', 'week', 'month'] as const;
export type Bucket = (typeof buckets)[number];

export type Charted = {
  table: string;
  time: Pick<Column, 'name' | 'clock'>;
  /** A column of numbers, or null to count rows. */
  value: string | null;
  /** A column whose most frequent values become a series each, and all others one; null for one series. */
  split?: string | null;
  where: readonly Condition[];
};

/** At most so many points: more than a screen has columns. */
export const MAX_POINTS = 2_000;

/** More lines than these cannot be told apart. */
export const MAX_SERIES = 8;
export const OTHERS = 'all others';

/**
 * Columns `at` (ISO 8601 UTC, the beginning of the bucket), `rows`, of a value `avg`, `min` and `max`, and split, `series`. The latest
 * come first, so that the oldest are cut.
 */
export function chartSql({ table, time, value, where, split = null }: Charted, by: Bucket): Sql {
  const { sql, params } = whereOf(where);
  const of = value === null ? '' : name(value);
  const measures =
    value === null ? [] : [`avg(${of}) AS "avg"`, `min(${of}) AS "min"`, `max(${of}) AS "max"`];
  const isNumber = value === null ? '' : `typeof(${of}) IN ('integer', 'real')`;
  const needed = isNumber === '' ? sql : `${sql === '' ? 'WHERE' : `${sql}\n  AND`} ${isNumber}`;
  const at = bucketOf(time, by);
  const text = split === null ? '' : `coalesce(CAST(${name(split)} AS TEXT), 'null')`;
  const series = `iif(${text} IN (SELECT value FROM frequent), ${text}, '${OTHERS}') AS "series"`;
  const lines = [
    ...(split === null
      ? []
      : [
          'WITH frequent AS (',
          `  SELECT ${text} AS value FROM ${name(table)} ${needed}`,
          `  GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ${MAX_SERIES}`,
          ')',
        ]),
    `SELECT ${[`${at} AS "at"`, 'count(*) AS "rows"', ...measures, ...(split === null ? [] : [series])].join(', ')}`,
    `FROM ${name(table)}`,
    ...(needed === '' ? [] : [needed]),
    // A condition on groups, so that the time of a row is read once.
    `GROUP BY 1${split === null ? '' : `, ${value === null ? 3 : 6}`} HAVING ${at} IS NOT NULL ORDER BY 1 DESC`,
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

/** Those that suit a column: all of a day is in its first hour where a column holds days. */
export const bucketsFor = ({ kind }: Pick<Column, 'kind'>): readonly Bucket[] =>
  kind === 'text' ? buckets.slice(buckets.indexOf('day')) : buckets;

/** A few hundred points at most, if they can be had. @param first and `last` in epoch seconds. @param among those to choose from. */
export function suitingBucket(first: number, last: number, among: readonly Bucket[] = buckets): Bucket {
  const hours = (last - first) / 3_600;
  if (hours <= 6 && among.includes('minute')) return 'minute';
  if (hours <= 14 * 24 && among.includes('hour')) return 'hour';
  if (hours <= 3 * 365 * 24) return 'day';
  return hours <= 20 * 365 * 24 ? 'week' : 'month';
}

const bucketMs = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS };

/** When a bucket ends that begins at this time, in epoch milliseconds. */
export function endOf(begin: number, by: Bucket): number {
  if (by !== 'month') return begin + bucketMs[by];
  const at = new Date(begin);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1);
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
