/** The rows of a moment that the filters of a query leave. docs/serve.md ("Filters") has the rules. */

import type { ServedJob } from '../job-list.ts';
import type { Connection } from '../store/read.ts';
import type { Filters } from './filters/asked.ts';
import { openScan, type RowNumbers } from './filters/scan.ts';
import type { Moment, Pages } from './pages.ts';

export { type Filters, filtersOf } from './filters/asked.ts';

/** The rows of a moment that match, in its order. */
export type Matches = {
  readonly moment: Moment;
  readonly total: number;
  /** For `readMatches` alone. */
  readonly numbers: RowNumbers;
};

export type Filtered = {
  /**
   * Looks at every row of the moment, unless it was asked the same lately.
   * @param signal aborted where nobody waits for it any longer.
   * @returns `busy` where too many are asking: try again a little later; `stopped` where `signal` was aborted.
   */
  filtered(moment: Moment, filters: Filters, signal?: AbortSignal): Promise<Matches | 'busy' | 'stopped'>;
  /** The JSON of each row, from `offset` on, `limit` at most. */
  readMatches(matches: Matches, offset: number, limit: number): string[];
  close(): Promise<void>;
};

/** @param connection to a mirror; `pages` those of the same. */
export function openFiltered(connection: Connection, jobs: readonly ServedJob[], pages: Pages): Filtered {
  const scan = openScan(connection, jobs, pages);
  return {
    async filtered(moment, filters, signal) {
      const numbers = scan(moment, filters, () => signal?.aborted !== true);
      return numbers ? { moment, total: numbers.length, numbers } : 'stopped';
    },
    readMatches: ({ moment, numbers }, offset, limit) =>
      pages.readRows(moment, numbers.subarray(offset, offset + limit)).filter((row) => row !== undefined),
    async close() {},
  };
}
