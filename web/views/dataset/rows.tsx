/** The rows of a dataset, or those that were removed from it, a page at a time. */

import { useRef, useState } from 'preact/hooks';
import type { PageCell, PageQuestion } from '../../../src/serve/ui/wire.ts';
import { type Query, useAnswer } from '../../ask.ts';
import { bytes, duration, number, plural } from '../../formats.ts';
import { useLive } from '../../live.ts';
import { DownloadMenu } from '../../parts/download.tsx';
import { Sources } from '../../parts/proof.tsx';
import { Empty, Failed, Loading, Running } from '../../parts/states.tsx';
import { ColumnChoice, Pager, Table, type TableColumn, WholeText } from '../../parts/table.tsx';
import { go, linkHere, linkTo, linkToSql } from '../../router.ts';
import { pathOf } from '../../routes.ts';
import { type Answer, answerTo, type QueryProblem } from '../../service.ts';
import type { Order } from '../../sql.ts';
import { type Column, shownColumns } from './columns.ts';
import { FilterMenu, Filters, SearchBox } from './finding.tsx';
import type { Dataset } from './known-columns.ts';
import { conditionsOf, type Looking, searchOf } from './looking.ts';
import { countSql, cutsOf, type Listing, pageSql, plainSql, wholeSql } from './rows-sql.ts';

const PAGE_ROWS = 50;

type Props = { dataset: Dataset; columns: readonly Column[]; looking: Looking; at: string | null };

export function Rows({ dataset, columns, looking, at }: Props) {
  const status = useLive().overview?.status.datasets.find(({ job }) => job === dataset.name);
  const isRemoved = looking.show === 'removed';
  const shown = looking.columns ?? [
    ...shownColumns(columns, (name) => name === 'id' || name === '_key'),
    ...(isRemoved ? [] : ['_changed_at']),
  ];
  const listing = listingOf(dataset, columns, looking, shown);
  const isAll = listing.where.length === 0 && !isRemoved && at === null;
  // Who turns pages wants them to stand still.
  const refresh = { changed: status?.lastChange, isLive: at === null && looking.offset === 0 };
  const page = useAnswer(
    { ...pageSql(listing, PAGE_ROWS, looking.offset), asOf: at, limit: PAGE_ROWS },
    refresh,
  );
  const count = { ...countSql(listing), asOf: at, limit: 1 };
  const mayCount = useOnce(page.isAnswered && !page.problem, JSON.stringify(count));
  const counted = useAnswer(isAll || !mayCount ? null : count, refresh);
  const total = isAll ? (status?.rows ?? null) : totalOf(counted);
  const order = looking.order ?? listing.order[0];
  const sort = ({ column, descending = false }: Order) =>
    columns.some(({ name }) => name === column) &&
    go(linkHere(searchOf({ order: { column, descending } })), 'replace');
  return (
    <div class="stack">
      <div class="tools">
        <SearchBox looking={looking} />
        <FilterMenu looking={looking} columns={columns} />
        <ChosenColumns columns={columns} shown={shown} looking={looking} />
        <DownloadMenu question={plainSql(listing)} asOf={at} />
        <a href={linkToSql(plainSql(listing))}>Open as SQL</a>
      </div>
      <Filters looking={looking} />
      {at !== null && page.value && <Sources sources={page.value.sources} isPast />}
      <Running query={page.isLoading ? page : counted} what={page.isLoading ? 'Reading' : 'Counting'} />
      {page.problem && <Failed problem={page.problem} again={page.again} />}
      {!page.value && page.isLoading && <Loading what="Reading rows" />}
      {page.value && (page.value.rows.length > 0 || looking.offset > 0) && (
        <div class="listing stack">
          <Table
            caption={`${isRemoved ? 'Removed rows' : 'Rows'} of ${dataset.name}`}
            columns={tableColumns(page.value, dataset, listing, at)}
            rows={page.value.rows}
            hidden={hiddenColumns}
            order={order}
            sort={sort}
            isLoading={page.isLoading}
          />
          <div class="tools foot">
            <Pager
              offset={looking.offset}
              limit={PAGE_ROWS}
              shown={page.value.rows.length}
              total={total}
              turn={(offset) => go(linkHere(searchOf({ offset })))}
            />
            <Found page={page} counted={counted} isAll={isAll} total={total} />
            <span class="note">read in {readingTime(page.value.ms)}</span>
          </div>
        </div>
      )}
      {page.value?.rows.length === 0 && looking.offset === 0 && !page.isLoading && (
        <Empty>{noRows(looking, page.value, at)}</Empty>
      )}
    </div>
  );
}

/**
 * Whether `isDue` has been true since `what` is what it is. Rows are waited for, and to count all that are found takes as
 * long as to find them: both at once would take each twice as long. Another page of the same rows is not counted again.
 */
function useOnce(isDue: boolean, what: string): boolean {
  const done = useRef<string | null>(null);
  if (isDue) done.current = what;
  return done.current === what;
}

function ChosenColumns({
  columns,
  shown,
  looking,
}: Pick<Props, 'columns' | 'looking'> & { shown: readonly string[] }) {
  const choices = columns
    .filter(({ name }) => name !== '_key')
    .map(({ name }) => ({ name, label: labelOf(name) }));
  const hidden = new Set(choices.map(({ name }) => name).filter((name) => !shown.includes(name)));
  const choose = (next: ReadonlySet<string>) => {
    const chosen = choices.map(({ name }) => name).filter((name) => !next.has(name));
    go(linkHere(searchOf({ columns: chosen, offset: looking.offset })), 'replace');
  };
  return <ColumnChoice columns={choices} hidden={hidden} choose={choose} />;
}

type FoundProps = { page: Query<Answer>; counted: Query<Answer>; isAll: boolean; total: number | null };

function Found({ page, counted, isAll, total }: FoundProps) {
  if (isAll) return null;
  const isStopped = [page, counted].some(({ problem }) => problem?.kind === 'stopped');
  if (isStopped) return <span class="note">not counted</span>;
  if (counted.problem) return <span class="note">not counted: {counted.problem.message}</span>;
  if (total === null) return <span class="note">counting…</span>;
  return (
    <span class="note">
      {number(total)} {plural(total, 'row')} found
    </span>
  );
}

const totalOf = ({ value, isLoading }: Query<Answer>): number | null => {
  const [rows] = value?.rows[0] ?? [];
  return isLoading || typeof rows !== 'number' ? null : rows;
};

function noRows({ search, filters, show }: Looking, { sources }: Answer, at: string | null): string {
  const isNarrowed = search !== '' || filters.length > 0;
  if (isNarrowed) return show === 'removed' ? 'No removed row is found by this.' : 'No row is found by this.';
  const [source] = sources;
  if (at !== null && source && (source.firstWalkAt === null || source.firstWalkAt > at))
    return 'Nothing had been mirrored yet at that moment.';
  if (show === 'removed') return 'No row has been removed, as far as history is kept.';
  if (source?.completeAsOf) return 'The dataset is empty: a walk has proven that it holds no rows.';
  return 'No rows have come yet, and no walk has proven that there are none.';
}

const readingTime = (ms: number) => (ms < 1_000 ? `${number(ms)} ms` : duration(ms / 1_000));

/** What is listed of a dataset, and how its columns are shown. */

/** The walk that proved that a row is gone is known by the number of its change. */
const removedBy = `(SELECT id FROM walks
    WHERE last_seq = CAST(round((julianday("_valid_to") - 2440587.5) * 86400000) AS INTEGER)) AS "_removed_by"`;

/** @param shown the names of the columns to show; those that there are not are left out. */
function listingOf(
  { table, history, isSpecified }: Dataset,
  columns: readonly Column[],
  looking: Looking,
  shown: readonly string[],
): Listing {
  const isKnown = (column: string) => columns.some(({ name }) => name === column);
  const where = conditionsOf(looking, columns);
  const chosen = looking.order && isKnown(looking.order.column) ? [looking.order] : null;
  const listed = { columns: shown.filter(isKnown), isRead: !isSpecified };
  if (looking.show !== 'removed' || history === null)
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
    // No version says whether its row was held.
    columns: listed.columns.filter((name) => !name.startsWith('_held_')),
    table: history,
    where: [...where, { column: '_ended_by', is: '=', value: 'delete' }],
    order: chosen ?? [{ column: '_valid_to', descending: true }],
    identity: ['_key', '_valid_to'],
    beside: [removedBy],
  };
}

/** What is of no use to those who look. */
const hiddenColumns: ReadonlySet<string> = new Set(['_cut', '_held']);

/** The columns of an answer to `pageSql`. */
function tableColumns(
  { columns }: Answer,
  { name: job }: Dataset,
  { table, identity }: Listing,
  at: string | null,
): TableColumn[] {
  const names = columns.map(({ name }) => name);
  const cut = names.indexOf('_cut');
  const isRemoved = identity.includes('_valid_to');
  const ahead = cut + 2;
  const showLong = (name: string, place: number) => (value: PageCell, row: readonly PageCell[]) => {
    const size = cutsOf(row[cut]).get(place);
    if (size === undefined || typeof value !== 'string') return undefined;
    const whole = wholeSql(table, name, identityOf(identity, row));
    return (
      <LongValue beginning={value} label={name} size={size} question={{ ...whole, asOf: at, limit: 1 }} />
    );
  };
  return columns.map(({ name, type }, place): TableColumn => {
    if (place === 0)
      return {
        ...{ name, label: 'row', kind: 'text' },
        show: (key, row) => (
          <>
            <RowLink job={job} rowKey={String(key)} />
            {!isRemoved && row[cut + 1] !== null && <Held since={String(row[cut + 1])} />}
          </>
        ),
      };
    if (place === cut) return { name };
    if (place < cut) return { name, label: 'removed at' };
    if (place < ahead && !isRemoved) return { name };
    if (place < ahead) return { name, label: 'by walk', show: (walk) => walkLink(walk) };
    return {
      name,
      label: labelOf(name),
      type,
      show: name === '_walk_id' ? walkLink : showLong(name, place - ahead),
    };
  });
}

const identityOf = (identity: readonly string[], row: readonly PageCell[]) =>
  Object.fromEntries(identity.map((column, at) => [column, String(row[at])]));

const MOST_LETTERS = 24;

/** The last proof did not show the row. */
const Held = ({ since }: { since: string }) => (
  <>
    {' '}
    <span class="tag warn" title={`The proof of ${since} did not show it; it stays until another agrees.`}>
      held
    </span>
  </>
);

/** A key may be a digest: its whole stands on the row's page. Many begin alike, so their ends are shown, too. */
function RowLink({ job, rowKey }: { job: string; rowKey: string }) {
  const short =
    rowKey.length > MOST_LETTERS
      ? `${rowKey.slice(0, 16).toWellFormed()}…${rowKey.slice(-7).toWellFormed()}`
      : rowKey;
  return (
    <a class="unbroken" href={linkTo(pathOf({ view: 'row', job, key: rowKey }))} title={rowKey}>
      {short || 'empty'}
    </a>
  );
}

const walkLink = (walk: PageCell) =>
  typeof walk === 'number' ? <a href={linkTo(pathOf({ view: 'walk', id: walk }))}>{walk}</a> : undefined;

const labels: Readonly<Record<string, string>> = {
  _changed_at: 'changed',
  _first_seen_at: 'first seen',
  _walk_id: 'walk',
  _body: 'as received',
  _fetched_at: 'fetched',
};

const labelOf = (name: string) => labels[name] ?? name;

/** A long value, of which only the beginning was sent: the whole is fetched when it is opened. */

const LONG_VALUE_MOST_LETTERS = 80;

type LongValueProps = {
  beginning: string;
  label: string;
  /** How many bytes the whole has. */
  size: number;
  /** What asks for the whole. */
  question: PageQuestion;
};

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
      {beginning.replace(/\s+/g, ' ').slice(0, LONG_VALUE_MOST_LETTERS).toWellFormed()}…{' '}
      <button
        type="button"
        class="more"
        disabled={isLoading}
        onClick={open}
        aria-label={`show all of ${label}`}
      >
        {isLoading ? 'reading…' : bytes(size)}
      </button>
      {problem && <span role="alert"> {problem.message}</span>}
      {whole !== null && <WholeText text={whole} label={label} close={() => setWhole(null)} />}
    </>
  );
}

const gone: QueryProblem = { kind: 'incomplete', message: 'this row has changed or gone meanwhile' };
