/** The five endpoints (specification, "Endpoints"): path, scope, and the body of a successful answer. */

import type { Dataset, DatasetName, Row } from './datasets/index.ts';
import { selectRows } from './filters.ts';
import type { Scope } from './keys.ts';
import { type Pagination, type Paging, paginate } from './paging.ts';

export type EndpointName = DatasetName | 'usage';

export type Endpoint = {
  readonly name: EndpointName;
  readonly path: string;
  /** Null where any active key will do. */
  readonly scope: Scope | null;
};

export const endpoints: readonly Endpoint[] = [
  { name: 'aiSignals', path: '/api/v1/ai-signals', scope: 'ai-signals:read' },
  { name: 'news', path: '/api/v1/news', scope: 'news:read' },
  { name: 'smartWallets', path: '/api/v1/smart-wallets', scope: 'smart-wallets:read' },
  { name: 'memeSignals', path: '/api/v1/meme-signals', scope: 'meme:read' },
  { name: 'usage', path: '/api/v1/usage', scope: null },
];

export const endpointNames: readonly EndpointName[] = endpoints.map(({ name }) => name);

export type ListBody = {
  generatedAt?: string | null;
  rows: Row[];
  pagination: Partial<Pagination>;
  [more: string]: unknown;
};

/** The body of one page of a list. */
export function listBody(
  name: DatasetName,
  dataset: Dataset,
  query: URLSearchParams,
  paging: Paging,
): ListBody {
  const { rows, pagination } = paginate(selectRows(name, dataset.rows, query), paging);
  const dated = dataset.generatedAt === undefined ? {} : { generatedAt: dataset.generatedAt };
  if (name === 'aiSignals')
    return { ...dated, source: 'published-signal-snapshot', mode: 'read-only', rows, pagination };
  if (name === 'memeSignals') {
    // All that the specification promises of it.
    const { returned, hasMore } = pagination;
    return { ...dated, rows, pagination: { returned, hasMore } };
  }
  return { ...dated, rows, pagination };
}
