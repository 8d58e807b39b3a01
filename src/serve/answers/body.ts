/** The body of a page: rows as they are kept, within what the specification shows around them. */

import type { ServedJob } from '../../job-list.ts';
import type { Paging } from './asked.ts';

/**
 * AiSignalPage for a dataset with a contract; else `rows` and `pagination`, and `generatedAt` where upstream tells one.
 * @param rows the JSON of each.
 */
export function pageBody(
  { page }: Pick<ServedJob, 'page'>,
  generatedAt: string | null,
  rows: readonly string[],
  { offset, limit }: Paging,
  total: number,
): Buffer {
  const dated = generatedAt === null ? page : { generatedAt, ...page };
  const members = Object.entries(dated).map(
    ([name, value]) =>
      `${JSON.stringify(name)}:${JSON.stringify(name === 'generatedAt' ? generatedAt : value)},`,
  );
  const returned = rows.length;
  const pagination = { offset, limit, total, returned, hasMore: returned > 0 && offset + returned < total };
  return Buffer.from(
    `{${members.join('')}"rows":[${rows.join(',')}],"pagination":${JSON.stringify(pagination)}}`,
  );
}
