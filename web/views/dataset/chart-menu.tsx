/** A chart over time of the rows that are found: a question in SQL, which the reader can change. */

import { useState } from 'preact/hooks';
import { Select } from '../../parts/select.tsx';
import { quoted, type Sql } from '../../question.ts';
import { linkToSql } from '../../router.ts';
import { type Column, facetColumns, numberColumns, timeColumns } from './columns.ts';

const buckets = {
  minute: '%Y-%m-%dT%H:%MZ',
  hour: '%Y-%m-%dT%H:00Z',
  day: '%Y-%m-%dT00:00Z',
  month: '%Y-%m-01T00:00Z',
} as const;
type Bucket = keyof typeof buckets;

export function ChartMenu({ columns, whole }: { columns: readonly Column[]; whole: Sql }) {
  const times = timeColumns(columns);
  const numbers = numberColumns(columns);
  const splits = facetColumns(columns);
  const [time, setTime] = useState(times[0]?.name ?? '_changed_at');
  const [value, setValue] = useState('');
  const [by, setBy] = useState<Bucket>('hour');
  const [split, setSplit] = useState('');
  const column = times.find(({ name }) => name === time);
  const names = (those: readonly Column[]) => those.map(({ name }) => [name, name] as const);
  return (
    <details class="menu">
      <summary class="button">Chart</summary>
      <div class="menu-box filter chart-choice">
        <label>
          Show{' '}
          <Select
            value={value}
            options={[['', 'number of rows'], ...names(numbers)]}
            choose={(next) => setValue(next)}
          />
        </label>
        <label>
          over <Select value={time} options={names(times)} choose={(next) => setTime(next)} />
        </label>
        <label>
          by{' '}
          <Select
            value={by}
            options={(Object.keys(buckets) as Bucket[]).map((one) => [one, one] as const)}
            choose={(next) => setBy(next)}
          />
        </label>
        {splits.length > 0 && (
          <label>
            split by{' '}
            <Select
              value={split}
              options={[['', 'nothing'], ...names(splits)]}
              choose={(next) => setSplit(next)}
            />
          </label>
        )}
        {column && (
          <a
            class="button main"
            href={linkToSql(chartQuestion(whole, column, value, by, split), undefined, true)}
          >
            Draw
          </a>
        )}
      </div>
    </details>
  );
}

/** @param whole the rows, as the service wrote it: their conditions stand between `FROM` and `ORDER BY`. */
function chartQuestion(
  { sql, params }: Sql,
  { name, clock, isComparable }: Column,
  value: string,
  by: Bucket,
  split: string,
): Sql {
  const from = sql.slice(sql.indexOf('\nFROM') + 1, sql.lastIndexOf('\nORDER BY'));
  const time = quoted(name);
  const moment = clock === 'text' ? time : `${clock === 'seconds' ? time : `${time} / 1000`}, 'unixepoch'`;
  const of = quoted(value);
  const lines = [
    `SELECT strftime('${buckets[by]}', ${moment}) AS "${by}"`,
    ...(split === '' ? [] : [`  ${quoted(split)}`]),
    ...(value === ''
      ? ['  count(*) AS "rows"']
      : split === ''
        ? [`  avg(${of}) AS mean`, `  min(${of}) AS smallest`, `  max(${of}) AS largest`]
        : [`  avg(${of}) AS mean`]),
  ];
  const range = `${from.includes('\nWHERE ') ? '  AND' : 'WHERE'} ${time} >= coalesce(:from, '') AND ${time} < coalesce(:until, 'a')`;
  // What one draws across fills these parameters.
  const isRanged = clock === 'text' && isComparable;
  return {
    sql: [
      lines.join(',\n'),
      from,
      ...(isRanged ? [range] : []),
      `GROUP BY 1${split === '' ? '' : ', 2'}`,
      'ORDER BY 1',
    ].join('\n'),
    params: isRanged ? { ...params, from: null, until: null } : params,
  };
}
