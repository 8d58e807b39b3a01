/** The rows of a moment that the filters of a query leave. docs/serve.md ("Filters") has the rules. */

import { byteCache } from '../byte-cache.ts';
import type { ListedJob } from '../job-list.ts';
import type { Connection } from '../store/read.ts';
import { watchFiles } from '../store/sqlite-files.ts';
import { threadOnDemand } from '../worker.ts';
import type { Filters } from './filters/match.ts';
import type { RowNumbers, ScanRequest } from './filters/scan.ts';
import type { Moment } from './pages.ts';

export { type Filters, filtersOf } from './filters/match.ts';

/** RowNumbers in the order of the moment. `busy`: too many scans wait, try again. `stopped`: the client has left, or the moment is gone from the history. */
export type ScanResult = RowNumbers | 'busy' | 'stopped';

/** A million numbers are four million bytes. */
const MAX_CACHE_BYTES = 32 * 1024 ** 2;

export type RowFilter = ReturnType<typeof openRowFilter>;

/** @param connection to a mirror. */
export function openRowFilter(connection: Connection, jobs: readonly ListedJob[]) {
  const cache = byteCache<RowNumbers>(MAX_CACHE_BYTES, ({ byteLength }) => byteLength);
  const lost = watchFiles(connection.name);
  const thread = scanThread(connection.name, jobs);
  const scan = scanQueue(thread, (name, numbers) => {
    // The thread may have opened another mirror than the one that the moment is of.
    const loss = lost();
    if (loss) throw loss;
    cache.set(name, numbers);
  });
  return {
    /**
     * Scans every row of the moment on a thread, unless the same was asked lately.
     * @param account of the client: accounts take turns.
     * @param signal aborted where the client waits no longer.
     * @throws Failure as reading the mirror does, and `disk` where another file has taken its place.
     */
    async find(moment: Moment, filters: Filters, account: string, signal?: AbortSignal): Promise<ScanResult> {
      const name = [moment.job, moment.seq, moment.unversionedSeq, filters.key].join(' ');
      return cache.get(name) ?? (await scan(name, moment, filters, account, signal));
    },
    /** Ends the thread; clients that wait get a Failure. */
    close: thread.close,
  };
}

/** Different scans, the running one among them: another client would wait for long. */
const MAX_SCANS = 8;

type SharedScan = {
  /** The same for the same moment and filters. */
  readonly name: string;
  readonly moment: Moment;
  readonly filters: Filters;
  /** That of the client who came first. */
  readonly account: string;
  readonly result: Promise<ScanResult>;
  finish(result: ScanResult | Promise<never>): void;
  /** How many clients wait for it. */
  waiting: number;
};

/**
 * One scan at a time, each shared by all clients who ask for the same, and ended when none of them is left. Accounts take turns,
 * and one that has many scans waiting makes room for one that has fewer.
 * @param found called with each result, before those who wait for it have it.
 */
export function scanQueue(
  thread: Pick<ReturnType<typeof scanThread>, 'scan' | 'stop'>,
  found: (name: string, numbers: RowNumbers) => void,
) {
  /** By name, oldest first. */
  const scans = new Map<string, SharedScan>();
  let running: SharedScan | undefined;
  /** Accounts that had a turn while others waited, the latest last. */
  const served = new Set<string>();

  function add(name: string, moment: Moment, filters: Filters, account: string): SharedScan {
    let finish: SharedScan['finish'] = () => {};
    const result = new Promise<ScanResult>((resolve) => {
      finish = resolve;
    });
    // Its clients may have gone before it fails.
    result.catch(() => undefined);
    const scan = { name, moment, filters, account, result, finish, waiting: 0 };
    scans.set(name, scan);
    return scan;
  }

  /** The account with most scans gives up its latest, unless this one would have as many then. */
  function makeRoom(account: string): boolean {
    if (scans.size < MAX_SCANS) return true;
    const all = [...scans.values()];
    const countOf = (owner: string) => all.filter((scan) => scan.account === owner).length;
    const victim = all
      .filter((scan) => scan !== running)
      .reduce((worst, scan) => (countOf(scan.account) >= countOf(worst.account) ? scan : worst));
    if (countOf(victim.account) <= countOf(account) + 1) return false;
    victim.finish('busy');
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
    void run(next).then(() => {
      running = undefined;
      forget(next);
      if (scans.size === 0) served.clear();
      runNext();
    });
  }

  async function run({ name, moment, filters, finish }: SharedScan): Promise<void> {
    try {
      const numbers = await thread.scan(moment, filters);
      if (numbers) found(name, numbers);
      finish(numbers ?? 'stopped');
    } catch (thrown) {
      finish(Promise.reject(thrown));
    }
  }

  function leave(scan: SharedScan): void {
    scan.waiting -= 1;
    if (scan.waiting > 0) return;
    if (scan === running) thread.stop();
    forget(scan);
  }

  /** A client that asks for the same from now on begins another. */
  function forget(scan: SharedScan): void {
    if (scans.get(scan.name) === scan) scans.delete(scan.name);
  }

  return async (
    name: string,
    moment: Moment,
    filters: Filters,
    account: string,
    signal?: AbortSignal,
  ): Promise<ScanResult> => {
    if (signal?.aborted) return 'stopped';
    const known = scans.get(name);
    if (!known && !makeRoom(account)) return 'busy';
    const scan = known ?? add(name, moment, filters, account);
    scan.waiting += 1;
    runNext();
    const aborted = new Promise<'stopped'>((resolve) =>
      signal?.addEventListener('abort', () => resolve('stopped'), { once: true }),
    );
    return await Promise.race([scan.result, aborted]).finally(() => leave(scan));
  };
}

/** Scans on a thread, so that the service never stands still; the first one starts it. @param file the mirror. */
export function scanThread(file: string, jobs: readonly ListedJob[]) {
  const wanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const thread = threadOnDemand<ScanRequest, RowNumbers | undefined>(
    'filter',
    'the thread that filters rows',
  );
  let id = 0;
  return {
    /** One at a time. @returns undefined where it was stopped. @throws Failure as reading the mirror does. */
    async scan(moment: Moment, filters: Filters): Promise<RowNumbers | undefined> {
      id += 1;
      Atomics.store(wanted, 0, id);
      return await thread.call({ file, jobs, moment, filters, id, wanted });
    },
    /** Ends the scan that is under way. */
    stop: () => void Atomics.store(wanted, 0, 0),
    close: thread.close,
  };
}
