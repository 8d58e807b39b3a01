/** What is listed of a dataset, and how its columns are shown. */

import type { PageCell } from '../../../src/serve/ui/wire.ts';
import type { TableColumn } from '../../parts/table.tsx';
import { linkTo } from '../../router.ts';
import { pathOf } from '../../routes.ts';
import type { Answer } from '../../service.ts';
import type { Column } from './columns.ts';
import type { Dataset } from './known-columns.ts';
import { LongValue } from './long-value.tsx';
import { conditionsOf, type Looking } from './looking.ts';
import { cutsOf, type Listing, wholeSql } from './rows-sql.ts';

/** The walk that proved that a row is gone is known by the number of its change. */
const removedBy = `(SELECT id FROM walks
    WHERE last_seq = CAST(round((julianday("_valid_to") - 2440587.5) * 86400000) AS INTEGER)) AS "_removed_by"`;

/** @param shown the names of the columns to show; those that there are not are left out. */
export function listingOf(
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
export const hiddenColumns: ReadonlySet<string> = new Set(['_cut', '_held']);

/** The columns of an answer to `pageSql`. */
export function tableColumns(
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

export const labelOf = (name: string) => labels[name] ?? name;
