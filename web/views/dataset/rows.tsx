/** The rows of a dataset, or those that were removed from it, a page at a time. */

import { useRef } from 'preact/hooks';
import type { Asked } from '../../asking.ts';
import { duration, number, plural } from '../../formats.ts';
import { useLive } from '../../live.ts';
import { useLiveAnswer } from '../../live-answer.ts';
import { DownloadMenu } from '../../parts/download.tsx';
import { Sources } from '../../parts/proof.tsx';
import { Running } from '../../parts/running.tsx';
import { Empty, Failed, Loading } from '../../parts/states.tsx';
import { ColumnChoice, Pager, Table } from '../../parts/table.tsx';
import { go, linkHere, linkToSql } from '../../router.ts';
import type { Answer } from '../../service.ts';
import type { Order } from '../../sql.ts';
import { type Column, shownColumns } from './columns.ts';
import { FilterMenu, Filters, SearchBox } from './finding.tsx';
import type { Dataset } from './known-columns.ts';
import { type Looking, searchOf } from './looking.ts';
import { countSql, pageSql, plainSql } from './rows-sql.ts';
import { hiddenColumns, labelOf, listingOf, tableColumns } from './table-columns.tsx';

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
  const isLive = at === null && looking.offset === 0;
  const changed = status?.lastChange;
  const page = useLiveAnswer(
    { ...pageSql(listing, PAGE_ROWS, looking.offset), asOf: at, limit: PAGE_ROWS },
    changed,
    isLive,
  );
  const count = { ...countSql(listing), asOf: at, limit: 1 };
  const mayCount = useOnce(page.isAnswered && !page.trouble, JSON.stringify(count));
  const counted = useLiveAnswer(isAll || !mayCount ? null : count, changed, isLive);
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
      <Running asked={page.isLoading ? page : counted} what={page.isLoading ? 'Reading' : 'Counting'} />
      {page.trouble && <Failed trouble={page.trouble} again={page.again} />}
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

type FoundProps = { page: Asked<Answer>; counted: Asked<Answer>; isAll: boolean; total: number | null };

function Found({ page, counted, isAll, total }: FoundProps) {
  if (isAll) return null;
  const isStopped = [page, counted].some(({ trouble }) => trouble?.kind === 'stopped');
  if (isStopped) return <span class="note">not counted</span>;
  if (counted.trouble) return <span class="note">not counted: {counted.trouble.message}</span>;
  if (total === null) return <span class="note">counting…</span>;
  return (
    <span class="note">
      {number(total)} {plural(total, 'row')} found
    </span>
  );
}

const totalOf = ({ value, isLoading }: Asked<Answer>): number | null => {
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
