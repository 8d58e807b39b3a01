/** Which rows: a text that is searched for, conditions on columns, and values to choose from. The database looks for them. */

import { useId, useRef, useState } from 'preact/hooks';
import type { PageCell } from '../../../src/serve/page/wire.ts';
import { number } from '../../formats.ts';
import { closeMenu } from '../../parts/menus.tsx';
import { Select } from '../../parts/select.tsx';
import { prefer, usePreferences } from '../../preferences.ts';
import {
  type Comparison,
  comparisons,
  condition,
  conditionBy,
  conditionText,
  needsValue,
  type Term,
  withTerm,
} from '../../question.ts';
import { go, linkHere, linkWhere, usePageAddress } from '../../router.ts';
import { useMedia } from '../../store.ts';
import { useTyped } from '../browsing.tsx';
import type { Column } from './columns.ts';

export function SearchBox() {
  const { search } = usePageAddress();
  const [text, setText] = useTyped(search.get('q') ?? '', (q) =>
    go(linkHere({ q: q || null, offset: null }), 'replace'),
  );
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

type FilterMenuProps = { terms: readonly Term[]; columns: readonly Column[]; facets: readonly Facet[] };

export function FilterMenu({ terms, columns, facets }: FilterMenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  const values = useId();
  const [column, setColumn] = useState(columns.find(({ kind }) => kind === 'text')?.name ?? '_key');
  const [is, setIs] = useState<Comparison>('eq');
  const [value, setValue] = useState('');
  const kind = columns.find(({ name }) => name === column)?.kind;
  const hasText = kind !== 'number' && kind !== 'boolean';
  const add = (event: Event) => {
    event.preventDefault();
    go(linkWhere(withTerm(terms, condition(column, is, value))));
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
          options={(Object.entries(comparisons) as [Comparison, string][]).filter(
            ([each]) => hasText || (each !== 'contains' && each !== 'starts'),
          )}
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
          {facets
            .find((facet) => facet.column.name === column)
            // What is offered is what is looked for: the words for nothing are not.
            ?.values.filter(({ isNothing }) => !isNothing)
            .map(({ text, rows }) => (
              <option key={text} value={text} label={`${text} (${number(rows)})`} />
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
export function Conditions({ terms }: { terms: readonly Term[] }) {
  if (terms.length === 0) return null;
  return (
    <ul class="tools" aria-label="Filters">
      {terms.map((term) => (
        <li key={term.join('=')} class="tag accent">
          {conditionText(term)}{' '}
          <a
            href={linkWhere(terms.filter((other) => other !== term))}
            aria-label={`take away: ${conditionText(term)}`}
          >
            ×
          </a>
        </li>
      ))}
      {terms.length > 1 && (
        <li>
          <a href={linkWhere([])}>Clear all</a>
        </li>
      )}
    </ul>
  );
}

type FacetValue = { text: string; isNothing: boolean; term: Term; rows: number };
type Facet = { column: Column; values: readonly FacetValue[] };

/** @param rows of an answer that counts the values of these columns. */
export function facetsOf(columns: readonly Column[], rows: readonly (readonly PageCell[])[]): Facet[] {
  return columns.map((column) => ({
    column,
    values: rows
      .filter(([facet]) => facet === column.name)
      .map(([, value = null, count]): FacetValue => {
        const term = conditionBy(column.name, value, column.kind === 'boolean');
        const isNothing = value === null || value === '';
        const text = value === null ? 'null' : value === '' ? 'empty' : term[1].replace(/^eq\./, '');
        return { text, isNothing, term, rows: Number(count) };
      }),
  }));
}

/** The values of columns that have few, with how many rows have each: beside the rows where there is room for both. */
export function Facets({ terms, facets }: { terms: readonly Term[]; facets: readonly Facet[] }) {
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
      <div class="facet-lists">
        {facets.map((facet) => (
          <FacetList key={facet.column.name} facet={facet} terms={terms} />
        ))}
      </div>
    </details>
  );
}

const FIRST_VALUES = 6;

function FacetList({ facet: { column, values }, terms }: { facet: Facet; terms: readonly Term[] }) {
  const [isWhole, setWhole] = useState(false);
  const same = (one: Term) => (other: Term) => one[0] === other[0] && one[1] === other[1];
  return (
    <section aria-label={`Values of ${column.name}`}>
      <h2 class="ellipsis" title={column.about || column.name}>
        {column.name}
      </h2>
      <ul>
        {(isWhole ? values : values.slice(0, FIRST_VALUES)).map(({ text, term, rows }) => {
          const isChosen = terms.some(same(term));
          const next = isChosen ? terms.filter((other) => !same(term)(other)) : withTerm(terms, term);
          return (
            <li key={text}>
              <a href={linkWhere(next)} aria-current={isChosen ? 'true' : undefined}>
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
