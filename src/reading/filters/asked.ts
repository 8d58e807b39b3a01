/** The filters of a query, as they are compared. */

import { createHash } from 'node:crypto';
import type { ListedJob } from '../../job-list.ts';
import { fold, wordsOf } from './fold.ts';

export type Filters = {
  /** Names them: the same for the same filters, in whatever order and spelling. Fits into an ETag as it is. */
  readonly key: string;
  readonly words: readonly string[];
  readonly fields: readonly (readonly [name: string, value: string])[];
};

/**
 * @param parameter gives the value of one by its name; where it is repeated, that of the first.
 * @returns null where every row is left.
 */
export function filtersOf(
  job: Pick<ListedJob, 'filters'>,
  parameter: (name: string) => string | null | undefined,
): Filters | null {
  const words: string[] = [];
  const fields: [string, string][] = [];
  for (const [name, rule] of Object.entries(job.filters)) {
    const given = parameter(name) ?? '';
    const value = fold(given);
    if (rule.by === 'text') words.push(...wordsOf(given));
    else if (value !== '' && value !== fold(rule.all ?? '')) fields.push([name, value]);
  }
  if (words.length + fields.length === 0) return null;
  const wanted = { words: [...new Set(words)].sort(), fields };
  const key = createHash('sha256').update(JSON.stringify(wanted)).digest('base64url');
  return { key, ...wanted };
}
