/** A table of an answer: numbers aligned, heads that sort, columns that can be left out. */

import type { ComponentChildren } from 'preact';
import type { PageCell } from '../../src/serve/ui/wire.ts';
import { number } from '../formats.ts';
import { type Kind, kindOf } from '../kinds.ts';
import type { Order } from '../sql.ts';
import { Cell } from './cell.tsx';
import { Scroll } from './scroll.tsx';

export type TableColumn = {
  name: string;
  /** Unless given, the name. */
  label?: string;
  /** Unless given, found out from the values. */
  kind?: Kind;
  /** Declared type, where there is one. */
  type?: string | null;
  /** Instead of the value alone. */
  show?(value: PageCell, row: readonly PageCell[]): ComponentChildren;
};

type Props = {
  /** What the table is of, for those who do not see it. */
  caption: string;
  columns: readonly TableColumn[];
  rows: readonly (readonly PageCell[])[];
  order?: Order | undefined;
  /** Not given: its heads do not sort. */
  sort?: ((order: Order) => void) | undefined;
  /** Columns that are left out, by name. */
  hidden?: ReadonlySet<string> | undefined;
  /** While the next rows are fetched, these stay. */
  isLoading?: boolean;
};

export function Table({ caption, columns, rows, order, sort, hidden, isLoading = false }: Props) {
  const shown = columns.flatMap((column, at) => {
    if (hidden?.has(column.name)) return [];
    const kind = column.kind ?? kindOf(column.type ?? null, valuesOf(rows, at));
    return [{ column, at, kind, label: column.label ?? column.name }];
  });
  return (
    <Scroll label={caption} isBusy={isLoading}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {shown.map(({ column: { name }, at, kind, label }) => (
              <th key={at} scope="col" class={kind} aria-sort={sortOf(name, order)}>
                {sort ? (
                  <button type="button" onClick={() => sort(nextOrder(name, kind, order))}>
                    {label}
                    <span class="arrow" aria-hidden="true">
                      {order?.column === name ? (order.descending ? '▼' : '▲') : ''}
                    </span>
                  </button>
                ) : (
                  label
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, line) => (
            <tr key={line}>
              {shown.map(({ column, at, kind, label }) => (
                <td key={at} class={kind}>
                  {column.show?.(row[at] ?? null, row) ?? <Cell value={row[at] ?? null} label={label} />}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** A menu of the columns to show. */
export function ColumnChoice({
  columns,
  hidden,
  choose,
}: {
  columns: readonly TableColumn[];
  hidden: ReadonlySet<string>;
  choose(hidden: ReadonlySet<string>): void;
}) {
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    choose(next);
  };
  const shown = columns.filter(({ name }) => !hidden.has(name)).length;
  return (
    <details class="menu">
      <summary>
        Columns {shown} of {columns.length}
      </summary>
      <div class="menu-box">
        <div class="tools">
          <button type="button" onClick={() => choose(new Set())}>
            All
          </button>
          <button type="button" onClick={() => choose(new Set(columns.slice(1).map(({ name }) => name)))}>
            First only
          </button>
        </div>
        {columns.map(({ name, label = name }) => (
          <label key={name}>
            <input type="checkbox" checked={!hidden.has(name)} onChange={() => toggle(name)} /> {label}
          </label>
        ))}
      </div>
    </details>
  );
}

type PagerProps = {
  offset: number;
  limit: number;
  /** Rows on this page. */
  shown: number;
  /** All there are, where that is known. */
  total: number | null;
  turn(offset: number): void;
};

export function Pager({ offset, limit, shown, total, turn }: PagerProps) {
  const isLast = total === null ? shown < limit : offset + shown >= total;
  const range = shown === 0 ? 'no rows' : `${number(offset + 1)}–${number(offset + shown)}`;
  return (
    <nav class="pager" aria-label="Pages">
      <button type="button" disabled={offset === 0} onClick={() => turn(0)} aria-label="first page">
        «
      </button>
      <button
        type="button"
        disabled={offset === 0}
        onClick={() => turn(Math.max(0, offset - limit))}
        aria-label="page before"
      >
        ‹
      </button>
      <span>
        {range}
        {total !== null && ` of ${number(total)}`}
      </span>
      <button type="button" disabled={isLast} onClick={() => turn(offset + limit)} aria-label="next page">
        ›
      </button>
      <button
        type="button"
        disabled={isLast || total === null}
        onClick={() => turn(Math.floor(((total ?? 1) - 1) / limit) * limit)}
        aria-label="last page"
      >
        »
      </button>
    </nav>
  );
}

function* valuesOf(rows: readonly (readonly PageCell[])[], at: number): Generator<PageCell> {
  for (const row of rows) yield row[at] ?? null;
}

const sortOf = (name: string, order: Order | undefined) =>
  order?.column !== name ? undefined : order.descending ? 'descending' : 'ascending';

/** The largest number and the latest time are what one looks for first; texts begin at their beginning. */
function nextOrder(name: string, kind: Kind, order: Order | undefined): Order {
  const first = kind !== 'text';
  return { column: name, descending: order?.column === name ? !order.descending : first };
}
