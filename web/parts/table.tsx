/** A table of an answer: numbers aligned, heads that sort, columns that can be left out. */

import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { PageCell } from '../../src/serve/ui/wire.ts';
import { bytes, count, momentOf, number } from '../formats.ts';
import { type Kind, kindOf, laidOut, webAddress } from '../kinds.ts';
import type { Order } from '../sql.ts';
import { Scroll } from './states.tsx';
import { Time } from './time.tsx';

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

/** One value of a table: aligned by its kind, linked where it is an address, and opened where it is long. */

/** Longer texts are cut, and opened by a button beside them. */
const MOST_LETTERS = 96;

/** @param label of the column, for those who open its value. */
export function Cell({ value, label }: { value: PageCell; label: string }) {
  if (value === null) return <span class="null">null</span>;
  if (typeof value === 'number') return <>{number(value)}</>;
  if (typeof value === 'string') return <TextCell text={value} label={label} />;
  if ('integer' in value) return <>{value.integer.replace(/\B(?=(\d{3})+$)/g, ',')}</>;
  return <span class="null">{bytes(value.bytes)}</span>;
}

function TextCell({ text, label }: { text: string; label: string }) {
  if (momentOf(text) !== null) return <Time at={text} />;
  const address = webAddress(text);
  if (address !== null)
    return (
      <a href={address} target="_blank" rel="noopener noreferrer" title={text}>
        <LongText text={text.replace(/^https?:\/\//i, '')} whole={text} label={label} />
      </a>
    );
  if (text === '') return <span class="null">empty</span>;
  return <LongText text={text} whole={text} label={label} />;
}

function LongText({ text, whole, label }: { text: string; whole: string; label: string }) {
  const [isOpen, setOpen] = useState(false);
  const line = text.replace(/\s+/g, ' ');
  if (line.length <= MOST_LETTERS && line === text) return <>{text}</>;
  const open = (event: Event) => {
    event.preventDefault();
    event.stopPropagation();
    setOpen(true);
  };
  const size = count(text.length, 'letter');
  return (
    <>
      {line.length <= MOST_LETTERS ? line : `${cutAt(line, MOST_LETTERS)}…`}{' '}
      <button type="button" class="more" onClick={open} aria-label={`${size}: show all of ${label}`}>
        {size}
      </button>
      {isOpen && <WholeText text={whole} label={label} close={() => setOpen(false)} />}
    </>
  );
}

export function WholeText({ text, label, close }: { text: string; label: string; close(): void }) {
  const [isRaw, setRaw] = useState(false);
  const [isCopied, setCopied] = useState(false);
  const lines = laidOut(text);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true));
  return (
    <Dialog title={label} close={close}>
      <div class="tools">
        {lines !== null && (
          <button type="button" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            As received
          </button>
        )}
        {/* Only where the connection is private do browsers allow it. */}
        {isSecureContext && (
          <button type="button" onClick={copy}>
            {isCopied ? 'Copied' : 'Copy'}
          </button>
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <pre class="whole" tabIndex={0}>
        {lines !== null && !isRaw ? lines : text}
      </pre>
    </Dialog>
  );
}

/** Never between the two halves of a letter. */
function cutAt(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}

/** Rows that are all there, shown a page at a time. */

/** @returns the rows of the page that is shown, and what turns it, where there is more than one. */
export function usePages<Row>(
  rows: readonly Row[],
  limit: number,
): { shown: readonly Row[]; pager: VNode | null } {
  const [turned, setTurned] = useState(0);
  const offset = turned < rows.length ? turned : 0;
  const shown = rows.slice(offset, offset + limit);
  const pager =
    rows.length > limit ? (
      <Pager offset={offset} limit={limit} shown={shown.length} total={rows.length} turn={setTurned} />
    ) : null;
  return { shown, pager };
}

/** Something over the page, closed by Escape, by its button or by a click beside it. */

type DialogProps = { title: string; close(): void; children: ComponentChildren };

function Dialog({ title, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, as it does every dialog
    <dialog
      ref={dialog}
      aria-label={title}
      onClose={close}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <div class="dialog">
        <div class="dialog-head">
          <h2>{title}</h2>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
