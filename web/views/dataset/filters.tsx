/** Which rows: a text that is searched for, conditions on columns, and values to choose from. The database looks for them. */

import { useId, useRef, useState } from 'preact/hooks';
import type { PageCell } from '../../../src/serve/page/wire.ts';
import { number } from '../../formats.ts';
import { closeMenu } from '../../parts/menus.tsx';
import { Select } from '../../parts/select.tsx';
import { prefer, usePreferences } from '../../preferences.ts';
import { go, linkHere } from '../../router.ts';
import type { Comparison } from '../../sql.ts';
import { useMedia } from '../../store.ts';
import { useTyped } from '../browsing.tsx';
import type { Column } from './columns.ts';
import {
  comparisons,
  type Filter,
  filterText,
  needsValue,
  searchFor,
  type ViewState,
  withFilter,
} from './view-state.ts';

export function SearchBox({ state }: { state: ViewState }) {
  const [text, setText] = useTyped(state.search, (search) => go(linkHere(searchFor({ search })), 'replace'));
  return (
    <input
      type="search"
      class="search"
      placeholder="Search texts"
      aria-label="Search in all columns of text"
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}

type FilterMenuProps = { state: ViewState; columns: readonly Column[]; facets: readonly Facet[] };

export function FilterMenu({ state, columns, facets }: FilterMenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const values = useId();
  const [column, setColumn] = useState(columns.find(({ kind }) => kind === 'text')?.name ?? '_key');
  const [is, setIs] = useState<Comparison>('=');
  const [value, setValue] = useState('');
  const known = (facets.find((facet) => facet.column.name === column)?.values ?? []).filter(
    // What is offered is what is looked for: the words for nothing are not.
    ({ filter }) => filter.value !== '',
  );
  const add = (event: Event) => {
    event.preventDefault();
    const filter = { column, is, value: needsValue(is) ? value : '' };
    go(linkHere(searchFor({ filters: withFilter(state.filters, filter) })));
    setValue('');
    // What was asked for lies below it.
    closeMenu(menu.current);
  };
  return (
    <details class="menu" ref={menu}>
      <summary class="button">Filter</summary>
      <form class="menu-box filter" onSubmit={add}>
        <Select
          name="Column"
          value={column}
          options={columns.map(({ name }) => [name, name] as const)}
          choose={(next) => setColumn(next)}
        />
        <Select
          name="Comparison"
          value={is}
          options={Object.entries(comparisons) as [Comparison, string][]}
          choose={(next) => setIs(next)}
        />
        {needsValue(is) && (
          <input
            aria-label="Value"
            placeholder="value"
            list={values}
            value={value}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        )}
        <datalist id={values}>
          {known.map((each) => (
            <option key={each.text} value={each.text} label={`${each.text} (${number(each.rows)})`} />
          ))}
        </datalist>
        <button type="submit" class="main">
          Add
        </button>
      </form>
    </details>
  );
}

/** The conditions that choose the rows shown, each with a link that takes it away. */
export function Filters({ state: { filters } }: { state: ViewState }) {
  if (filters.length === 0) return null;
  return (
    <ul class="filters tools" aria-label="Filters">
      {filters.map((filter) => (
        <li key={JSON.stringify(filter)}>
          {filterText(filter)}{' '}
          <a
            href={linkHere(searchFor({ filters: filters.filter((other) => other !== filter) }))}
            aria-label={`take away: ${filterText(filter)}`}
          >
            ×
          </a>
        </li>
      ))}
      {filters.length > 1 && (
        <li class="plain">
          <a href={linkHere(searchFor({ filters: [] }))}>Clear all</a>
        </li>
      )}
    </ul>
  );
}

type Facet = { column: Column; values: readonly FacetValue[] };
type FacetValue = { text: string; filter: Filter; rows: number };

/** @param rows of an answer to `facetSql` over these columns. */
export function facetsOf(columns: readonly Column[], rows: readonly (readonly PageCell[])[]): Facet[] {
  return columns.map((column, at) => ({
    column,
    values: rows
      .filter(([facet]) => facet === at)
      .map(([, value = null, count]) => {
        const filter = filterBy(column, value);
        const text = value === null ? 'null' : filter.value === '' ? 'empty' : filter.value;
        return { text, filter, rows: Number(count) };
      }),
  }));
}

/** The condition that a row has this value. */
export function filterBy({ name: column, kind }: Pick<Column, 'name' | 'kind'>, value: PageCell): Filter {
  if (value === null) return { column, is: 'null', value: '' };
  const isFlag = kind === 'boolean' && (value === 0 || value === 1);
  const plain = typeof value === 'object' ? ('integer' in value ? value.integer : '') : String(value);
  return { column, is: '=', value: isFlag ? String(value === 1) : plain };
}

const FIRST_VALUES = 6;

/** The values of columns that have few, with how many rows have each: beside the rows where there is room for both. */
export function Facets({
  state,
  facets,
  isCut,
}: {
  state: ViewState;
  facets: readonly Facet[];
  isCut: boolean;
}) {
  const isWide = useMedia('(min-width: 1100px)');
  const { facets: isWanted = true } = usePreferences();
  // Their place is kept while they are counted, so that the rows do not move.
  if (facets.length === 0) return null;
  return (
    <details
      class="facets"
      open={isWide && isWanted}
      onToggle={(event) => {
        const { open } = event.currentTarget;
        if (isWide && open !== isWanted) prefer({ facets: open });
      }}
    >
      <summary class="note">Filter by value</summary>
      {isCut && <p class="note">Counted in the first 100,000 rows.</p>}
      <div class="facet-lists">
        {facets.map((facet) => (
          <FacetList key={facet.column.name} facet={facet} filters={state.filters} />
        ))}
      </div>
    </details>
  );
}

function FacetList({ facet: { column, values }, filters }: { facet: Facet; filters: readonly Filter[] }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? values : values.slice(0, FIRST_VALUES);
  const isOn = (one: Filter) =>
    filters.some(({ column, is, value }) => column === one.column && is === one.is && value === one.value);
  return (
    <section aria-label={`Values of ${column.name}`}>
      <h2 class="ellipsis" title={column.about || column.name}>
        {column.name}
      </h2>
      <ul>
        {shown.map(({ text, filter, rows }) => {
          const isChosen = isOn(filter);
          const next = isChosen
            ? filters.filter((other) => filterText(other) !== filterText(filter))
            : withFilter(filters, filter);
          return (
            <li key={text}>
              <a href={linkHere(searchFor({ filters: next }))} aria-current={isChosen ? 'true' : undefined}>
                <span class="ellipsis" title={text}>
                  {text}
                </span>
                <span class="note">{isChosen ? '×' : number(rows)}</span>
              </a>
            </li>
          );
        })}
      </ul>
      {values.length > FIRST_VALUES && (
        <button type="button" class="small" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'fewer' : `${values.length - FIRST_VALUES} more`}
        </button>
      )}
    </section>
  );
}
