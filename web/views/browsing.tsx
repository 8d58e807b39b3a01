/** Lists that are read newest first, page by page. A page begins at a number, not at an offset: new rows move none of it. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { PageCell, WalkMark } from '../../src/serve/page/wire.ts';
import { type Query, useCurrentAnswer, useRequestOf } from '../ask.ts';
import { serviceNow } from '../clock.ts';
import { clockTime, count, duration, fromClock, zoneName } from '../formats.ts';
import { useLive } from '../live.ts';
import { Cell } from '../parts/cell.tsx';
import { outcomeOf, Verdict, waitReasons } from '../parts/proof.tsx';
import { Select } from '../parts/select.tsx';
import { Awaited, Empty } from '../parts/states.tsx';
import { namesOf, Table, type TableColumn } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { usePreferences } from '../preferences.ts';
import { go, linkHere, linkTo, linkToSql, type Search, usePageAddress } from '../router.ts';
import { pathOf } from '../routes.ts';
import type { Answer } from '../service.ts';
import { type Condition, type Sql, select, whereOf } from '../sql.ts';

export const PAGE = 50;

type Row = readonly PageCell[];

type Listing = {
  from: string;
  /** With `id`, by which pages are cut. */
  columns: readonly TableColumn[];
  where: readonly Condition[];
};

type Listed = {
  columns: readonly TableColumn[];
  query: Query<Answer>;
  rows: readonly Row[];
  /** That fit the filters, on all pages. */
  total: number | null;
  /** Links to the pages beside this one. */
  newer: string | null;
  older: string | null;
  /** All of them, for the editor. */
  sql: Sql;
};

/** The page that the address names by `before` or `after`. */
export function useNewestFirst({ from, columns, where }: Listing): Listed {
  const { search } = usePageAddress();
  const names = namesOf(columns);
  const turn = turnOf(search);
  const order = [{ column: 'id', descending: turn?.to !== 'newer' }];
  const beside: Condition[] = turn
    ? [{ column: 'id', is: turn.to === 'older' ? '<' : '>', value: turn.from }]
    : [];
  const query = useCurrentAnswer({
    ...select({ columns: names, from, where: [...where, ...beside], order, limit: PAGE + 1 }),
    limit: PAGE + 1,
  });
  const conditions = whereOf(where);
  const counted = useCurrentAnswer({
    sql: `SELECT count(*)\nFROM ${from}\n${conditions.sql}`,
    params: conditions.params,
    limit: 1,
  });
  // The rows of the page before stay in their order until those of this one are there.
  const { rows, hasNewer, hasOlder } = pageOf(query.value?.rows ?? [], useRequestOf(query, turn));
  const id = names.indexOf('id');
  const linkBeside = (name: 'before' | 'after', row: Row | undefined) =>
    linkHere({ before: null, after: null, [name]: Number(row?.[id]) });
  return {
    columns,
    query,
    rows,
    total: Number(counted.value?.rows[0]?.[0] ?? Number.NaN) || null,
    newer: hasNewer && rows.length > 0 ? linkBeside('after', rows[0]) : null,
    older: hasOlder && rows.length > 0 ? linkBeside('before', rows.at(-1)) : null,
    sql: select({ columns: names, from, where, order: [{ column: 'id', descending: true }] }),
  };
}

type Turn = { to: 'older' | 'newer'; from: number } | null;

function turnOf(search: URLSearchParams): Turn {
  const before = numberIn(search, 'before');
  if (before !== null) return { to: 'older', from: before };
  const after = numberIn(search, 'after');
  return after === null ? null : { to: 'newer', from: after };
}

/** One row more than a page tells whether another follows; pages to the newer come the other way round. */
function pageOf(
  rows: readonly Row[],
  turn: Turn,
): { rows: readonly Row[]; hasNewer: boolean; hasOlder: boolean } {
  const hasMore = rows.length > PAGE;
  const page = rows.slice(0, PAGE);
  if (turn?.to === 'newer') return { rows: page.reverse(), hasNewer: hasMore, hasOlder: true };
  return { rows: page, hasNewer: turn !== null, hasOlder: hasMore };
}

export function numberIn(search: URLSearchParams, name: string): number | null {
  const text = search.get(name);
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Another filter shows its first page. */
export const filteredBy = (changes: Search): string =>
  linkHere({ before: null, after: null, page: null, ...changes });

/** Reads a row by the names of its columns. */
export const reading =
  (names: readonly string[]) =>
  (row: Row, name: string): PageCell =>
    row[names.indexOf(name)] ?? null;

type Props = {
  caption: string;
  /** What one row is: `walk`. */
  unit: string;
  listed: Listed;
  /** Where there is none. */
  empty: ComponentChildren;
};

/** A list with its pages, or what stands in its place. */
export function List({ caption, unit, listed, empty }: Props) {
  return (
    <section class="stack" aria-label={caption}>
      <ListPage {...listed} caption={`${caption}, newest first`} identity={['id']} empty={empty}>
        <Turns {...listed} />
        {listed.total !== null && <span class="note">{count(listed.total, unit)} in all</span>}
      </ListPage>
    </section>
  );
}

type PageProps = Pick<Listed, 'columns' | 'query' | 'rows' | 'sql'> &
  Pick<Props, 'caption' | 'empty'> & {
    /** Columns that tell its rows apart. */
    identity: readonly string[];
    /** What stands below it. */
    children: ComponentChildren;
  };

/** A page of a list. */
export function ListPage({ caption, columns, query, rows, identity, sql, empty, children }: PageProps) {
  return (
    <>
      <Awaited query={query} />
      {query.value !== null && rows.length === 0 && <Empty>{empty}</Empty>}
      {rows.length > 0 && (
        <div class="card list">
          <Table {...{ caption, columns, rows, identity }} isLoading={query.isOld} />
        </div>
      )}
      <div class="tools">
        {children}
        <span class="spread" />
        <a href={linkToSql(sql)}>Open as SQL</a>
      </div>
    </>
  );
}

function Turns({ newer, older, query: { isOld } }: Listed) {
  if (newer === null && older === null) return null;
  return (
    <nav class="tools" aria-label="Pages">
      <ListTurn to={isOld ? null : newer}>‹ Newer</ListTurn>
      <ListTurn to={isOld ? null : older}>Older ›</ListTurn>
    </nav>
  );
}

/** A link that leads nowhere for now keeps the focus. */
function ListTurn({ to, children }: { to: string | null; children: ComponentChildren }) {
  const off = { class: 'button off', role: 'link', 'aria-disabled': true, tabIndex: -1 } as const;
  return <a {...(to === null ? off : { class: 'button', href: to })}>{children}</a>;
}

/** Filters of a list. The address keeps them, so that a link shows the same. */
export function Filters({ names, children }: { names: readonly string[]; children: ComponentChildren }) {
  const { search } = usePageAddress();
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
  const { search } = usePageAddress();
  return (
    <label>
      <span class="note">{label}</span>
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
  const { search } = usePageAddress();
  const here = search.get('job');
  const known = overview?.status.datasets.map(({ job }) => job) ?? [];
  const jobs = here === null || known.includes(here) ? known : [here, ...known];
  return (
    <label>
      <span class="note">Dataset</span>
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

export function TextFilter({ name, label }: { name: string; label: string }) {
  const { search } = usePageAddress();
  const here = search.get(name) ?? '';
  const [text, setText] = useTyped(here, (typed) =>
    go(filteredBy({ [name]: typed.trim() || null }), 'replace'),
  );
  return (
    <label>
      <span class="note">{label}</span>
      <input type="search" size={26} value={text} onInput={(event) => setText(event.currentTarget.value)} />
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
  const { search } = usePageAddress();
  const { zone } = usePreferences();
  const at = Date.parse(search.get(name) ?? '');
  const shown = Number.isNaN(at) ? '' : clockTime(at, zone, 'minute').replace(' ', 'T');
  const choose = (text: string) => {
    const chosen = fromClock(text, zone);
    const time = chosen === null ? null : new Date(chosen).toISOString();
    // A span would go before it.
    go(filteredBy({ since: null, [name]: time }), 'replace');
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
  show: (value) =>
    value === '' ? (
      '–'
    ) : (
      <div class="wide">
        <Cell value={value} label={label} />
      </div>
    ),
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
export function RequestLink({ id }: { id: PageCell }) {
  if (id === null) return <>–</>;
  return (
    <a href={linkTo('/calls', { request: String(id) })}>
      <Code text={String(id)} />
    </a>
  );
}

/** Longer ones are broken where the column ends. */
const MOST_UNBROKEN = 44;

export function Code({ text }: { text: string }) {
  return <code class={text.length <= MOST_UNBROKEN ? 'unbroken' : 'long'}>{text}</code>;
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

/** Why a walk waits or failed, what was odd, whose proof it renewed. */
export function Remarks({ read }: { read: Read }) {
  const [error, renewalOf] = [read('error'), read('renewal_of')];
  // One that failed or ended waits for nothing, whatever it waited for before.
  const until = read('status') === 'waiting' ? read('waits_until') : null;
  const odd = anomaliesOf(read('anomalies'));
  const remarks: ComponentChildren[] = [];
  // Where it waits, that is all that its error says.
  if (error !== null && until === null) remarks.push(String(error));
  else if (odd.length > 0) remarks.push(odd.map(({ kind, times }) => `${kind} ×${times}`).join(', '));
  if (renewalOf !== null)
    remarks.push(
      <>
        nothing had changed since walk <WalkLink id={renewalOf} />: one call renewed its proof
      </>,
    );
  if (until !== null)
    remarks.push(
      <>
        waits until <Time at={String(until)} /> {waitReasons[String(read('waits_for'))] ?? 'for its turn'}
      </>,
    );
  if (remarks.length === 0) return <>–</>;
  return (
    <div class="wide">
      {remarks.map((remark, at) => (
        <span key={at}>
          {at > 0 && '; '}
          {remark}
        </span>
      ))}
    </div>
  );
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
