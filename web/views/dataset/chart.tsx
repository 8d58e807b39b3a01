/** A chart over time: how many rows, or a column of numbers, put together by the database. */

import { useMemo } from 'preact/hooks';
import { useAnswer } from '../../ask.ts';
import { momentOf, number } from '../../formats.ts';
import { useLive } from '../../live.ts';
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
  type Charted,
  chartSql,
  extentSql,
  MOST_POINTS,
  suitingBucket,
} from './chart-sql.ts';
import { type Column, numberColumns, timeColumns } from './columns.ts';
import { FilterMenu, Filters, SearchBox } from './filters.tsx';
import { conditionsOf, type Dataset, fileNameOf, searchFor, type ViewState } from './view-state.ts';

type Props = { dataset: Dataset; columns: readonly Column[]; state: ViewState; at: string | null };

export function ChartedRows({ dataset, columns, state, at }: Props) {
  const status = useLive().overview?.status.datasets.find(({ job }) => job === dataset.name);
  const times = timeColumns(columns);
  const numbers = numberColumns(columns);
  const time = times.find(({ name }) => name === state.time) ?? times[0];
  const value = numbers.find(({ name }) => name === state.value)?.name ?? null;
  const charted: Charted = {
    table: dataset.table,
    time: time ?? { name: '_changed_at', clock: 'text' },
    value,
    where: conditionsOf(state, columns),
  };
  const refresh = { changed: status?.lastChange, isLive: at === null };
  const extent = useAnswer(state.by ? null : { ...extentSql(charted), asOf: at, limit: 1 }, refresh);
  const by = state.by ?? bucketOf(extent.value);
  const question = by && chartSql(charted, by);
  const points = useAnswer(question && { ...question, asOf: at, limit: MOST_POINTS }, refresh);
  const query = extent.isLoading || extent.problem ? extent : points;
  const drawn = useMemo(() => points.value && seriesOf(points.value, value), [points.value, value]);
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
          value={state.by ?? ''}
          options={[
            ['', by && !state.by ? `automatic: ${by}` : 'automatic'],
            ...buckets.map((each): Option => [each, each]),
          ]}
          choose={(next) => ({ by: (next || null) as Bucket | null })}
        />
      </div>
      <div class="tools">
        <SearchBox state={state} />
        <FilterMenu state={state} columns={columns} facets={[]} />
        {question && (
          <DownloadMenu question={question} name={`${fileNameOf(dataset.name, state)}_by-${by}`} asOf={at} />
        )}
        {question && <a href={linkToSql(question)}>Open as SQL</a>}
      </div>
      <Filters state={state} />
      {at !== null && points.value && <Sources sources={points.value.sources} isPast />}
      <Awaited query={query} loading="Counting" isThere={drawn !== null} />
      {drawn && by && drawn.x.length > 0 && (
        <section class="card">
          <Chart
            title={
              value === null ? `Rows of ${dataset.name} by ${by}` : `${value} of ${dataset.name} by ${by}`
            }
            x={drawn.x}
            isTime
            xLabel={`${by}, from`}
            series={drawn.series}
            height={320}
            fromZero={value === null}
            note={noteOf(drawn.rows, value, points.value?.isCut ?? false, by)}
          />
        </section>
      )}
      {drawn?.x.length === 0 && !query.isLoading && (
        <Empty>
          {value === null
            ? `No row has a time in ${charted.time.name}.`
            : `No row has a number in ${value} and a time in ${charted.time.name}.`}
        </Empty>
      )}
    </div>
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
    <label class="choice">
      {label}{' '}
      <Select
        value={value}
        options={options}
        choose={(next) => go(linkHere(searchFor(choose(next))), 'replace')}
      />
    </label>
  );
}

function bucketOf(answer: Answer | null): Bucket | null {
  if (!answer) return null;
  const [first, last] = answer.rows[0] ?? [];
  return typeof first === 'number' && typeof last === 'number' ? suitingBucket(first, last) : 'day';
}

/** The latest come first in the answer. */
function seriesOf({ rows: answered, columns }: Answer, value: string | null) {
  const rows = answered.toReversed().filter(([at]) => momentOf(String(at)) !== null);
  const valuesOf = (name: string) => {
    const at = columns.findIndex((column) => column.name === name);
    return rows.map((row) => asNumber(row[at]));
  };
  const series: Series[] =
    value === null || columns.length < 5
      ? [{ label: 'rows', values: valuesOf('rows'), kind: 'bars' }]
      : [
          { label: 'average', values: valuesOf('avg'), kind: 'line' },
          { label: 'least', values: valuesOf('min'), kind: 'line', isDashed: true, colour: '--series-6' },
          { label: 'most', values: valuesOf('max'), kind: 'line', isDashed: true, colour: '--series-2' },
        ];
  return {
    x: rows.map(([at]) => momentOf(String(at)) ?? 0),
    rows: valuesOf('rows').reduce<number>((sum, rows) => sum + (rows ?? 0), 0),
    series,
  };
}

function asNumber(cell: unknown): number | null {
  if (typeof cell === 'number') return cell;
  return typeof cell === 'object' && cell !== null && 'integer' in cell ? Number(cell.integer) : null;
}

function noteOf(rows: number, value: string | null, isCut: boolean, by: Bucket): string {
  const what = value === null ? `${number(rows)} rows` : `of ${number(rows)} rows that have a number there`;
  return isCut
    ? `${what}; cut: there are more than ${number(MOST_POINTS)}, and only the latest are shown. A ${by} is too short for all`
    : what;
}
