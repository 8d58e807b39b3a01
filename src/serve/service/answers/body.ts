/** The body of a page: rows as they are kept, within what the specification shows around them. */

import type { ListedJob } from '../../../job-list.ts';
import type { Frame } from '../../../reading/pages.ts';
import type { Paging } from './asked.ts';

/** AiSignalPage for a dataset with a contract; else `rows` and `pagination`, and `generatedAt` where upstream tells one. */
export function pageFrame(
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
