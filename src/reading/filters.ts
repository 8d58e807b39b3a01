/** The rows of a moment that the filters of a query leave. docs/serve.md ("Filters") has the rules. */

import { byteCache } from '../byte-cache.ts';
import type { ListedJob } from '../job-list.ts';
import type { Connection } from '../store/read.ts';
import { watchFiles } from '../store/sqlite-files.ts';
import { threadOnDemand } from '../worker.ts';
import type { Filters } from './filters/match.ts';
import type { Rowids, ScanRequest } from './filters/scan.ts';
import type { Frame, Moment, Pages } from './pages.ts';

export { type Filters, filtersOf } from './filters/match.ts';

/** The rows of a moment that match, in its order. */
export type Matches = {
  readonly moment: Moment;
  readonly total: number;
  /** For `readMatches` alone. */
  readonly numbers: Rowids;
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
const MAX_CACHE_BYTES = 32 * 1024 ** 2;

/** @param connection to a mirror; `pages` those of the same. */
export function openFiltered(
  connection: Connection,
  jobs: readonly ListedJob[],
  pages: Pick<Pages, 'readRowids'>,
): Filtered {
  const kept = byteCache<Rowids>(MAX_CACHE_BYTES, ({ byteLength }) => byteLength);
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
      pages.readRowids(moment, numbers.subarray(offset, offset + limit), frame),
    close: thread.close,
  };
}

/** Different scans, the running one among them: whoever came then would wait for long. */
const MAX_SCANS = 8;

type SharedScan = {
  /** The same for the same moment and filters. */
  readonly name: string;
  /** That of the client who asked first. */
  readonly account: string;
  readonly result: Promise<Rowids | 'busy' | 'stopped'>;
  /** Scans, and settles `result`. */
  run(): Promise<void>;
  /** Gives its place to another. */
  evict(): void;
  /** How many clients wait for it. */
  waiting: number;
};

type Scans = {
  /**
   * @param name the same for the same moment and filters.
   * @param account whose client asks.
   * @param signal aborted where this client waits no longer.
   * @returns `busy` where too many scans wait, `stopped` where nobody waits or the moment is gone.
   * @throws Failure as reading the mirror does.
   */
  ask(
    name: string,
    moment: Moment,
    filters: Filters,
    account: string,
    signal?: AbortSignal,
  ): Promise<Rowids | 'busy' | 'stopped'>;
};

/**
 * Scans that clients ask for: one at a time, each shared by all who ask for the same, and ended when none of them is left.
 * Accounts take turns, and one that has many scans waiting makes room for one that has fewer.
 * @param found called with each result, before those who wait for it have it.
 */
export function scansOn(
  thread: Pick<ScanThread, 'scan' | 'stop'>,
  found: (name: string, numbers: Rowids) => void,
): Scans {
  /** By name, oldest first. */
  const scans = new Map<string, SharedScan>();
  let running: SharedScan | undefined;
  /** Accounts that had a turn while others waited, the latest last. */
  const served = new Set<string>();

  function begin(name: string, moment: Moment, filters: Filters, account: string): SharedScan {
    let settle: (result: Rowids | 'busy' | 'stopped' | Promise<never>) => void = () => {};
    const result = new Promise<Rowids | 'busy' | 'stopped'>((resolve) => {
      settle = resolve;
    });
    // Its clients may have gone before it fails.
    result.catch(() => undefined);
    const scan: SharedScan = {
      name,
      account,
      result,
      waiting: 0,
      async run() {
        try {
          const numbers = await thread.scan(moment, filters);
          if (numbers) found(name, numbers);
          settle(numbers ?? 'stopped');
        } catch (thrown) {
          settle(Promise.reject(thrown));
        }
      },
      evict: () => settle('busy'),
    };
    scans.set(name, scan);
    return scan;
  }

  /** The account with most scans gives up its latest, unless this one would have as many then. */
  function makeRoom(account: string): boolean {
    if (scans.size < MAX_SCANS) return true;
    const counts = new Map<string, number>();
    for (const scan of scans.values()) counts.set(scan.account, (counts.get(scan.account) ?? 0) + 1);
    const victim = [...scans.values()]
      .filter((scan) => scan !== running)
      .reduce((worst, scan) =>
        (counts.get(scan.account) ?? 0) >= (counts.get(worst.account) ?? 0) ? scan : worst,
      );
    if ((counts.get(victim.account) ?? 0) <= (counts.get(account) ?? 0) + 1) return false;
    victim.evict();
    return scans.delete(victim.name);
  }

  /** Runs the oldest scan of the account whose last turn is longest ago. */
  function runNext(): void {
    if (running || scans.size === 0) return;
    const turns = [...served];
    const next = [...scans.values()].reduce((first, scan) =>
      turns.indexOf(scan.account) < turns.indexOf(first.account) ? scan : first,
    );
    served.delete(next.account);
    served.add(next.account);
    running = next;
    void next.run().then(() => {
      running = undefined;
      forget(next);
      if (scans.size === 0) served.clear();
      runNext();
    });
  }

  function leave(scan: SharedScan): void {
    scan.waiting -= 1;
    if (scan.waiting > 0) return;
    if (scan === running) thread.stop();
    forget(scan);
  }

  /** Who asks for the same from now on begins another. */
  function forget(scan: SharedScan): void {
    if (scans.get(scan.name) === scan) scans.delete(scan.name);
  }

  return {
    async ask(name, moment, filters, account, signal) {
      if (signal?.aborted) return 'stopped';
      const known = scans.get(name);
      if (!known && !makeRoom(account)) return 'busy';
      const scan = known ?? begin(name, moment, filters, account);
      scan.waiting += 1;
      runNext();
      try {
        return (await Promise.race([scan.result, abortOf(signal)])) ?? 'stopped';
      } finally {
        leave(scan);
      }
    },
  };
}

function abortOf(signal: AbortSignal | undefined): Promise<undefined> {
  return new Promise((resolve) =>
    signal?.addEventListener('abort', () => resolve(undefined), { once: true }),
  );
}

/** Scans on a thread of its own, so that whoever serves never stands still. */
type ScanThread = {
  /**
   * One at a time. The thread is started by the first.
   * @returns undefined where it was stopped. @throws Failure as reading the mirror does.
   */
  scan(moment: Moment, filters: Filters): Promise<Rowids | undefined>;
  /** Ends the scan that is under way. */
  stop(): void;
  close(): void;
};

/** @param file the mirror. */
export function scanThread(file: string, jobs: readonly ListedJob[]): ScanThread {
  const wanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const thread = threadOnDemand<ScanRequest, Rowids | undefined>('filter', 'the thread that filters rows');
  let id = 0;
  return {
    async scan(moment, filters) {
      id += 1;
      Atomics.store(wanted, 0, id);
      return await thread.call({ file, jobs, moment, filters, id, wanted });
    },
    stop: () => void Atomics.store(wanted, 0, 0),
    close: thread.close,
  };
}
