/** A chart over time: how many rows, or a column of numbers, put together by the database. */

import { useMemo } from 'preact/hooks';
import { useAnswer, useRequestOf } from '../../ask.ts';
import { serviceNow } from '../../clock.ts';
import { momentOf, number } from '../../formats.ts';
import { amountOf } from '../../kinds.ts';
import { Chart, type Series } from '../../parts/chart.tsx';
import { DownloadMenu } from '../../parts/download.tsx';
import { Sources } from '../../parts/proof.tsx';
import { Select } from '../../parts/select.tsx';
import { Awaited, Empty } from '../../parts/states.tsx';
import { go, linkHere, linkToSql } from '../../router.ts';
import type { Answer } from '../../service.ts';
import {
  type Bucket,
  buckets,
  bucketsFor,
  type Charted,
  chartSql,
  endOf,
  extentSql,
  MAX_POINTS,
  MAX_SERIES,
  OTHERS,
  suitingBucket,
} from './chart-sql.ts';
import { type Column, numberColumns, timeColumns } from './columns.ts';
import { FilterMenu, Filters, SearchBox } from './filters.tsx';
import {
  type ContentProps,
  conditionsOf,
  type Dataset,
  type Filter,
  fileNameOf,
  searchFor,
  type ViewState,
} from './view-state.ts';

export function ChartedRows({ dataset, status, columns, state, at }: ContentProps) {
  const times = timeColumns(columns);
  const numbers = numberColumns(columns);
  const splits = columns.filter(
    ({ kind, isKey, isBookkeeping }) =>
      kind !== 'number' && kind !== 'json' && kind !== 'time' && !isKey && !isBookkeeping,
  );
  const time = times.find(({ name }) => name === state.time) ?? times[0];
  const value = numbers.find(({ name }) => name === state.value)?.name ?? null;
  const charted: Charted = {
    table: dataset.table,
    time: time ?? { name: '_changed_at', clock: 'text' },
    value,
    split: splits.find(({ name }) => name === state.split)?.name ?? null,
    where: conditionsOf(state, columns),
  };
  const refresh = { changed: status.lastChange, isLive: at === null };
  const fitting = time ? bucketsFor(time) : buckets;
  const chosen = fitting.find((each) => each === state.by) ?? null;
  const extent = useAnswer(chosen ? null : { ...extentSql(charted), asOf: at, limit: 1 }, refresh);
  const by = chosen ?? bucketOf(extent.value, fitting);
  const question = by && chartSql(charted, by);
  const points = useAnswer(
    question && { ...question, asOf: at, limit: MAX_POINTS * (charted.split ? MAX_SERIES + 1 : 1) },
    refresh,
  );
  const query = extent.isLoading || extent.problem ? extent : points;
  const asked = useRequestOf(points, { charted, by, time, dataset });
  return (
    <div class="stack">
      <div class="tools">
        <Choice
          label="Show"
          value={value ?? ''}
          options={[['', 'number of rows'], ...numbers.map(({ name }): Option => [name, name])]}
          choose={(next) => ({ value: next || null })}
        />
        <Choice
          label="over"
          value={charted.time.name}
          options={times.map(({ name }) => [name, name])}
          choose={(next) => ({ time: next })}
        />
        <Choice
          label="by"
          value={chosen ?? ''}
          options={[
            ['', by && !chosen ? `automatic: ${by}` : 'automatic'],
            ...fitting.map((each): Option => [each, each]),
          ]}
          choose={(next) => ({ by: (next || null) as Bucket | null })}
        />
        {splits.length > 0 && (
          <Choice
            label="split by"
            value={charted.split ?? ''}
            options={[['', 'nothing'], ...splits.map(({ name }): Option => [name, name])]}
            choose={(next) => ({ split: next || null })}
          />
        )}
      </div>
      <div class="tools">
        <SearchBox state={state} />
        <FilterMenu state={state} columns={columns} facets={[]} />
        {question && (
          <DownloadMenu question={question} name={fileNameOf(dataset.name, state, `_by-${by}`)} asOf={at} />
        )}
        {question && <a href={linkToSql(question)}>Open as SQL</a>}
      </div>
      <Filters state={state} />
      {at !== null && points.value && <Sources sources={points.value.sources} isPast />}
      <Awaited query={query} loading="Counting" isThere={points.value !== null} />
      {points.value && asked.by && (
        <Drawn
          {...asked}
          answer={points.value}
          by={asked.by}
          filters={state.filters}
          now={at === null ? serviceNow() : Date.parse(at)}
          isOld={points.isOld}
        />
      )}
    </div>
  );
}

type DrawnProps = {
  answer: Answer;
  /** Of this answer: the reader may have chosen another by now. */
  charted: Charted;
  by: Bucket;
  time: Column | undefined;
  dataset: Dataset;
  filters: readonly Filter[];
  now: number;
  isOld: boolean;
};

function Drawn({ answer, charted, by, time, dataset, filters, now, isOld }: DrawnProps) {
  const { value, split } = charted;
  const { x, rows, series } = useMemo(
    () => (split ? splitSeriesOf : seriesOf)(answer, value),
    [answer, value, split],
  );
  const last = x.at(-1);
  if (last === undefined)
    return (
      <Empty>
        {value === null
          ? `No row has a time in ${charted.time.name}.`
          : `No row has a number in ${value} and a time in ${charted.time.name}.`}
      </Empty>
    );
  const isUnfinished = last <= now && endOf(last, by) > now;
  /** Filters by the buckets that the reader drew across. */
  const brush = (from: number, to: number) => {
    const inside = x.filter((one) => one >= from && one <= to);
    const [first, end] = [inside[0], inside.at(-1)];
    if (first === undefined || end === undefined) return;
    const { name, clock } = charted.time;
    const written = (ms: number) => {
      if (clock !== 'text') return String(clock === 'seconds' ? ms / 1_000 : ms);
      // Milliseconds sort before the `Z` of a time without them, as the beginning of a second should.
      const text = new Date(ms).toISOString();
      return time?.kind === 'text' ? text.slice(0, 10) : text;
    };
    const others = filters.filter(({ column, is }) => column !== name || (is !== '>=' && is !== '<'));
    const between = [
      { column: name, is: '>=' as const, value: written(first) },
      { column: name, is: '<' as const, value: written(endOf(end, by)) },
    ];
    go(linkHere(searchFor({ filters: [...others, ...between] })));
  };
  return (
    <section class={`card${isOld ? ' old' : ''}`} aria-busy={isOld}>
      <Chart
        title={`${value === null ? 'Rows' : split ? `Mean ${value}` : value} of ${dataset.name} by ${by}${split ? ` and ${split}` : ''}`}
        x={x}
        isTime
        xLabel={`${by}, from`}
        series={series}
        height={320}
        fromZero={value === null}
        unit={value ?? 'rows'}
        unfinishedFrom={isUnfinished ? last : undefined}
        brush={time?.isComparable ? brush : undefined}
        note={noteOf(rows, value, answer.isCut, by, isUnfinished)}
      />
    </section>
  );
}

type Option = [value: string, label: string];
type ChoiceProps = {
  label: string;
  value: string;
  options: readonly Option[];
  choose(value: string): Partial<ViewState>;
};

function Choice({ label, value, options, choose }: ChoiceProps) {
  return (
    <label class="choice pair">
      {label}{' '}
      <Select
        value={value}
        options={options}
        choose={(next) => go(linkHere(searchFor(choose(next))), 'replace')}
      />
    </label>
  );
}

function bucketOf(answer: Answer | null, among: readonly Bucket[]): Bucket | null {
  if (!answer) return null;
  const [first, last] = answer.rows[0] ?? [];
  return typeof first === 'number' && typeof last === 'number' ? suitingBucket(first, last, among) : 'day';
}

/** The latest come first in the answer. */
function seriesOf({ rows: answered, columns }: Answer, value: string | null) {
  const rows = answered.toReversed().filter(([at]) => momentOf(String(at)) !== null);
  const valuesOf = (name: string) => {
    const at = columns.findIndex((column) => column.name === name);
    return rows.map((row) => amountOf(row[at]));
  };
  const series: Series[] =
    value === null || columns.length < 5
      ? [{ label: 'rows', values: valuesOf('rows'), kind: 'bars' }]
      : [
          { label: 'mean', values: valuesOf('avg'), kind: 'line' },
          { label: 'smallest', values: valuesOf('min'), kind: 'line', isDashed: true, colour: '--series-6' },
          { label: 'largest', values: valuesOf('max'), kind: 'line', isDashed: true, colour: '--series-2' },
        ];
  return {
    x: rows.map(([at]) => momentOf(String(at)) ?? 0),
    rows: valuesOf('rows').reduce<number>((sum, rows) => sum + (rows ?? 0), 0),
    series,
  };
}

/** A line for each value of the column, the most frequent first; hours without a row have none of it. */
function splitSeriesOf({ rows: answered, columns }: Answer, value: string | null) {
  const at = columns.length - 1;
  const measure = value === null ? 1 : 2;
  const rows = answered.toReversed().filter(([time]) => momentOf(String(time)) !== null);
  const x = [...new Set(rows.map(([time]) => momentOf(String(time)) ?? 0))];
  const places = new Map(x.map((time, place) => [time, place]));
  const found = new Map<string, { rows: number; values: (number | null)[] }>();
  let total = 0;
  for (const row of rows) {
    const name = String(row[at]);
    const one = found.get(name) ?? { rows: 0, values: x.map(() => (value === null ? 0 : null)) };
    found.set(name, one);
    one.values[places.get(momentOf(String(row[0])) ?? 0) ?? 0] = amountOf(row[measure]);
    one.rows += amountOf(row[1]) ?? 0;
    total += amountOf(row[1]) ?? 0;
  }
  const weight = ([name, { rows }]: [string, { rows: number }]) => (name === OTHERS ? -1 : rows);
  const series = [...found]
    .sort((one, other) => weight(other) - weight(one))
    .map(([label, { values }]): Series => ({ label, values, kind: 'line' }));
  return { x, rows: total, series };
}

function noteOf(
  rows: number,
  value: string | null,
  isCut: boolean,
  by: Bucket,
  isUnfinished: boolean,
): string {
  const what = value === null ? `${number(rows)} rows` : `of ${number(rows)} rows that have a number there`;
  return [
    what,
    isCut && `cut: a ${by} is too short for all of them, and only the latest are shown`,
    isUnfinished && `the last ${by} is not over yet, and pale`,
  ]
    .filter(Boolean)
    .join('; ');
}
