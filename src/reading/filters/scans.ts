/** Scans that are asked for: one at a time, in turn, each shared by all who ask for the same, and ended when none is left. */

import type { Moment } from '../pages.ts';
import type { Filters } from './asked.ts';
import type { RowNumbers } from './scan.ts';
import type { ScanThread } from './thread.ts';

/** Different ones, the one under way among them: whoever came then would wait for long. */
const MOST_WAITING = 8;

type SharedScan = {
  result: Promise<RowNumbers | undefined>;
  /** How many wait for it. */
  waiting: number;
  isRunning: boolean;
};

export type Scans = {
  /**
   * @param name the same for the same moment and filters.
   * @param signal aborted where this one waits no longer.
   * @throws Failure as reading the mirror does.
   */
  ask(
    name: string,
    moment: Moment,
    filters: Filters,
    signal?: AbortSignal,
  ): Promise<RowNumbers | 'busy' | 'stopped'>;
};

/** @param found told of each result, before those who wait for it. */
export function scansOn(
  thread: Pick<ScanThread, 'scan' | 'stop'>,
  found: (name: string, numbers: RowNumbers) => void,
): Scans {
  const asked = new Map<string, SharedScan>();
  let last: Promise<unknown> = Promise.resolve();

  function begin(name: string, moment: Moment, filters: Filters): SharedScan {
    const scan: SharedScan = { result: Promise.resolve(undefined), waiting: 0, isRunning: false };
    const run = async () => {
      if (scan.waiting === 0) return undefined;
      scan.isRunning = true;
      try {
        const numbers = await thread.scan(moment, filters);
        if (numbers) found(name, numbers);
        return numbers;
      } finally {
        scan.isRunning = false;
        forget(name, scan);
      }
    };
    scan.result = last.then(run);
    last = scan.result.catch(() => undefined);
    asked.set(name, scan);
    return scan;
  }

  function leave(name: string, scan: SharedScan): void {
    scan.waiting -= 1;
    if (scan.waiting > 0) return;
    if (scan.isRunning) thread.stop();
    forget(name, scan);
  }

  /** Who asks for the same from now on begins another. */
  function forget(name: string, scan: SharedScan): void {
    if (asked.get(name) === scan) asked.delete(name);
  }

  return {
    async ask(name, moment, filters, signal) {
      if (signal?.aborted) return 'stopped';
      const known = asked.get(name);
      if (!known && asked.size >= MOST_WAITING) return 'busy';
      const scan = known ?? begin(name, moment, filters);
      scan.waiting += 1;
      try {
        return (await Promise.race([scan.result, abortOf(signal)])) ?? 'stopped';
      } finally {
        leave(name, scan);
      }
    },
  };
}

function abortOf(signal: AbortSignal | undefined): Promise<undefined> {
  return new Promise((resolve) =>
    signal?.addEventListener('abort', () => resolve(undefined), { once: true }),
  );
}
