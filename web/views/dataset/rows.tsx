/** The rows of a dataset, or those that were removed from it, a page at a time. */

import { useRef, useState } from 'preact/hooks';
import type { PageCell, PageQuestion } from '../../../src/serve/page/wire.ts';
import { type Query, useAnswer, whileEmpty } from '../../ask.ts';
import { bytes, count, cutMiddle, duration, number } from '../../formats.ts';
import { isIdentity } from '../../kinds.ts';
import { WholeText } from '../../parts/cell.tsx';
import { DownloadMenu } from '../../parts/download.tsx';
import { Sources } from '../../parts/proof.tsx';
import { Empty, Failed, Loading, Running } from '../../parts/states.tsx';
import { ColumnChoice, Pager, Table, type TableColumn } from '../../parts/table.tsx';
import { go, linkHere, linkTo, linkToJson, linkToSql } from '../../router.ts';
import { pathOf } from '../../routes.ts';
import { type Answer, answerTo, type QueryProblem } from '../../service.ts';
import { type Order, removerSql } from '../../sql.ts';
import { type Column, facetColumns, shownColumns } from './columns.ts';
import { Facets, FilterMenu, Filters, facetsOf, filterBy, SearchBox } from './filters.tsx';
import {
  countSql,
  cutsOf,
  differenceSql,
  facetSql,
  type Listing,
  MAX_FACET_ROWS,
  newerSql,
  pageSql,
  plainSql,
  wholeSql,
} from './rows-sql.ts';
import {
  type ContentProps,
  conditionsOf,
  type Dataset,
  fileNameOf,
  searchFor,
  type ViewState,
  withFilter,
} from './view-state.ts';

const PAGE_ROWS = 50;

export function Rows({ dataset, status, columns, state, at }: ContentProps) {
  const isRemoved = state.show === 'removed';
  // What rows are sorted by stands first, unless one chooses.
  const shown = state.columns ?? [
    ...(isRemoved ? [] : ['_changed_at']),
    ...shownColumns(columns, dataset.shown),
  ];
  const listing = listingOf(dataset, columns, state, shown);
  const isAll = listing.where.length === 0 && !isRemoved && at === null;
  // Rows under the pointer do not move: new rows are counted, and a button shows them.
  const page = useAnswer(
    { ...pageSql(listing, PAGE_ROWS, state.offset), asOf: at, limit: PAGE_ROWS },
    { changed: status.lastChange, isLive: at === null && whileEmpty },
  );
  const refresh = { changed: page.value?.seq };
  // Rows come first: to count all that are found takes as long as to find them.
  const count = { ...countSql(listing), asOf: at, limit: 1 };
  const mayCount = useOnce(page.isAnswered && !page.problem, JSON.stringify(count));
  const counted = useAnswer(isAll || !mayCount ? null : count, refresh);
  const total = isAll ? status.rows : totalOf(counted);
  const faceted = facetColumns(columns);
  const facetNames = faceted.map(({ name }) => name);
  const values = useAnswer(
    mayCount && facetNames.length > 0 ? { ...facetSql(listing, facetNames), asOf: at, limit: 1_000 } : null,
    refresh,
  );
  const facets = facetsOf(faceted, values.value?.rows ?? []);
  const hasCutFacets = facets.some(
    ({ values }) => values.reduce((sum, { rows }) => sum + rows, 0) >= MAX_FACET_ROWS,
  );
  const order = state.order ?? listing.order[0];
  const sort = (order: Order) => go(linkHere(searchFor({ order })), 'replace');
  const columnNamed = (name: string) => columns.find((column) => column.name === name);
  const pick = (name: string, value: PageCell) => {
    const column = columnNamed(name);
    if (column) go(linkHere(searchFor({ filters: withFilter(state.filters, filterBy(column, value)) })));
  };
  const onePage = { limit: PAGE_ROWS, offset: state.offset };
  return (
    <div class="stack">
      <div class="tools">
        <SearchBox state={state} />
        <FilterMenu state={state} columns={columns} facets={facets} />
        <ChosenColumns columns={columns} shown={shown} state={state} />
        <DownloadMenu
          question={plainSql(listing)}
          visible={plainSql(listing, listing.columns)}
          name={fileNameOf(isRemoved ? `${dataset.name}_removed` : dataset.name, state)}
          asOf={at}
        />
        <a href={linkToJson(plainSql(listing, undefined, onePage), at)} target="_blank" rel="noopener">
          JSON
        </a>
        <a href={linkToSql(plainSql(listing, listing.columns))}>Open as SQL</a>
      </div>
      {(!isAll || counted.problem) && (
        <div class="tools">
          <Found
            page={page}
            counted={counted}
            total={total}
            of={at === null && !isRemoved ? status.rows : undefined}
          />
          <Filters state={state} />
        </div>
      )}
      {at === null && page.value && !page.isLoading && (
        <Newer
          job={dataset.name}
          listing={listing}
          page={page.value}
          lastChange={status.lastChange}
          show={page.again}
        />
      )}
      {at !== null && page.value && (
        <div class="tools">
          <Sources sources={page.value.sources} isPast />
          <ComparedWithNow job={dataset.name} at={at} />
        </div>
      )}
      <Running query={page.isLoading ? page : counted} what={page.isLoading ? 'Reading' : 'Counting'} />
      {page.problem && <Failed problem={page.problem} again={page.again} />}
      {!page.value && page.isLoading && <Loading what="Reading rows" />}
      <div class="faceted">
        <Facets state={state} facets={facets} isCut={hasCutFacets} />
        <div class="listing stack">
          {page.value && (page.value.rows.length > 0 || state.offset > 0) && (
            <>
              <Table
                caption={`${isRemoved ? 'Removed rows' : 'Rows'} of ${dataset.name}`}
                columns={tableColumns(page.value, dataset, columns, listing, at)}
                rows={page.value.rows}
                identity={listing.identity}
                order={order}
                sort={sort}
                isLoading={page.isLoading}
                pick={pick}
                mayPick={(name) => isPicked(columnNamed(name))}
              />
              <div class="tools between">
                <Pager
                  offset={state.offset}
                  limit={PAGE_ROWS}
                  shown={page.value.rows.length}
                  total={total}
                  turn={(offset) => go(linkHere(searchFor({ offset })))}
                />
                <span class="note">read in {readingTime(page.value.ms)}</span>
              </div>
            </>
          )}
          {page.value?.rows.length === 0 && state.offset === 0 && !page.isLoading && (
            <Empty>
              {noRows(state, page.value, at)}{' '}
              {isNarrowed(state) && (
                <a href={linkHere(searchFor({ filters: [], search: '' }))}>Show all rows</a>
              )}
            </Empty>
          )}
        </div>
      </div>
    </div>
  );
}

type NewerProps = {
  job: string;
  listing: Listing;
  page: Answer;
  lastChange: string | null;
  show(): void;
};

/** What has changed since the rows were read, as a button that reads them again. */
function Newer({ job, listing, page: { seq }, lastChange, show }: NewerProps) {
  const isBehind = lastChange !== null && Date.parse(lastChange) > seq;
  const { value } = useAnswer(isBehind ? { ...newerSql(listing, job, seq), limit: 1 } : null, {
    changed: lastChange,
  });
  const [came, gone] = (value?.rows[0] ?? []).map(Number);
  const isRemoved = listing.identity.includes('_valid_to');
  const parts = [
    ...(came ? [`${number(came)} ${isRemoved ? 'more' : 'new or changed'}`] : []),
    ...(gone && !isRemoved ? [`${number(gone)} gone`] : []),
  ];
  if (parts.length === 0) return null;
  return (
    <div class="tools">
      <button type="button" class="main" onClick={show}>
        Show {parts.join(', ')}
      </button>
    </div>
  );
}

/** How many rows differ from now, and a link to them. */
function ComparedWithNow({ job, at }: { job: string; at: string }) {
  const { value } = useAnswer({ ...differenceSql(job, at), limit: 3 });
  if (!value) return null;
  const counts = value.rows.map(([kind, rows]) => `${number(Number(rows))} ${kind}`);
  return (
    <span>
      Compared with now:{' '}
      {counts.length === 0 ? (
        'the same'
      ) : (
        <a href={linkTo('/changes', { at: null, job, from: at })}>{counts.join(', ')}</a>
      )}
    </span>
  );
}

/** Whether a click on its cells filters by the value: not for times and JSON, which hardly ever are the same. */
const isPicked = (column: Column | undefined) =>
  column !== undefined && !column.isBookkeeping && column.clock === null && column.kind !== 'json';

/** Whether `isDue` has been true since `what` changed: another page of the same rows is not counted again. */
function useOnce(isDue: boolean, what: string): boolean {
  const done = useRef<string | null>(null);
  if (isDue) done.current = what;
  return done.current === what;
}

type ChosenColumnsProps = Pick<ContentProps, 'columns' | 'state'> & { shown: readonly string[] };

function ChosenColumns({ columns, shown, state }: ChosenColumnsProps) {
  const choices = columns
    .filter(({ name }) => name !== '_key')
    .map(({ name, about }) => ({ name, label: labelOf(name), about }));
  const hidden = new Set(choices.map(({ name }) => name).filter((name) => !shown.includes(name)));
  const show = (chosen: readonly string[] | null) =>
    go(linkHere(searchFor({ columns: chosen, offset: state.offset })), 'replace');
  return (
    <ColumnChoice
      columns={choices}
      hidden={hidden}
      choose={(next) => show(choices.map(({ name }) => name).filter((name) => !next.has(name)))}
      reset={() => show(null)}
    />
  );
}

type FoundProps = {
  page: Query<Answer>;
  counted: Query<Answer>;
  total: number | null;
  /** How many there are in all, where that is known. */
  of: number | undefined;
};

/** `139 of 450 rows`. */
function Found({ page, counted, total, of }: FoundProps) {
  const isStopped = [page, counted].some(({ problem }) => problem?.kind === 'stopped');
  const text = isStopped
    ? 'not counted'
    : counted.problem
      ? `not counted: ${counted.problem.message}`
      : total === null
        ? 'counting…'
        : of === undefined || of === total
          ? count(total, 'row')
          : `${number(total)} of ${number(of)} rows`;
  return <b role="status">{text}</b>;
}

const totalOf = ({ value, isLoading }: Query<Answer>): number | null => {
  const [rows] = value?.rows[0] ?? [];
  return isLoading || typeof rows !== 'number' ? null : rows;
};

const isNarrowed = ({ search, filters }: ViewState) => search !== '' || filters.length > 0;

function noRows(state: ViewState, { sources }: Answer, at: string | null): string {
  const isRemoved = state.show === 'removed';
  if (isNarrowed(state)) return isRemoved ? 'No removed rows match.' : 'No rows match.';
  const [source] = sources;
  if (at !== null && source && (source.firstWalkAt === null || source.firstWalkAt > at))
    return 'Nothing had been mirrored yet at that moment.';
  if (isRemoved) return 'No row has been removed, as far as history is kept.';
  if (source?.completeAsOf) return 'The dataset is empty: a walk has proven that it holds no rows.';
  return 'No rows have come yet, and no walk has proven that there are none.';
}

const readingTime = (ms: number) => (ms < 1_000 ? `${number(ms)} ms` : duration(ms / 1_000));

/** @param shown the names of the columns to show; those that there are not are left out. */
function listingOf(
  { table, history, isSpecified }: Dataset,
  columns: readonly Column[],
  state: ViewState,
  shown: readonly string[],
): Listing {
  const isKnown = (column: string) => columns.some(({ name }) => name === column);
  const where = conditionsOf(state, columns);
  const isRemoved = state.show === 'removed' && history !== null;
  const { order } = state;
  const chosen =
    order && (isKnown(order.column) || (isRemoved && order.column === '_valid_to')) ? [order] : null;
  const listed = { columns: shown.filter(isKnown), isRead: !isSpecified };
  if (!isRemoved)
    return {
      ...listed,
      beside: ['"_held_since" AS "_held"'],
      table,
      where,
      order: chosen ?? [{ column: '_changed_at', descending: true }],
      identity: ['_key'],
    };
  return {
    ...listed,
    table: history,
    where: [...where, { column: '_ended_by', is: '=', value: 'delete' }],
    order: chosen ?? [{ column: '_valid_to', descending: true }],
    identity: ['_key', '_valid_to'],
    beside: [`${removerSql(table)} AS "_removed_by"`],
  };
}

/** The columns of an answer to `pageSql`. */
function tableColumns(
  { columns, rows }: Answer,
  { name: job }: Dataset,
  known: readonly Column[],
  { table, identity }: Listing,
  at: string | null,
): TableColumn[] {
  const names = columns.map(({ name }) => name);
  const cut = names.indexOf('_cut');
  const isRemoved = identity.includes('_valid_to');
  const ahead = cut + 2;
  const cuts = new Set(rows.flatMap((row) => [...cutsOf(row[cut]).keys()]));
  const showLong = (name: string, place: number) => (value: PageCell, row: readonly PageCell[]) => {
    const size = cutsOf(row[cut]).get(place);
    if (size === undefined || typeof value !== 'string') return undefined;
    const whole = wholeSql(table, name, identityOf(identity, row));
    return (
      <LongValue beginning={value} label={name} size={size} question={{ ...whole, asOf: at, limit: 1 }} />
    );
  };
  return columns.map(({ name, type }, place): TableColumn => {
    const { about, kind } = known.find((column) => column.name === name) ?? {};
    const times = at === null ? 'relative' : 'clock';
    const look = { times, isBoolean: kind === 'boolean', isIdentity: isIdentity(name) } as const;
    if (place === 0)
      return {
        ...{ name, about, label: 'row', kind: 'text' },
        show: (key, row) => (
          <>
            <RowLink job={job} rowKey={String(key)} />
            {!isRemoved && row[cut + 1] !== null && <Held since={String(row[cut + 1])} />}
          </>
        ),
      };
    if (place === cut) return { name, isHidden: true };
    if (place < cut) return { name, about, look, label: 'removed' };
    if (place < ahead && !isRemoved) return { name, isHidden: true };
    if (place < ahead) return { name, label: 'by walk', isUnsorted: true, show: walkLink };
    return {
      ...{ name, about, type, look, label: labelOf(name) },
      ...(kind === 'boolean' && { kind: 'text' }),
      ...(name === '_walk_id' && { show: walkLink }),
      ...(cuts.has(place - ahead) && { show: showLong(name, place - ahead) }),
    };
  });
}

const identityOf = (identity: readonly string[], row: readonly PageCell[]) =>
  Object.fromEntries(identity.map((column, at) => [column, String(row[at])]));

/** The last proof did not show the row. */
const Held = ({ since }: { since: string }) => (
  <>
    {' '}
    <a
      class="tag warn"
      href={linkHere(searchFor({ filters: [{ column: '_held_since', is: 'not null', value: '' }] }))}
      title={`The proof of ${since} did not show this row. It stays until the next proof agrees. Show all held rows.`}
    >
      held
    </a>
  </>
);

/** A key may be a digest: its whole stands on the row's page. */
const RowLink = ({ job, rowKey }: { job: string; rowKey: string }) => (
  <a class="unbroken" href={linkTo(pathOf({ view: 'row', job, key: rowKey }))} title={rowKey}>
    {cutMiddle(rowKey, 20).toWellFormed() || 'empty'}
  </a>
);

const walkLink = (walk: PageCell) =>
  typeof walk === 'number' ? <a href={linkTo(pathOf({ view: 'walk', id: walk }))}>{walk}</a> : undefined;

const labels: Readonly<Record<string, string>> = {
  _changed_at: 'changed',
  _first_seen_at: 'first seen',
  _walk_id: 'walk',
  _body: 'as received',
  _fetched_at: 'fetched',
  _held_since: 'held since',
  _held_reason: 'held because',
};

const labelOf = (name: string) => labels[name] ?? name;

const MAX_BEGINNING = 72;

type LongValueProps = {
  beginning: string;
  label: string;
  /** How many bytes the whole has. */
  size: number;
  /** What asks for the whole. */
  question: PageQuestion;
};

/** A long value, of which only the beginning was sent: a button fetches the whole. */
function LongValue({ beginning, label, size, question }: LongValueProps) {
  const [whole, setWhole] = useState<string | null>(null);
  const [problem, setProblem] = useState<QueryProblem | null>(null);
  const [isLoading, setLoading] = useState(false);
  const open = async () => {
    setLoading(true);
    const { value, problem: failed } = await answerTo(question);
    setLoading(false);
    setProblem(failed ?? (value.rows.length === 0 ? gone : null));
    if (value?.rows[0]) setWhole(String(value.rows[0][0] ?? ''));
  };
  return (
    <>
      {beginning.replace(/\s+/g, ' ').slice(0, MAX_BEGINNING).toWellFormed()}…{' '}
      <button
        type="button"
        class="small"
        disabled={isLoading}
        onClick={open}
        aria-label={`${bytes(size)}: show all of ${label}`}
        title={bytes(size)}
      >
        {isLoading ? 'reading…' : 'Show all'}
      </button>
      {problem && <span role="alert"> {problem.message}</span>}
      {whole !== null && <WholeText text={whole} label={label} close={() => setWhole(null)} />}
    </>
  );
}

const gone: QueryProblem = { kind: 'incomplete', message: 'this row has changed or gone meanwhile' };
