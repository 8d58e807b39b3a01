/** A table of an answer: numbers aligned, heads that sort, columns that can be left out. */

import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { PageCell } from '../../src/serve/page/wire.ts';
import { decimalsOf, number, sharedZone } from '../formats.ts';
import { type Kind, kindOf } from '../kinds.ts';
import { usePreferences } from '../preferences.ts';
import type { Order } from '../question.ts';
import { go } from '../router.ts';
import { Cell, type CellLook } from './cell.tsx';
import { Scroll } from './states.tsx';

export type TableColumn = {
  name: string;
  /** Unless given, the name. */
  label?: string;
  /** Unless given, found out from the values. */
  kind?: Kind;
  /** Declared type, where there is one. */
  type?: string | null;
  /** What it means: the title of its head. */
  about?: string | undefined;
  /** How its values are shown. */
  look?: CellLook;
  /** It helps to show others. */
  isHidden?: boolean;
  /** Whether there is nothing to see in this row: a folding table leaves out columns of nothing. Unless given, for null and 0. */
  isNothing?(value: PageCell, row: readonly PageCell[]): boolean;
  /** Rows cannot be sorted by it, though they can by others. */
  isUnsorted?: boolean;
  /** Instead of the value alone. */
  show?(value: PageCell, row: readonly PageCell[]): ComponentChildren;
};

export const namesOf = (columns: readonly TableColumn[]): string[] => columns.map(({ name }) => name);

type Props = {
  /** What the table is of, for those who do not see it. */
  caption: string;
  columns: readonly TableColumn[];
  rows: readonly (readonly PageCell[])[];
  /** Columns that tell its rows apart; not given: their places do. What is opened in a row stays with it. */
  identity?: readonly string[];
  order?: Order | undefined;
  /** Not given: its heads do not sort. */
  sort?: ((order: Order) => void) | undefined;
  /** While the next rows are fetched, these stay. */
  isLoading?: boolean;
  /** Columns without anything to see are left out. */
  isFolding?: boolean;
  /** Called with a clicked value, where `mayPick` allows it. */
  pick?: ((column: string, value: PageCell) => void) | undefined;
  mayPick?(column: string): boolean;
};

export function Table(props: Props) {
  const { caption, columns, rows, identity = [], order, sort, isLoading = false, pick, mayPick } = props;
  const isNothing = ({ isNothing = isEmpty }: TableColumn, at: number) =>
    at > 0 && rows.every((row) => isNothing(row[at] ?? null, row));
  const { zone } = usePreferences();
  const shown = columns.flatMap((column, at) => {
    if (column.isHidden || (props.isFolding && isNothing(column, at))) return [];
    const kind = column.kind ?? kindOf(column.type ?? null, valuesOf(rows, at));
    const decimals = kind === 'number' ? decimalsOf(valuesOf(rows, at)) : 0;
    const { times = 'clock' } = column.look ?? {};
    // Where the head names no zone, each time has its own.
    const headZone =
      kind === 'time' && times === 'clock' && !column.show ? sharedZone(valuesOf(rows, at), zone) : null;
    const isByClock = times === 'clock' && headZone === null;
    const look: CellLook = { decimals, ...column.look, times: isByClock ? undefined : times };
    return [{ column, at, kind, look, headZone, label: column.label ?? column.name }];
  });
  const names = namesOf(columns);
  const keyOf = (row: readonly PageCell[], line: number) =>
    identity.length === 0 ? line : JSON.stringify(identity.map((name) => row[names.indexOf(name)]));
  const pickIn = (event: MouseEvent, row: readonly PageCell[]) => {
    const cell = (event.target as Element).closest('td');
    const isOther = (event.target as Element).closest('a, button') || getSelection()?.isCollapsed === false;
    const found = shown[[...(cell?.parentElement?.children ?? [])].indexOf(cell as Element)];
    if (!isOther && found && mayPick?.(found.column.name)) pick?.(found.column.name, row[found.at] ?? null);
  };
  return (
    <Scroll label={caption} isBusy={isLoading}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {shown.map(({ column: { name, about, isUnsorted }, at, kind, headZone, label }) => (
              <th
                key={at}
                scope="col"
                class={kind}
                aria-sort={sortOf(name, order)}
                title={about || undefined}
              >
                {sort && !isUnsorted ? (
                  <button type="button" onClick={() => sort(nextOrder(name, kind, order))}>
                    {label}
                    <span class="arrow" aria-hidden="true">
                      {order?.column === name ? (order.descending ? '▼' : '▲') : ''}
                    </span>
                  </button>
                ) : (
                  label
                )}
                {headZone !== null && <span class="zone"> {headZone}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, line) => (
            // By the keyboard, the menu of filters and the values beside the rows do the same.
            <tr key={keyOf(row, line)} onClick={pick && ((event) => pickIn(event, row))}>
              {shown.map(({ column, at, kind, look, label }) => (
                <td key={at} class={`${kind}${mayPick?.(column.name) ? ' pick' : ''}`}>
                  {column.show?.(row[at] ?? null, row) ?? (
                    <Cell value={row[at] ?? null} label={label} look={look} />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const isEmpty = (value: PageCell) => value === null || value === 0;

/** The line of heads. @param kind the class of all but the first. */
export const Heads = ({ names, kind }: { names: readonly ComponentChildren[]; kind?: string }) => (
  <thead>
    <tr>
      {names.map((name, at) => (
        <th key={at} scope="col" class={at > 0 ? kind : undefined}>
          {name}
        </th>
      ))}
    </tr>
  </thead>
);

type NumberTableProps = {
  label: string;
  /** The first is that of the names. */
  heads: readonly string[];
  /** A name and a cell for each of the other heads. */
  lines: readonly (readonly ComponentChildren[])[];
};

/** Numbers that the page made itself, under their heads. */
export function NumberTable({ label, heads, lines }: NumberTableProps) {
  return (
    <Scroll label={label}>
      <table>
        <Heads names={heads} kind="number" />
        <tbody>
          {lines.map(([name, ...cells], line) => (
            <tr key={line}>
              <th scope="row">{name}</th>
              {cells.map((cell, at) => (
                <td key={at} class="number">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

type ColumnChoiceProps = {
  columns: readonly Pick<TableColumn, 'name' | 'label' | 'about'>[];
  shown: readonly string[];
  /** Null for those that are shown unless others are chosen. */
  choose(shown: readonly string[] | null): void;
};

/** A menu of the columns to show. */
export function ColumnChoice({ columns, shown, choose }: ColumnChoiceProps) {
  const names = columns.map(({ name }) => name);
  const toggle = (name: string) =>
    choose(shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name]);
  return (
    <details class="menu">
      <summary class="button">
        Columns {shown.length} of {columns.length}
      </summary>
      <div class="menu-box columns-menu">
        <div class="tools">
          <button type="button" onClick={() => choose(names)}>
            All
          </button>
          <button type="button" onClick={() => choose(null)}>
            Default columns
          </button>
        </div>
        {columns.map(({ name, label = name, about }) => (
          <label key={name} title={about || undefined}>
            <input type="checkbox" checked={shown.includes(name)} onChange={() => toggle(name)} /> {label}
            {about?.includes(': ') && <span class="note"> {about.slice(about.indexOf(': ') + 2)}</span>}
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
  /** A link to another page, where the address has it; else `turn`. */
  linkTo?(offset: number): string;
  turn?(offset: number): void;
};

export function Pager({ offset, limit, shown, total, linkTo, turn }: PagerProps) {
  const isLast = total === null ? shown < limit : offset + shown >= total;
  if (offset === 0 && isLast) return null;
  const range = shown === 0 ? 'no rows' : `${number(offset + 1)}–${number(offset + shown)}`;
  const last = total === null ? null : Math.floor((total - 1) / limit) * limit;
  const step = (sign: string, name: string, to: number | null, isOff: boolean) => (
    <button
      type="button"
      aria-label={name}
      disabled={isOff || to === null}
      onClick={() => to !== null && (turn ? turn(to) : linkTo && go(linkTo(to)))}
    >
      {sign}
    </button>
  );
  return (
    <nav class="tools" aria-label="Pages">
      {step('«', 'first page', 0, offset === 0)}
      {step('‹', 'page before', Math.max(0, offset - limit), offset === 0)}
      <span>
        {range}
        {total !== null && ` of ${number(total)}`}
      </span>
      {step('›', 'next page', offset + limit, isLast)}
      {step('»', 'last page', last, isLast)}
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
  return { column: name, descending: order?.column === name ? !order.descending : kind !== 'text' };
}

/** Pages of rows that are all there. @returns the rows of the page shown; `pager` is empty where there is one page. */
export function usePages<Row>(rows: readonly Row[], limit: number): { shown: readonly Row[]; pager: VNode } {
  const [turned, setTurned] = useState(0);
  const offset = turned < rows.length ? turned : 0;
  const shown = rows.slice(offset, offset + limit);
  const pager = (
    <Pager offset={offset} limit={limit} shown={shown.length} total={rows.length} turn={setTurned} />
  );
  return { shown, pager };
}
