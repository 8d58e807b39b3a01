/** Lists of what the mirror notes, newest first: their filters, pages and columns. The address holds all of it. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { PageCell, WalkMark } from '../../src/serve/page/wire.ts';
import { type Query, useCurrentAnswer } from '../ask.ts';
import { serviceNow } from '../clock.ts';
import { clockTime, count, cutMiddle, duration, fromClock, zoneName } from '../formats.ts';
import { useLive } from '../live.ts';
import { Cell } from '../parts/cell.tsx';
import { outcomeOf, Verdict, waitReasons } from '../parts/proof.tsx';
import { Awaited, Empty } from '../parts/states.tsx';
import { namesOf, Pager, Table, type TableColumn } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { usePreferences } from '../preferences.ts';
import { askOf, condition, conditionsIn, type Order, type Term } from '../question.ts';
import { go, linkHere, linkTo, linkToSql, linkWhere, type Search, usePageAddress } from '../router.ts';
import { pathOf } from '../routes.ts';
import type { Answer } from '../service.ts';
import { useMedia } from '../store.ts';

const PAGE = 50;

type ListProps = {
  caption: string;
  /** What one row is: `walk`. */
  unit: string;
  table: string;
  columns: readonly TableColumn[];
  /** Beside the conditions of the address. */
  where?: readonly Term[];
  /** The newest number first unless given. */
  order?: readonly Order[];
  identity?: readonly string[];
  /** Where there is none. */
  empty: ComponentChildren;
};

/** A page of a list. From the second on it holds to the rows that there were, so that new ones move none of it. */
export function List(props: ListProps) {
  const { caption, unit, table, columns, where = [], order = newest, identity = ['id'], empty } = props;
  const { search } = usePageAddress();
  const terms = conditionsIn(search);
  const offset = Math.max(0, Number(search.get('offset')) || 0);
  const select = namesOf(columns);
  const list = { table, select, where: [...terms, ...where], order };
  const query = useCurrentAnswer({ ask: askOf({ ...list, limit: PAGE, offset }), limit: PAGE });
  const counted = useCurrentAnswer({ ask: askOf({ table, where: list.where }), facets: [], limit: 1 });
  const rows = query.value?.rows ?? [];
  const total = counted.isOld || !counted.value ? null : Number(counted.value.rows[0]?.[2] ?? 0);
  const first = rows[0]?.[select.indexOf('id')];
  const others = terms.filter(([name]) => name !== 'id');
  const linkToPage = (next: number) => {
    const pinned = terms.length > others.length ? terms : [...terms, condition('id', 'lte', String(first))];
    return linkWhere(next === 0 || order !== newest ? others : pinned, { offset: next || null });
  };
  return (
    <section class="stack" aria-label={caption}>
      <Awaited query={query} />
      {query.value !== null && rows.length === 0 && <Empty>{empty}</Empty>}
      {rows.length > 0 && (
        <div class="card list">
          <Table
            caption={`${caption}, newest first`}
            {...{ columns, rows, identity }}
            isFolding
            isLoading={query.isOld}
          />
        </div>
      )}
      <div class="tools">
        {rows.length > 0 && (
          <Pager offset={offset} limit={PAGE} shown={rows.length} total={total} linkTo={linkToPage} />
        )}
        {total !== null && total > 0 && <span class="note">{count(total, unit)} in all</span>}
        <OpenAsSql query={query} />
      </div>
    </section>
  );
}

const newest: readonly Order[] = [{ column: 'id', descending: true }];

/** At the end of a line of tools. */
export function OpenAsSql({ query: { value } }: { query: Query<Answer> }) {
  if (!value?.whole) return null;
  return (
    <>
      <span class="spread" />
      <a href={linkToSql(value.whole)}>Open as SQL</a>
    </>
  );
}

/** Reads a row by the names of its columns. */
export const reading =
  (names: readonly string[]) =>
  (row: readonly PageCell[], name: string): PageCell =>
    row[names.indexOf(name)] ?? null;

/** Filters of a list, folded where there is little room. The address keeps them, so that a link shows the same. */
export function Filters({ children }: { children: ComponentChildren }) {
  const { search } = usePageAddress();
  const isWide = useMedia('(min-width: 861px)');
  const own = ['from', 'to', 'since', 'show'].filter((name) => search.has(name));
  const set = own.length + conditionsIn(search).filter(([name]) => name !== 'id').length;
  return (
    <details class="filter-fold" open={isWide}>
      <summary class="button">Filters{set > 0 && ` (${set})`}</summary>
      <form class="list-filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
        {children}
        <button
          type="button"
          disabled={set === 0}
          onClick={() => go(linkWhere([], { from: null, to: null, since: null, show: null }), 'replace')}
        >
          Clear filters
        </button>
      </form>
    </details>
  );
}

/** The terms of the address with this one instead of those of these columns. */
function linkWith(columns: readonly string[], term: Term | null, changes: Search = {}): string {
  const others = conditionsIn(new URLSearchParams(location.search)).filter(
    ([name]) => name !== 'id' && !columns.includes(name),
  );
  return linkWhere(term ? [...others, term] : others, changes);
}

type ChoiceProps = {
  label: string;
  /** By the name of their group, by condition: `{ Kind: { 'kind=eq.walk': 'walk' } }`. */
  groups: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** What nothing chosen means. */
  all?: string;
};

export function Choice({ label, groups, all = 'all' }: ChoiceProps) {
  const { search } = usePageAddress();
  const options = Object.values(groups).flatMap((group) => Object.keys(group));
  const columns = [...new Set(options.map((option) => option.slice(0, option.indexOf('='))))];
  const here = conditionsIn(search).map((term) => term.join('='));
  const termOf = (option: string): Term | null => {
    const cut = option.indexOf('=');
    return cut < 0 ? null : [option.slice(0, cut), option.slice(cut + 1)];
  };
  return (
    <label>
      <span class="note">{label}</span>
      <select
        value={options.find((option) => here.includes(option)) ?? ''}
        onChange={(event) => go(linkWith(columns, termOf(event.currentTarget.value)), 'replace')}
      >
        <option value="">{all}</option>
        {Object.entries(groups).map(([group, those]) => (
          <optgroup key={group} label={group}>
            {Object.entries(those).map(([value, shown]) => (
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
  const jobs = useLive().overview?.status.datasets.map(({ job }) => [`job=eq.${job}`, job]) ?? [];
  return <Choice label="Dataset" groups={{ Datasets: Object.fromEntries(jobs) }} />;
}

/** Nobody wants an answer for every letter. */
const WRITTEN_AFTER_MS = 300;

/** What is typed into a field, and asked for once nothing more is typed. @param here what the address has. */
export function useTyped(here: string, ask: (text: string) => void) {
  const [text, setText] = useState(here);
  // It may have been cleared, or come back to.
  useEffect(() => setText(here), [here]);
  useEffect(() => {
    if (text === here) return;
    const timer = setTimeout(() => ask(text), WRITTEN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, setText] as const;
}

/** That a column contains a text. */
export function TextFilter({ column, label }: { column: string; label: string }) {
  const { search } = usePageAddress();
  const here = /^ilike\.\*(.*)\*$/.exec(search.get(column) ?? '')?.[1]?.replace(/\\(.)/g, '$1') ?? '';
  const [text, setText] = useTyped(here, (typed) =>
    go(
      linkWith([column], typed.trim() === '' ? null : condition(column, 'contains', typed.trim())),
      'replace',
    ),
  );
  return (
    <label>
      <span class="note">{label}</span>
      <input type="search" size={26} value={text} onInput={(event) => setText(event.currentTarget.value)} />
    </label>
  );
}

/** A condition that no field shows, such as the walk of calls: a button takes it away. */
export function WalkFilter() {
  const { search } = usePageAddress();
  const walk = /^eq\.(\d+)$/.exec(search.get('walk_id') ?? '')?.[1];
  if (walk === undefined) return null;
  return (
    <a
      class="button"
      href={linkWith(['walk_id'], null)}
      aria-label={`of walk ${walk}: show those of all walks`}
    >
      of walk {walk} ×
    </a>
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

function TimeFilter({ name, label }: { name: 'from' | 'to'; label: string }) {
  const { search } = usePageAddress();
  const { zone } = usePreferences();
  const at = Date.parse(search.get(name) ?? '');
  const shown = Number.isNaN(at) ? '' : clockTime(at, zone, 'minute').replace(' ', 'T');
  const choose = (text: string) => {
    const chosen = fromClock(text, zone);
    const time = chosen === null ? null : new Date(chosen).toISOString();
    // A span would go before it.
    go(linkHere({ since: null, offset: null, [name]: time }), 'replace');
  };
  return (
    <label>
      <span class="note">
        {label} <span class="zone">{zoneName(Number.isNaN(at) ? serviceNow() : at, zone)}</span>
      </span>
      <input type="datetime-local" value={shown} onChange={(event) => choose(event.currentTarget.value)} />
    </label>
  );
}

/** Between the times of the address, and not after the moment that is shown. */
export function within(column: string, search: URLSearchParams, at: string | null): Term[] {
  const bounds = [
    ['gte', search.get('from')],
    ['lte', search.get('to')],
    ['lte', at],
  ] as const;
  return bounds.flatMap(([is, time]) => (time === null ? [] : [condition(column, is, time)]));
}

export type Read = (column: string) => PageCell;

/** Columns that several tables have. */
export const jobColumn: TableColumn = {
  name: 'job',
  label: 'Dataset',
  show: (job) => <JobLink job={job} />,
};
export const walkColumn = (label: string): TableColumn => ({
  ...{ name: 'walk_id', label, kind: 'text' },
  show: (id) => <WalkLink id={id} />,
});
export const requestColumn: TableColumn = {
  ...{ name: 'request_id', label: 'X-Request-ID', kind: 'text' },
  show: (id) => <RequestLink id={id} />,
};
export const codeColumn = (name: string, label: string): TableColumn => ({
  ...{ name, label, kind: 'text' },
  show: (text) => <Code text={String(text)} />,
});
/** Of any text, with room for it. */
export const valueColumn = (name: string, label: string): TableColumn => ({
  ...{ name, label, kind: 'text' },
  show: (value) => (value === '' ? '–' : <Cell value={value} label={label} />),
});

export function WalkLink({ id }: { id: PageCell }) {
  return id === null ? (
    <span class="null">none</span>
  ) : (
    <a href={linkTo(pathOf({ view: 'walk', id: Number(id) }))}>{String(id)}</a>
  );
}

export function JobLink({ job }: { job: PageCell }) {
  return (
    <a class="unbroken" href={linkTo(pathOf({ view: 'dataset', job: String(job) }))}>
      {String(job)}
    </a>
  );
}

/** The call or calls whose response had it. */
export function RequestLink({ id, most = 20 }: { id: PageCell; most?: number }) {
  if (id === null) return <>–</>;
  return (
    <a href={linkTo('/calls', { request_id: `eq.${id}` })} title={String(id)}>
      <code>{cutMiddle(String(id), most)}</code>
    </a>
  );
}

/** Longer ones are cut in the middle. */
const MOST_LETTERS = 44;

export function Code({ text }: { text: string }) {
  return (
    <code class="unbroken" title={text.length > MOST_LETTERS ? text : undefined}>
      {cutMiddle(text, MOST_LETTERS)}
    </code>
  );
}

/** A glance proves nothing, but is no walk that failed to. */
export function WalkOutcome({ read }: { read: Read }) {
  const status = read('status') as WalkMark['status'];
  if (read('kind') === 'glance' && status === 'complete')
    return (
      <span class="verdict" title="it looked at the head for new rows, and proves nothing">
        <span class="tag">glance</span>
      </span>
    );
  return (
    <span class="verdict">
      <Verdict outcome={outcomeOf({ status, verdict: read('verdict') as WalkMark['verdict'] })} />
      {read('kind') === 'glance' && <span class="tag">glance</span>}
    </span>
  );
}

/** Whether there is nothing to remark on a walk. */
export const isUnremarkable = (read: Read): boolean =>
  read('error') === null &&
  read('renewal_of') === null &&
  anomaliesOf(read('anomalies')).length === 0 &&
  !(read('status') === 'waiting' && read('waits_until') !== null);

/** Why a walk waits or failed, what was odd, whose proof it renewed. */
export function Remarks({ read }: { read: Read }) {
  const [error, renewalOf] = [read('error'), read('renewal_of')];
  // One that failed or ended waits for nothing, whatever it waited for before.
  const until = read('status') === 'waiting' ? read('waits_until') : null;
  const odd = anomaliesOf(read('anomalies'));
  // Where it waits, that is all that its error says.
  if (until !== null)
    return (
      <>
        waits until <Time at={String(until)} /> {waitReasons[String(read('waits_for'))] ?? 'for its turn'}
      </>
    );
  if (error !== null)
    return (
      <span class="remark" title={String(error)}>
        {String(error)}
      </span>
    );
  if (renewalOf !== null)
    return (
      <>
        nothing had changed since walk <WalkLink id={renewalOf} />: one call renewed its proof
      </>
    );
  return <>{odd.length === 0 ? '–' : odd.map(({ kind, times }) => `${kind} ×${times}`).join(', ')}</>;
}

/** A remark that is shown with the past alone. */
export function Past({ what }: { what: string }) {
  const { at } = usePageAddress();
  return at === null ? null : <p class="note">{what}</p>;
}

export function tookOf(begun: unknown, ended: unknown): string {
  if (ended === null) return '–';
  return duration((Date.parse(String(ended)) - Date.parse(String(begun))) / 1_000);
}

type Found = { kind: string; times: number };

/** By kind of anomaly. */
export const meanings: Readonly<Record<string, string>> = {
  offset: 'a page was of another offset than was asked for',
  returned: 'a page held other than as many rows as it said',
  repeat: 'a page held one row twice',
  backwards: 'the snapshot was older than the one before it',
  stuck: 'page after page brought nothing new',
  'inferred-end': 'the API did not say where the dataset ends',
};

export function anomaliesOf(json: PageCell): Found[] {
  try {
    const found = JSON.parse(String(json ?? '{}')) as Record<string, unknown>;
    return Object.entries(found).map(([kind, times]) => ({ kind, times: Number(times) }));
  } catch {
    return [];
  }
}
