/** What the page is told of the mirror as a whole, read on a thread of its own, once for all who ask. */

import type { Clock } from '../../clock.ts';
import type { Dataset, ListedJob } from '../../job-list.ts';
import type { Spending } from '../../plan.ts';
import { threadOnDemand } from '../../worker.ts';
import type { Overview } from './wire.ts';

/** What the thread reads with. */
export type ReaderParts = {
  readonly dir: string;
  readonly jobs: readonly ListedJob[];
  readonly datasets: readonly Dataset[];
  readonly spending: Spending;
  /** Of market-mirror. */
  readonly version: string;
  readonly access: Overview['access'];
};

export type ReaderRequest = {
  readonly what: 'overview' | 'schema';
  readonly parts: ReaderParts;
  readonly now: number;
};

export type Reader = {
  /** As JSON. @throws Failure as reading the mirror does. */
  read(what: ReaderRequest['what']): Promise<string>;
  close(): void;
};

/** An answer is kept so long where nothing was committed meanwhile: ages and plans go on all the same. */
const KEPT_MS = 1_000;

/** @param version another number when something was committed; undefined while the mirror cannot be read. */
export function openReader(
  parts: ReaderParts,
  clock: Pick<Clock, 'now' | 'monotonic'>,
  version: () => number | undefined,
): Reader {
  const kept = new Map<string, { json: Promise<string>; at: number; version: number | undefined }>();
  const thread = threadOnDemand<ReaderRequest, string>('overview', 'the thread that reads for the page');
  let turn: Promise<unknown> = Promise.resolve();

  return {
    async read(what) {
      const known = kept.get(what);
      const present = version();
      if (known && known.version === present && clock.monotonic() - known.at < KEPT_MS)
        return await known.json;
      const json = turn.then(() => thread.call({ what, parts, now: clock.now() }));
      turn = json.catch(() => kept.delete(what));
      kept.set(what, { json, at: clock.monotonic(), version: present });
      return await json;
    },
    close: thread.close,
  };
}
