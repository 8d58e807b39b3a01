/** An answer as a chart, of the columns that suit it best or that the reader chooses. */

import { useMemo, useState } from 'preact/hooks';
import { serviceNow } from '../../clock.ts';
import { number, valueText } from '../../formats.ts';
import { amountOf, type Kind } from '../../kinds.ts';
import { Cell } from '../../parts/cell.tsx';
import { Chart, type Series } from '../../parts/chart.tsx';
import { Select } from '../../parts/select.tsx';
import { Empty } from '../../parts/states.tsx';
import {
  type ChartKind,
  type Choice,
  type Columns,
  chooseChart,
  mayBeX,
  pointsOf,
  type Rows,
  withKind,
} from './chart-data.ts';

const MAX_BARS = 100;

type Props = {
  columns: Columns;
  kinds: readonly Kind[];
  rows: Rows;
  cut: string | undefined;
  brush: ((from: number, until: number) => void) | undefined;
  asOf: string | null;
};

const kindNames: Record<ChartKind, string> = { line: 'Line', bar: 'Bars', scatter: 'Scatter' };

export function AnswerChart(props: Props) {
  const { columns, kinds, rows } = props;
  const [choice, setChoice] = useState(() => chooseChart(columns, kinds, rows));
  if (choice === null)
    return <Empty>A chart needs a column of numbers, and another one to draw them along.</Empty>;
  return (
    <div class="stack">
      <Choosing columns={columns} kinds={kinds} choice={choice} choose={setChoice} />
      {choice.kind === 'bar' ? <Bars {...props} choice={choice} /> : <Plot {...props} choice={choice} />}
    </div>
  );
}

type Chosen = { columns: Columns; kinds: readonly Kind[]; choice: Choice; choose(choice: Choice): void };

function Choosing({ columns, kinds, choice, choose }: Chosen) {
  const { kind, x, y, split } = choice;
  const named = columns.map(({ name }, at) => [at, name] as const);
  const numbers = named.filter(([at]) => kinds[at] === 'number');
  const texts = named.filter(([at]) => kinds[at] === 'text');
  const toggle = (at: number) => {
    const next = y.includes(at) ? y.filter((one) => one !== at) : [...y, at];
    if (next.length > 0) choose({ ...choice, y: next });
  };
  return (
    <div class="tools">
      <label>
        Chart{' '}
        <Select
          value={kind}
          options={(Object.entries(kindNames) as [ChartKind, string][]).filter(
            ([each]) => withKind(choice, each, kinds).kind === each,
          )}
          choose={(next) => choose(withKind(choice, next, kinds))}
        />
      </label>
      <label>
        along{' '}
        <Select
          value={x}
          options={named.filter(([at]) => mayBeX(kind, kinds[at]))}
          choose={(next) => choose({ ...choice, x: next })}
        />
      </label>
      {kind !== 'bar' && texts.length > 0 && (
        <label>
          split by{' '}
          <Select
            value={split}
            options={[[-1, 'nothing'], ...texts]}
            choose={(next) => choose({ ...choice, split: next, y: next < 0 ? y : y.slice(0, 1) })}
          />
        </label>
      )}
      {kind === 'bar' || split >= 0 ? (
        <label>
          of <Select value={y[0]} options={numbers} choose={(next) => choose({ ...choice, y: [next] })} />
        </label>
      ) : (
        <fieldset class="tools">
          <legend class="unseen">Numbers to draw</legend>
          {numbers.map(([at, name]) => (
            <label key={at}>
              <input type="checkbox" checked={y.includes(at)} onChange={() => toggle(at)} /> {name}
            </label>
          ))}
        </fieldset>
      )}
    </div>
  );
}

/** The smallest and the largest frame the mean. */
const dashed: Readonly<Record<string, string>> = { smallest: '--series-6', largest: '--series-2' };

function Plot({ columns, kinds, rows, choice, cut, brush, asOf }: Props & { choice: Choice }) {
  const { x, series, notes } = useMemo(() => pointsOf(columns, rows, choice), [columns, rows, choice]);
  const nameOf = (at: number) => columns[at]?.name ?? '';
  const isTime = kinds[choice.x] === 'time';
  const unfinished = isTime ? unfinishedFrom(x, asOf === null ? serviceNow() : Date.parse(asOf)) : undefined;
  const said = [
    cut,
    ...notes,
    unfinished !== undefined && `The last ${nameOf(choice.x)} is incomplete (pale).`,
  ];
  return (
    <Chart
      title={`${choice.y.map(nameOf).join(', ')} along ${nameOf(choice.x)}${choice.split < 0 ? '' : ` by ${nameOf(choice.split)}`}`}
      x={x}
      isTime={isTime}
      xLabel={nameOf(choice.x)}
      series={series.map(
        ({ label, values }): Series => ({
          label,
          values,
          kind: choice.kind === 'scatter' ? 'points' : 'line',
          ...(dashed[label] && { isDashed: true, colour: dashed[label] }),
        }),
      )}
      height={300}
      unfinishedFrom={unfinished}
      brush={isTime ? brush : undefined}
      note={said.filter(Boolean).join(' ') || undefined}
    />
  );
}

/** The beginning of the last bucket, where its time is not over; times that stand in no rhythm are no buckets. */
function unfinishedFrom(x: readonly number[], now: number): number | undefined {
  const last = x.at(-1);
  const steps = x.slice(1).map((place, at) => place - (x[at] ?? 0));
  const step = Math.min(...steps);
  const isBuckets = steps.length > 0 && step >= 60_000 && steps.every((one) => one % step === 0);
  return isBuckets && last !== undefined && last <= now && last + step > now ? last : undefined;
}

/** Names of fewer letters need less than their share of the chart. */
const MAX_NARROW_LETTERS = 26;

/** Their names and numbers stand beside them, so no other table is needed. */
function Bars({ columns, rows, choice: { x, y }, cut }: Props & { choice: Choice }) {
  const [along, of] = [columns[x]?.name ?? '', columns[y[0] ?? -1]?.name ?? ''];
  const all = rows.flatMap((row) => {
    const value = amountOf(row[y[0] ?? -1]);
    return value === null ? [] : [{ name: row[x] ?? null, value }];
  });
  const bars = all.slice(0, MAX_BARS);
  const notes = [
    cut,
    all.length > MAX_BARS && `${number(all.length - MAX_BARS)} more bars are not drawn.`,
    all.length < rows.length && `${number(rows.length - all.length)} rows have no ${of}.`,
  ];
  const least = Math.min(0, ...bars.map(({ value }) => value));
  const span = Math.max(0, ...bars.map(({ value }) => value)) - least || 1;
  // No wider than the names, so that short ones do not stand far from the edge.
  const letters = Math.max(...bars.map(({ name }) => String(name).length));
  const width = letters < MAX_NARROW_LETTERS ? `min(${letters + 2}ch, 30vw)` : undefined;
  const share = (value: number) => `${(value / span) * 100}%`;
  return (
    <figure class="chart">
      <figcaption class="heading">
        <b>
          {of} by {along}
        </b>
        <span class="note">{notes.filter(Boolean).join(' ')}</span>
      </figcaption>
      <table class="bars">
        {/* The heads are there, since the first line decides how wide the columns are. */}
        <thead>
          <tr>
            <th scope="col" style={{ width }}>
              <span class="unseen">{along}</span>
            </th>
            <th scope="col">
              <span class="unseen">{of}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {bars.map(({ name, value }, at) => (
            <tr key={at}>
              <th scope="row">
                <Cell value={name} label={along} />
              </th>
              <td>
                <div>
                  <span class="track">
                    <span
                      class={value < 0 ? 'below' : undefined}
                      style={{ width: share(Math.abs(value)), marginLeft: share(Math.min(value, 0) - least) }}
                    />
                  </span>
                  <span>{valueText(value)}</span>
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
