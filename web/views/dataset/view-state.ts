/** What a view of a dataset shows. All of it is in the address, so that every state has a link. */

import type { DatasetStatus, Schema } from '../../../src/serve/page/wire.ts';
import type { Search } from '../../router.ts';
import type { Comparison, Condition, Order } from '../../sql.ts';
import { type Bucket, buckets } from './chart-sql.ts';
import { type Column, searchedColumns } from './columns.ts';

export type Dataset = Schema['jobs'][number] & { declared: Schema['tables'][number]['columns'] };

export type Filter = { column: string; is: Comparison; value: string };

export type ViewState = {
  show: 'rows' | 'removed' | 'chart';
  /** A text that is somewhere in the row. */
  search: string;
  filters: readonly Filter[];
  /** Null for the newest change first. */
  order: Order | null;
  offset: number;
  /** Null for those that are shown unless one chooses. */
  columns: readonly string[] | null;
  /** What a chart shows: of the number `value`, or how many rows, over `time`. Null for what suits. */
  value: string | null;
  time: string | null;
  by: Bucket | null;
  /** A column of texts, each of which becomes a series of its own. */
  split: string | null;
};

/** Of the rows and of the chart of a dataset. */
export type ContentProps = {
  dataset: Dataset;
  status: DatasetStatus;
  columns: readonly Column[];
  state: ViewState;
  at: string | null;
};

export const comparisons: Readonly<Record<Comparison, string>> = {
  '=': 'is',
  '<>': 'is not',
  contains: 'contains',
  starts: 'starts with',
  '>': 'is more than',
  '>=': 'is at least',
  '<': 'is less than',
  '<=': 'is at most',
  null: 'is null',
  'not null': 'is not null',
};

export const needsValue = (is: Comparison): boolean => is !== 'null' && is !== 'not null';

/** What cannot be understood is left out: an address may be old, or written by hand. */
export function readState(search: URLSearchParams): ViewState {
  const show = search.get('show');
  const by = search.get('by') as Bucket;
  const offset = Number(search.get('from') ?? 0);
  return {
    show: show === 'removed' || show === 'chart' ? show : 'rows',
    search: search.get('q') ?? '',
    filters: readFilters(search.get('where')),
    order: readOrder(search.get('sort')),
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
    columns: search.get('cols')?.split(',').filter(Boolean) ?? null,
    value: search.get('value'),
    time: search.get('time'),
    by: buckets.includes(by) ? by : null,
    split: search.get('split'),
  };
}

/** With one more; a column has one value or none at a time, so another replaces it. */
export function withFilter(filters: readonly Filter[], added: Filter): Filter[] {
  const isValue = ({ is }: Filter) => is === '=' || is === 'null';
  const isReplaced = (one: Filter) => one.column === added.column && isValue(one) && isValue(added);
  return [...filters.filter((each) => !isReplaced(each)), added];
}

/** How a filter is said: `grade is A`. */
export function filterText({ column, is, value }: Filter): string {
  const said = needsValue(is) ? ` ${value === '' ? 'empty' : value}` : '';
  return `${column} ${comparisons[is]}${said}`;
}

/** What the service takes. */
const MAX_NAME = 64;

/** A name such as `ai-signals_grade-A`. @param end is never cut. */
export function fileNameOf(
  dataset: string,
  { filters, search }: Pick<ViewState, 'filters' | 'search'>,
  end = '',
): string {
  const parts = [
    ...filters.map(({ column, is, value }) => `${column}-${is === '=' ? '' : `${comparisons[is]}-`}${value}`),
    ...(search === '' ? [] : [search]),
  ];
  const plain = [dataset, ...parts].map((part) =>
    part
      .replace(/^is-/, '')
      .replace(/[^A-Za-z0-9_]+/g, '-')
      .replace(/^-+|-+$/g, ''),
  );
  return (
    plain
      .filter(Boolean)
      .join('_')
      .slice(0, MAX_NAME - end.length) + end
  );
}

/** The parameters of an address that change; what another look makes meaningless goes with it. */
export function searchFor(changes: Partial<ViewState>): Search {
  const { show, search, filters, order, offset = 0, columns, value, time, by, split } = changes;
  return {
    ...(show !== undefined && { show: show === 'rows' ? null : show }),
    ...(search !== undefined && { q: search || null }),
    ...(filters !== undefined && { where: writeFilters(filters) }),
    ...(order !== undefined && { sort: order && `${order.descending ? '-' : ''}${order.column}` }),
    ...(columns !== undefined && { cols: columns?.join(',') ?? null }),
    ...(value !== undefined && { value }),
    ...(time !== undefined && { time, by: null }),
    ...(by !== undefined && { by }),
    ...(split !== undefined && { split }),
    // Other rows have other pages.
    from: offset > 0 ? offset : null,
  };
}

/** @param columns those that there are: a filter of another one would be an error of SQL. */
export function conditionsOf(
  { filters, search }: Pick<ViewState, 'filters' | 'search'>,
  columns: readonly Column[],
): Condition[] {
  const conditions = filters.flatMap(({ column, is, value }): Condition[] => {
    const known = columns.find(({ name }) => name === column);
    return known ? conditionsFor(known, is, value) : [];
  });
  return search === '' ? conditions : [{ anyOf: searchedColumns(columns), contains: search }, ...conditions];
}

/** SQLite holds that no number equals a text. Where a column holds both, a value that is written alike is meant. */
function conditionsFor(
  { name: column, kind, hasNumbers }: Column,
  is: Comparison,
  text: string,
): Condition[] {
  const asText = { column, is, value: text };
  if (kind === 'boolean' && (text === 'true' || text === 'false'))
    return [{ column, is, value: Number(text === 'true') }];
  const value = numberOf(text);
  if (value === null || is === 'contains' || is === 'starts') return [asText];
  if (kind === 'number' || kind === 'boolean') return [{ column, is, value }];
  if (!hasNumbers) return [asText];
  const both = [{ column, is, value }, asText];
  if (is === '=') return [{ either: both }];
  return is === '<>' ? both : [asText];
}

function numberOf(text: string): number | { integer: string } | null {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) return null;
  return Number.isSafeInteger(number) || !/^-?\d+$/.test(text) ? number : { integer: text };
}

function readFilters(text: string | null): Filter[] {
  try {
    const found = JSON.parse(text ?? '[]') as unknown;
    return Array.isArray(found) ? found.flatMap(filterOf) : [];
  } catch {
    return [];
  }
}

function filterOf(found: unknown): Filter[] {
  const [column, is, value = ''] = Array.isArray(found) ? (found as unknown[]) : [];
  if (typeof column !== 'string' || typeof is !== 'string' || typeof value !== 'string') return [];
  return Object.hasOwn(comparisons, is) ? [{ column, is: is as Comparison, value }] : [];
}

const writeFilters = (filters: readonly Filter[]) =>
  filters.length === 0
    ? null
    : JSON.stringify(
        filters.map(({ column, is, value }) => (needsValue(is) ? [column, is, value] : [column, is])),
      );

function readOrder(text: string | null): Order | null {
  if (!text) return null;
  return text.startsWith('-') ? { column: text.slice(1), descending: true } : { column: text };
}
