/** Filters of a list. They are kept in the address, so that a link shows the same. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { clockTime, fromClock, zoneName } from '../../formats.ts';
import { useLive } from '../../live.ts';
import { Select } from '../../parts/select.tsx';
import { usePreferences } from '../../preferences.ts';
import { go, usePlace } from '../../router.ts';
import type { Condition } from '../../sql.ts';
import { filteredBy } from '../browsing.ts';

export function Filters({ names, children }: { names: readonly string[]; children: ComponentChildren }) {
  const { search } = usePlace();
  const isFiltered = names.some((name) => search.has(name));
  const none = Object.fromEntries(names.map((name) => [name, null]));
  return (
    <form class="list-filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {children}
      <button type="button" disabled={!isFiltered} onClick={() => go(filteredBy(none), 'replace')}>
        Clear filters
      </button>
    </form>
  );
}

type Options = Readonly<Record<string, string>>;

type ChoiceProps = { name: string; label: string; groups: Readonly<Record<string, Options>>; all?: string };

/** @param groups options by the name of their group. @param all what nothing chosen means. */
export function Choice({ name, label, groups, all = 'all' }: ChoiceProps) {
  const { search } = usePlace();
  return (
    <label>
      <span>{label}</span>
      <select
        value={search.get(name) ?? ''}
        onChange={(event) => go(filteredBy({ [name]: event.currentTarget.value || null }), 'replace')}
      >
        <option value="">{all}</option>
        {Object.entries(groups).map(([group, options]) => (
          <optgroup key={group} label={group}>
            {Object.entries(options).map(([value, shown]) => (
              <option key={value} value={value}>
                {shown}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

export function DatasetChoice() {
  const { overview } = useLive();
  const { search } = usePlace();
  const here = search.get('job');
  const known = overview?.status.datasets.map(({ job }) => job) ?? [];
  const jobs = here === null || known.includes(here) ? known : [here, ...known];
  return (
    <label>
      <span>Dataset</span>
      <Select
        value={here ?? ''}
        options={[['', 'all'], ...jobs.map((job) => [job, job] as const)]}
        choose={(job) => go(filteredBy({ job: job || null }), 'replace')}
      />
    </label>
  );
}

/** Nobody wants an answer for every letter. */
const WRITTEN_AFTER_MS = 300;

export function TextFilter({ name, label, size = 18 }: { name: string; label: string; size?: number }) {
  const { search } = usePlace();
  const here = search.get(name) ?? '';
  const [text, setText] = useState(here);
  // It may have been cleared, or come back to.
  useEffect(() => setText(here), [here]);
  useEffect(() => {
    const written = text.trim();
    if (written === here) return;
    const timer = setTimeout(() => go(filteredBy({ [name]: written || null }), 'replace'), WRITTEN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label>
      <span>{label}</span>
      <input type="search" size={size} value={text} onInput={(event) => setText(event.currentTarget.value)} />
    </label>
  );
}

/** From one time to another, by the clock that is shown; kept in UTC. */
export function TimeFilters() {
  return (
    <>
      <TimeFilter name="from" label="From" />
      <TimeFilter name="to" label="Until" />
    </>
  );
}

function TimeFilter({ name, label }: { name: string; label: string }) {
  const { search } = usePlace();
  const { zone } = usePreferences();
  const at = Date.parse(search.get(name) ?? '');
  const shown = Number.isNaN(at) ? '' : clockTime(at, zone, 'minute').replace(' ', 'T');
  const choose = (text: string) => {
    const chosen = fromClock(text, zone);
    go(filteredBy({ [name]: chosen === null ? null : new Date(chosen).toISOString() }), 'replace');
  };
  return (
    <label>
      <span>
        {label} <span class="zone">{zoneName(Number.isNaN(at) ? 0 : at, zone)}</span>
      </span>
      <input type="datetime-local" value={shown} onChange={(event) => choose(event.currentTarget.value)} />
    </label>
  );
}

/** Nothing of a column for a filter that is not set. */
export const equal = (column: string, value: string | number | null): Condition[] =>
  value === null ? [] : [{ column, is: '=', value }];

/** Between the times of the address, and not after the moment that is shown. */
export function within(column: string, search: URLSearchParams, at: string | null): Condition[] {
  const [from, to] = ['from', 'to'].map((name) => {
    const ms = Date.parse(search.get(name) ?? '');
    return Number.isNaN(ms) ? null : new Date(ms).toISOString();
  });
  return [
    ...(from ? [{ column, is: '>=', value: from } as const] : []),
    ...(to ? [{ column, is: '<=', value: to } as const] : []),
    ...(at ? [{ column, is: '<=', value: at } as const] : []),
  ];
}
