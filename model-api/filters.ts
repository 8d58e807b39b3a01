/** Filters of news and smart wallets. Names are specified; how they match is not, so this is an invention. */

import type { DatasetName, Row } from './datasets/index.ts';

const filtersOf: Readonly<Record<DatasetName, readonly string[]>> = {
  aiSignals: [],
  news: ['q', 'category', 'symbol', 'market', 'source', 'filter', 'kind'],
  smartWallets: ['q', 'lane'],
  memeSignals: [],
};

/** The rows that a query asks for; the very same array where it names no filter. */
export function selectRows(name: DatasetName, rows: readonly Row[], query: URLSearchParams): readonly Row[] {
  return filtersOf[name].reduce((left, filter) => {
    const wanted = query.get(filter)?.toLowerCase();
    return wanted ? left.filter((row) => matches(row, filter, wanted)) : left;
  }, rows);
}

function matches(row: Row, filter: string, wanted: string): boolean {
  if (filter === 'lane' && wanted === 'all') return true;
  const value =
    filter === 'q' || filter === 'filter' ? row : filter === 'symbol' ? row['symbols'] : row[filter];
  const text = JSON.stringify(value ?? null).toLowerCase();
  return value instanceof Object ? text.includes(wanted) : text === JSON.stringify(wanted);
}
