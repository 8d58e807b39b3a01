/** The rows of a dataset, or those that were removed from it, a page at a time. */

import { useRef } from 'preact/hooks';
import type { DatasetStatus, PageCell } from '../../../src/serve/page/wire.ts';
import { type Query, useAnswer, whileEmpty } from '../../ask.ts';
import { count, cutMiddle, number } from '../../formats.ts';
import { isIdentity } from '../../kinds.ts';
import { DownloadMenu } from '../../parts/download.tsx';
import { Sources } from '../../parts/proof.tsx';
import { Awaited, Empty } from '../../parts/states.tsx';
import { ColumnChoice, Pager, Table, type TableColumn } from '../../parts/table.tsx';
import {
  anyContains,
  askOf,
  columnsIn,
  condition,
  conditionBy,
  conditionsIn,
  conditionText,
  type Order,
  orderIn,
  orderText,
  selectText,
  type Term,
  withTerm,
} from '../../question.ts';
import { go, linkHere, linkTo, linkToJson, linkToSql, linkWhere, usePageAddress } from '../../router.ts';
import { pathOf } from '../../routes.ts';
import type { Answer } from '../../service.ts';
import { ChartMenu } from './chart-menu.tsx';
import {
  type Column,
  type Dataset,
  facetColumns,
  isHeldColumn,
  searchedColumns,
  shownColumns,
  timeColumns,
} from './columns.ts';
import { Conditions, Facets, FilterMenu, facetsOf, SearchBox } from './filters.tsx';

const PAGE_ROWS = 50;

type Props = { dataset: Dataset; status: DatasetStatus; columns: readonly Column[] };

export function Rows({ dataset, status, columns: all }: Props) {
  const { search, at } = usePageAddress();
  const { name: job, history } = dataset;
  const isRemoved = search.get('show') === 'removed' && history !== null;
  const table = isRemoved ? history : dataset.table;
  const columns = isRemoved ? all.filter(({ name }) => !isHeldColumn(name)) : all;
  const [time] = timeColumns(columns);
  const identity = isRemoved ? ['_key', '_valid_to'] : ['_key'];
  const beside = isRemoved ? [] : ['_held_since'];
  const isKnown = (name: string) => columns.some((column) => column.name === name);
  const shown = (columnsIn(search) ?? [...shownColumns(columns, dataset.shown), '_changed_at']).filter(
    (name) => isKnown(name) && (!isRemoved || name !== '_changed_at'),
  );
  const terms = conditionsIn(search).filter(([name]) => !isRemoved || !isHeldColumn(name));
  const text = search.get('q') ?? '';
  const asked = orderIn(search);
  const order =
    asked && (isKnown(asked.column) || identity.includes(asked.column))
      ? asked
      : { column: isRemoved ? '_valid_to' : (time?.name ?? '_changed_at'), descending: true };
  const offset = Math.max(0, Number(search.get('offset')) || 0);
  const where = [
    ...terms,
    ...(text === '' ? [] : textTerms(text, dataset, columns)),
    ...(isRemoved ? [condition('_ended_by', 'eq', 'delete')] : []),
  ];
  const list = { table, where, order: [order] };
  const isAll = where.length === 0 && at === null;
  // Rows under the pointer do not move: new rows are counted, and a button shows them.
  const select = [...new Set([...identity, ...beside, ...shown])];
  const page = useAnswer(
    { ask: askOf({ ...list, select, limit: PAGE_ROWS, offset }), asOf: at, limit: PAGE_ROWS },
    { changed: status.lastChange, isLive: at === null && whileEmpty },
  );
  // Rows come first: to count all that are found takes as long as to find them.
  const faceted = facetColumns(columns);
  const question = { ask: askOf({ table, where }), facets: faceted.map(({ name }) => name), limit: 1_000 };
  const mayCount = useOnce(page.isAnswered && !page.problem, JSON.stringify([question, at]));
  const counted = useAnswer(mayCount ? { ...question, asOf: at } : null, { changed: page.value?.seq });
  const total = isAll ? status.rows : totalOf(counted);
  const facets = facetsOf(faceted, counted.value?.rows ?? []);
  const columnNamed = (name: string) => columns.find((column) => column.name === name);
  const pick = (name: string, value: PageCell) => {
    const term = conditionBy(name, value, columnNamed(name)?.kind === 'boolean');
    go(linkWhere(withTerm(terms, term)));
  };
  const show = (chosen: readonly string[] | null) =>
    go(linkHere({ select: chosen && selectText(chosen) }), 'replace');
  const onePage = { ...list, limit: PAGE_ROWS, offset };
  return (
    <div class="stack">
      <div class="tools">
        <SearchBox />
        <FilterMenu terms={terms} columns={columns} facets={facets} />
        <ColumnChoice
          columns={columns
            .filter(({ name }) => name !== '_key')
            .map(({ name, about }) => ({ name, label: labelOf(name), about }))}
          shown={shown}
          choose={show}
        />
        {!isRemoved && page.value?.whole && <ChartMenu columns={columns} whole={page.value.whole} />}
        <DownloadMenu
          question={{ ask: askOf(list) }}
          visible={{ ask: askOf({ ...list, select: [...new Set([...identity, ...shown])] }) }}
          name={fileNameOf(isRemoved ? `${job}_removed` : job, terms, text)}
          asOf={at}
        />
        <a href={linkToJson({ ask: askOf(onePage) }, at)} target="_blank" rel="noopener">
          JSON
        </a>
        {page.value?.whole && <a href={linkToSql(page.value.whole)}>Open as SQL</a>}
      </div>
      {!isAll && (
        <div class="tools">
          <b role="status">
            {counted.problem
              ? 'not counted'
              : total === null
                ? 'counting…'
                : at !== null || isRemoved || total === status.rows
                  ? count(total, 'row')
                  : `${number(total)} of ${number(status.rows)} rows`}
          </b>
          <Conditions terms={terms} />
        </div>
      )}
      {at === null && page.value && !page.isLoading && (
        <Newer
          list={{ table, where, at: isRemoved ? '_valid_to' : '_changed_at' }}
          page={page}
          status={status}
        />
      )}
      {at !== null && page.value && (
        <div class="tools">
          <Sources sources={page.value.sources} isPast />
          <ComparedWithNow dataset={dataset} at={at} />
        </div>
      )}
      <Awaited query={page} loading="Reading rows" />
      <div class="faceted">
        <Facets terms={terms} facets={facets} />
        <div class="listing stack">
          {page.value && (page.value.rows.length > 0 || offset > 0) && (
            <>
              <Table
                caption={`${isRemoved ? 'Removed rows' : 'Rows'} of ${job}`}
                columns={tableColumns(page.value, { job, known: columns, at, isRemoved })}
                rows={page.value.rows}
                identity={identity}
                order={order}
                sort={(next: Order) => go(linkHere({ order: orderText(next), offset: null }), 'replace')}
                isLoading={page.isLoading}
                pick={pick}
                mayPick={(name) => isPicked(columnNamed(name))}
              />
              <Pager
                offset={offset}
                limit={PAGE_ROWS}
                shown={page.value.rows.length}
                total={total}
                linkTo={(next) => linkHere({ offset: next || null })}
              />
            </>
          )}
          {page.value?.rows.length === 0 && offset === 0 && !page.isLoading && (
            <Empty>
              {terms.length > 0 || text !== '' ? (
                <>
                  No rows match. <a href={linkWhere([], { q: null })}>Show all rows</a>
                </>
              ) : (
                noRows(page.value, at, isRemoved)
              )}
            </Empty>
          )}
        </div>
      </div>
    </div>
  );
}

/** Whose letters JSON may write in one way only, or as `\\u`: no quotes, no spaces between values, no slashes. */
const plainText = /^[\p{L}\p{N} ._@#$&+'()-]*\p{L}[\p{L}\p{N} ._@#$&+'()-]*$/u;

/** A text in a discovered column is also in the body: that is searched first, since each column is read out of it. */
function textTerms(text: string, { isSpecified }: Dataset, columns: readonly Column[]): Term[] {
  const inColumns = anyContains(searchedColumns(columns).map((name) => [name, text]));
  if (isSpecified || !plainText.test(text)) return [inColumns];
  const inBody = anyContains([
    ['_key', text],
    ['_body', text],
    ['_body', '\\u'],
  ]);
  return [inBody, inColumns];
}

type NewerProps = {
  list: { table: string; where: readonly Term[]; at: string };
  page: Query<Answer>;
  status: DatasetStatus;
};

/** How many rows have come or changed since these were read, as a button that reads them again. */
function Newer({ list: { table, where, at }, page, status: { lastChange } }: NewerProps) {
  const seq = page.value?.seq ?? 0;
  const isBehind = lastChange !== null && Date.parse(lastChange) > seq;
  const since = condition(at, 'gt', new Date(seq).toISOString());
  const { value } = useAnswer(
    isBehind ? { ask: askOf({ table, where: [...where, since] }), facets: [], limit: 1 } : null,
    { changed: lastChange },
  );
  if (!isBehind || !value) return null;
  const came = Number(value.rows[0]?.[2] ?? 0);
  return (
    <div class="tools">
      <button type="button" class="main" onClick={page.again}>
        {came === 0
          ? 'Show what is left'
          : `Show ${number(came)} ${at === '_valid_to' ? 'more' : 'new or changed'}`}
      </button>
    </div>
  );
}

const MOST_COMPARED = 50_000;

/** How many rows differ from now, and a link to them. */
function ComparedWithNow({ dataset: { table, name: job }, at }: { dataset: Dataset; at: string }) {
  const { value } = useAnswer({
    ask: askOf({
      table: `${table}_changes`,
      select: ['_key', 'kind'],
      where: [condition('at', 'gt', at)],
      order: [{ column: 'seq', descending: false }],
      limit: MOST_COMPARED,
    }),
    limit: MOST_COMPARED,
  });
  if (!value) return null;
  const ends = new Map<PageCell, [first: PageCell, last: PageCell]>();
  for (const [key = null, kind = null] of value.rows) ends.set(key, [ends.get(key)?.[0] ?? kind, kind]);
  const kinds = [...ends.values()].map(([first, last]) =>
    first === 'new' || first === 'first'
      ? last === 'gone'
        ? null
        : 'new'
      : last === 'gone'
        ? 'gone'
        : 'changed',
  );
  const counts = ['new', 'gone', 'changed'].flatMap((kind) => {
    const rows = kinds.filter((one) => one === kind).length;
    return rows === 0 ? [] : [`${number(rows)} ${kind}`];
  });
  return (
    <span>
      Compared with now:{' '}
      {counts.length === 0 ? (
        'the same'
      ) : (
        <a href={linkTo('/changes', { at: null, job: `eq.${job}`, from: at })}>{counts.join(', ')}</a>
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

const totalOf = ({ value, isOld }: Query<Answer>): number | null =>
  isOld || !value ? null : Number(value.rows[0]?.[2] ?? 0);

function noRows({ sources: [source] }: Answer, at: string | null, isRemoved: boolean): string {
  if (at !== null && source && (source.firstWalkAt === null || source.firstWalkAt > at))
    return 'Nothing had been mirrored yet at that moment.';
  if (isRemoved) return 'No row has been removed, as far as history is kept.';
  if (source?.completeAsOf) return 'The dataset is empty: a walk has proven that it holds no rows.';
  return 'No rows have come yet, and no walk has proven that there are none.';
}

/** What the service takes. */
const MAX_NAME = 64;

/** A name such as `ai-signals_quality_grade-A`. */
function fileNameOf(dataset: string, terms: readonly Term[], text: string): string {
  const parts = [...terms.map((term) => conditionText(term).replace(' is ', '-')), text];
  return [dataset, ...parts]
    .map((part) => part.replace(/[^A-Za-z0-9_]+/g, '-').replace(/^-+|-+$/g, ''))
    .filter(Boolean)
    .join('_')
    .slice(0, MAX_NAME);
}

type Shown = {
  job: string;
  known: readonly Column[];
  at: string | null;
  isRemoved: boolean;
};

function tableColumns({ columns }: Answer, { job, known, at, isRemoved }: Shown): TableColumn[] {
  return columns.map(({ name, type }): TableColumn => {
    const { about, kind } = known.find((column) => column.name === name) ?? {};
    const times = at === null ? 'relative' : 'clock';
    const look = { times, isBoolean: kind === 'boolean', isIdentity: isIdentity(name) } as const;
    if (name === '_key')
      return {
        ...{ name, about, label: 'row', kind: 'text' },
        show: (key, row) => (
          <>
            <RowLink job={job} rowKey={String(key)} />
            {!isRemoved && typeof row[1] === 'string' && <Held since={row[1]} />}
          </>
        ),
      };
    return {
      ...{ name, about, type, look, label: labelOf(name) },
      ...(kind === 'boolean' && { kind: 'text' }),
      ...(name === '_held_since' && { isHidden: true }),
      ...(name === '_walk_id' && { show: walkLink }),
    };
  });
}

/** The last full read did not show the row. */
const Held = ({ since }: { since: string }) => (
  <>
    {' '}
    <a
      class="tag warn"
      href={linkWhere([condition('_held_since', 'not null')])}
      title={`Missing from the full read of ${since}; removed if the next one confirms it. Show all held rows.`}
    >
      held
    </a>
  </>
);

/** A key may be a digest: its whole stands on the row's page. */
const RowLink = ({ job, rowKey }: { job: string; rowKey: string }) => (
  <a class="unbroken" href={linkTo(pathOf({ view: 'row', job, key: rowKey }))} title={rowKey}>
    {cutMiddle(rowKey, 24).toWellFormed() || 'empty'}
  </a>
);

const walkLink = (walk: PageCell) =>
  typeof walk === 'number' ? <a href={linkTo(pathOf({ view: 'walk', id: walk }))}>{walk}</a> : undefined;

const labels: Readonly<Record<string, string>> = {
  _valid_to: 'removed',
  _changed_at: 'changed',
  _first_seen_at: 'first seen',
  _walk_id: 'walk',
  _body: 'as received',
  _fetched_at: 'fetched',
  _held_since: 'held since',
  _held_reason: 'held because',
};

const labelOf = (name: string) => labels[name] ?? name;
