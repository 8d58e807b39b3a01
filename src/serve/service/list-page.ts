/** A list page in the shape of the API, and the one that filters leave, which a query process reads. */

import type { ListedJob } from '../../job-list.ts';
import { type Filters, matchingRows } from '../../reading/filters.ts';
import type { Frame, Moment, Pages } from '../../reading/pages.ts';
import type { Connection } from '../../store/read.ts';
import { atOneMoment } from '../prepared.ts';

/** Offset paging (specification, "Paging parameters"). */
export type Paging = { readonly offset: number; readonly limit: number };

/** AiSignalPage for a dataset with a contract; else `rows` and `pagination`, and `generatedAt` where upstream has one. */
export function frameOf(
  { page }: Pick<ListedJob, 'page'>,
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

/** @property job one that is a list. */
export type FilteredPage = {
  readonly job: ListedJob;
  readonly moment: Moment;
  readonly paging: Paging;
  readonly filters: Filters;
};

/** @returns the page; null where history has been forgotten since the moment was found. */
export function readFilteredPage(
  connection: Connection,
  pages: Pages,
  { job, moment, paging, filters }: FilteredPage,
): Uint8Array | null {
  return atOneMoment(connection, () => {
    if (typeof pages.momentOf(job.name, moment.seq) === 'string') return null;
    const numbers = matchingRows(connection, pages, moment, filters);
    const { offset, limit } = paging;
    const frame = frameOf(job, moment.generatedAt, paging, numbers.length);
    return pages.readNumbers(moment, numbers.slice(offset, offset + limit), frame);
  });
}
