/** A list page in the shape of the API, as a query process reads it. */

import { type Filters, matchingRows } from '../../reading/filters.ts';
import type { Frame, Moment, PagedJob, Pages } from '../../reading/pages.ts';
import type { Connection } from '../../store/read.ts';
import type { Encoding } from '../http/response.ts';
import { inReadTransaction } from './mirror.ts';

/** Offset paging (specification, "Paging parameters"). */
export type Paging = { readonly offset: number; readonly limit: number };

/** AiSignalPage for a dataset with a contract; else `rows` and `pagination`, and `generatedAt` where upstream has one. */
function frameOf(
  { page }: Pick<PagedJob, 'page'>,
  generatedAt: string | null,
  { offset, limit }: Paging,
  total: number,
): Frame {
  const dated = generatedAt === null ? page : { generatedAt, ...page };
  const members = Object.entries(dated).map(
    ([name, value]) =>
      `${JSON.stringify(name)}:${JSON.stringify(name === 'generatedAt' ? generatedAt : value)},`,
  );
  return (returned) => {
    const hasMore = returned > 0 && offset + returned < total;
    const pagination = JSON.stringify({ offset, limit, total, returned, hasMore });
    return [`{${members.join('')}"rows":[`, `],"pagination":${pagination}}`];
  };
}

/** @property filters null where every row is shown. */
export type ListPage = {
  readonly job: PagedJob;
  readonly moment: Moment;
  readonly paging: Paging;
  readonly filters: Filters | null;
};

/** @property dir the folder of the mirror. */
export type PageQuestion = { readonly dir: string; readonly page: ListPage; readonly encoding: Encoding };

/** @returns the page; null where history has been forgotten since the moment was found. */
export function readListPage(
  connection: Connection,
  pages: Pages,
  { job, moment, paging, filters }: ListPage,
): Buffer | null {
  const { offset, limit } = paging;
  return inReadTransaction(connection, () => {
    if (typeof pages.momentOf(job.name, moment.seq) === 'string') return null;
    const framed = (total: number) => frameOf(job, moment.generatedAt, paging, total);
    if (!filters) return pages.readPage(moment, offset, limit, framed(moment.total));
    const numbers = matchingRows(connection, pages, moment, filters);
    return pages.readNumbers(moment, numbers.slice(offset, offset + limit), framed(numbers.length));
  });
}
