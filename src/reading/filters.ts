/** The rows of a moment that the filters of a query leave. docs/serve.md ("Filters") has the rules. */

import { byteCache } from '../byte-cache.ts';
import type { ListedJob } from '../job-list.ts';
import type { Connection } from '../store/read.ts';
import { watchFiles } from '../store/sqlite-files.ts';
import type { Filters } from './filters/asked.ts';
import type { RowNumbers } from './filters/scan.ts';
import { scansOn } from './filters/scans.ts';
import { scanThread } from './filters/thread.ts';
import type { Frame, Moment, Pages } from './pages.ts';

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
   * Has every row of the moment looked at by a thread of its own, unless it was asked the same lately.
   * @param account whose client asks: accounts take turns.
   * @param signal aborted where nobody waits for it any longer.
   * @returns `busy` where too many ask: try again a little later; `stopped` where `signal` was
   * aborted, or history no longer reaches to the moment.
   * @throws Failure as reading the mirror does, and `disk` where another file has taken its place.
   */
  filtered(
    moment: Moment,
    filters: Filters,
    account: string,
    signal?: AbortSignal,
  ): Promise<Matches | 'busy' | 'stopped'>;
  /** The rows from `offset` on, `limit` at most, as `readPage` gives them. */
  readMatches(matches: Matches, offset: number, limit: number, frame: Frame): Buffer;
  /** Ends the thread; whoever waits is told by a Failure. */
  close(): void;
};

/** Of the numbers that are kept: a million rows are four million. */
const MOST_BYTES = 32 * 1024 ** 2;

/** @param connection to a mirror; `pages` those of the same. */
export function openFiltered(
  connection: Connection,
  jobs: readonly ListedJob[],
  pages: Pick<Pages, 'readNumbered'>,
): Filtered {
  const kept = byteCache<RowNumbers>(MOST_BYTES, ({ byteLength }) => byteLength);
  const lost = watchFiles(connection.name);
  const thread = scanThread(connection.name, jobs);
  const scans = scansOn(thread, (name, numbers) => {
    // The thread may have opened another mirror than the one that the moment is of.
    const loss = lost();
    if (loss) throw loss;
    kept.set(name, numbers);
  });

  return {
    async filtered(moment, filters, account, signal) {
      const name = [moment.job, moment.seq, moment.unversionedSeq, filters.key].join(' ');
      const numbers = kept.get(name) ?? (await scans.ask(name, moment, filters, account, signal));
      return typeof numbers === 'string' ? numbers : { moment, total: numbers.length, numbers };
    },
    readMatches: ({ moment, numbers }, offset, limit, frame) =>
      pages.readNumbered(moment, numbers.subarray(offset, offset + limit), frame),
    close: thread.close,
  };
}
