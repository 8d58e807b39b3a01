/** An answer as a chart, of the columns that suit it best or that the reader chooses. */

import { useMemo, useState } from 'preact/hooks';
import type { PageCell } from '../../../src/serve/page/wire.ts';
import { number, valueText } from '../../formats.ts';
import type { Kind } from '../../kinds.ts';
import { Cell } from '../../parts/cell.tsx';
import { Chart } from '../../parts/chart.tsx';
import { Select } from '../../parts/select.tsx';
import { Empty } from '../../parts/states.tsx';
import {
  barsOf,
  type ChartKind,
  type Choice,
  type Columns,
  canDraw,
  chooseChart,
  mayBeX,
  pointsOf,
  withKind,
} from './chart-data.ts';

type Rows = readonly (readonly PageCell[])[];
type Props = { columns: Columns; kinds: readonly Kind[]; rows: Rows; cut: string | undefined };

const kindNames: Record<ChartKind, string> = { line: 'Line', bar: 'Bars', scatter: 'Scatter' };

export function AnswerChart({ columns, kinds, rows, cut }: Props) {
  const [choice, setChoice] = useState(() => chooseChart(columns, kinds, rows));
  if (choice === null)
    return <Empty>A chart needs a column of numbers, and another one to draw them along.</Empty>;
  return (
    <div class="stack">
      <Choosing columns={columns} kinds={kinds} choice={choice} choose={setChoice} />
      {choice.kind === 'bar' ? (
        <Bars columns={columns} rows={rows} choice={choice} cut={cut} />
      ) : (
        <Plot columns={columns} kinds={kinds} rows={rows} choice={choice} cut={cut} />
      )}
    </div>
  );
}

type Chosen = { columns: Columns; kinds: readonly Kind[]; choice: Choice; choose(choice: Choice): void };

function Choosing({ columns, kinds, choice, choose }: Chosen) {
  const { kind, x, y } = choice;
  const numbers = columns.flatMap(({ name }, at) => (kinds[at] === 'number' ? [{ name, at }] : []));
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
          options={(Object.entries(kindNames) as [ChartKind, string][]).filter(([each]) =>
            canDraw(choice, each, kinds),
          )}
          choose={(next) => choose(withKind(choice, next, kinds))}
        />
      </label>
      <label>
        along{' '}
        <Select
          value={x}
          options={columns
            .map(({ name }, at) => [at, name] as const)
            .filter(([at]) => mayBeX(kind, kinds[at] ?? 'text'))}
          choose={(next) => choose({ ...choice, x: next })}
        />
      </label>
      {kind === 'bar' ? (
        <label>
          of{' '}
          <Select
            value={y[0]}
            options={numbers.map(({ name, at }) => [at, name] as const)}
            choose={(next) => choose({ ...choice, y: [next] })}
          />
        </label>
      ) : (
        <fieldset class="tools">
          <legend class="unseen">Numbers to draw</legend>
          {numbers.map(({ name, at }) => (
            <label key={at}>
              <input type="checkbox" checked={y.includes(at)} onChange={() => toggle(at)} /> {name}
            </label>
          ))}
        </fieldset>
      )}
    </div>
  );
}

function Plot({ columns, kinds, rows, choice, cut }: Props & { choice: Choice }) {
  const { x, series, withoutPlace, left } = useMemo(() => pointsOf(rows, choice), [rows, choice]);
  const nameOf = (at: number) => columns[at]?.name ?? '';
  const notes = [
    cut,
    left > 0 && `${number(left)} more points are not drawn.`,
    withoutPlace > 0 && `${number(withoutPlace)} rows have no ${nameOf(choice.x)}.`,
  ].filter(Boolean);
  return (
    <Chart
      title={`${choice.y.map(nameOf).join(', ')} along ${nameOf(choice.x)}`}
      x={x}
      isTime={kinds[choice.x] === 'time'}
      xLabel={nameOf(choice.x)}
      series={series.map((values, at) => ({
        label: nameOf(choice.y[at] ?? -1),
        values,
        kind: choice.kind === 'scatter' ? 'points' : 'line',
      }))}
      height={300}
      note={notes.length > 0 ? notes.join(' ') : undefined}
    />
  );
}

/** Names of fewer letters need less than their share of the chart. */
const MAX_NARROW_LETTERS = 26;

/** Their names and numbers stand beside them, so no other table is needed. */
function Bars({ columns, rows, choice, cut }: Omit<Props, 'kinds'> & { choice: Choice }) {
  const { bars, without, left } = useMemo(() => barsOf(rows, choice), [rows, choice]);
  const [along, of] = [columns[choice.x]?.name ?? '', columns[choice.y[0] ?? -1]?.name ?? ''];
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
        {cut !== undefined && <span class="note">{cut}</span>}
        {left > 0 && <span class="note">{number(left)} more bars are not drawn.</span>}
        {without > 0 && (
          <span class="note">
            {number(without)} rows have no {of}.
          </span>
        )}
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
