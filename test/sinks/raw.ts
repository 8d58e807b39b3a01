/** Rows of a list as text: numbers, escapes and spaces that no `JSON.stringify` writes. */

import { type EndpointName, type Fault, type ModelApi, when } from '../../model-api/index.ts';

/** From the next call on the list is these rows. @param rows the JSON of each. */
export function publishRaw(model: ModelApi, endpoint: EndpointName, rows: readonly string[]): void {
  const page: Fault = (answer, { request: { offset, limit } }) => {
    const shown = rows.slice(offset, offset + limit);
    const hasMore = offset + shown.length < rows.length;
    const pagination = { offset, limit, total: rows.length, returned: shown.length, hasMore };
    const body = Buffer.from(`{"rows":[${shown.join(',')}],"pagination":${JSON.stringify(pagination)}}`);
    return answer.status === 200 ? { ...answer, body } : answer;
  };
  model.faults = [when({ endpoint }, page)];
}
