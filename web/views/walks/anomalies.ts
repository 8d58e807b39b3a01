/** What was odd in a walk, out of the JSON that it is kept as. */

import type { PageCell } from '../../../src/serve/ui/wire.ts';

export type Found = { kind: string; times: number };

/** The API's own words for them, told to those who have not read the manual. */
export const meanings: Readonly<Record<string, string>> = {
  offset: 'a page was of another offset than was asked for',
  returned: 'a page held other than as many rows as it said',
  repeat: 'a page held one row twice',
  backwards: 'the snapshot was older than the one before it',
  stuck: 'page after page brought nothing new',
  'inferred-end': 'the API did not say where the dataset ends',
};

export function anomaliesOf(json: PageCell): Found[] {
  try {
    const found = JSON.parse(String(json ?? '{}')) as Record<string, unknown>;
    return Object.entries(found).map(([kind, times]) => ({ kind, times: Number(times) }));
  } catch {
    return [];
  }
}
