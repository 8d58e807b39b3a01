/** Which rows: a text that is searched for, and conditions on columns. The database looks for them. */

import { useEffect, useState } from 'preact/hooks';
import { Select } from '../../parts/select.tsx';
import { go, linkHere } from '../../router.ts';
import type { Comparison } from '../../sql.ts';
import type { Column } from './columns.ts';
import { comparisons, type Filter, type Looking, needsValue, searchOf } from './looking.ts';

type Props = { looking: Looking; columns: readonly Column[] };

const TYPING_MS = 400;

export function SearchBox({ looking }: Pick<Props, 'looking'>) {
  const [text, setText] = useState(looking.search);
  useEffect(() => setText(looking.search), [looking.search]);
  useEffect(() => {
    if (text === looking.search) return;
    const timer = setTimeout(() => go(linkHere(searchOf({ search: text })), 'replace'), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
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

export function FilterMenu({ looking, columns }: Props) {
  const [column, setColumn] = useState(columns.find(({ isBookkeeping }) => !isBookkeeping)?.name ?? '_key');
  const [is, setIs] = useState<Comparison>('=');
  const [value, setValue] = useState('');
  const add = (event: Event) => {
    event.preventDefault();
    const filters = [...looking.filters, { column, is, value: needsValue(is) ? value : '' }];
    go(linkHere(searchOf({ filters })));
    setValue('');
  };
  return (
    <details class="menu">
      <summary>Filter</summary>
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
            value={value}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        )}
        <button type="submit" class="main">
          Add
        </button>
      </form>
    </details>
  );
}

/** What rows are chosen by now, each with what takes it away. */
export function Filters({ looking }: Pick<Props, 'looking'>) {
  const { filters } = looking;
  if (filters.length === 0) return null;
  return (
    <ul class="filters" aria-label="Filters">
      {filters.map((filter) => (
        <li key={JSON.stringify(filter)}>
          {filter.column} <i>{comparisons[filter.is]}</i> {valueText(filter)}{' '}
          <a
            href={linkHere(searchOf({ filters: filters.filter((other) => other !== filter) }))}
            aria-label={`take away: ${filter.column} ${comparisons[filter.is]} ${valueText(filter)}`}
          >
            ×
          </a>
        </li>
      ))}
    </ul>
  );
}

function valueText({ is, value }: Filter): string {
  if (!needsValue(is)) return '';
  return value === '' ? 'empty' : value;
}
