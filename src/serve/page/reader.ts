/** What the page is told of the mirror as a whole, read on a thread of its own, once for all who ask. */

import { extname } from 'node:path';
import type { Worker } from 'node:worker_threads';
import type { Clock } from '../../clock.ts';
import { Failure, type FailureSent, receivedFailure } from '../../errors.ts';
import type { Dataset, ServedJob } from '../../job-list.ts';
import type { Spending } from '../../plan.ts';
import { askThread, startThread } from '../../thread.ts';

/** What the thread is started with. */
export type ReaderParts = {
  readonly dir: string;
  readonly jobs: readonly ServedJob[];
  readonly datasets: readonly Dataset[];
  readonly spending: Spending;
  /** Of market-mirror. */
  readonly version: string;
};

export type AskedOfReader = { readonly what: 'overview' | 'schema'; readonly now: number };

/** `json`: an Overview or a Schema. */
export type AnsweredByReader = { json: string } | FailureSent;

export type Reader = {
  /** As JSON. @throws Failure as reading the mirror does. */
  read(what: AskedOfReader['what']): Promise<string>;
  close(): Promise<void>;
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
  let worker: Worker | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  async function ask(what: AskedOfReader['what']): Promise<string> {
    if (isClosed) throw ended();
    worker ??= startThread(new URL(`reader/worker${extname(import.meta.url)}`, import.meta.url), parts);
    const asked: AskedOfReader = { what, now: clock.now() };
    try {
      const answered = await askThread<AnsweredByReader>(worker, asked, ended);
      if ('failed' in answered) throw receivedFailure(answered);
      return answered.json;
    } catch (thrown) {
      // What is wrong with a thread may be right with the next one.
      if (!(thrown instanceof Failure) || thrown.kind === 'bug') {
        await worker?.terminate();
        worker = undefined;
      }
      throw thrown;
    }
  }

  return {
    async read(what) {
      const known = kept.get(what);
      const present = version();
      if (known && known.version === present && clock.monotonic() - known.at < KEPT_MS)
        return await known.json;
      const json = turn.then(() => ask(what));
      turn = json.catch(() => kept.delete(what));
      kept.set(what, { json, at: clock.monotonic(), version: present });
      return await json;
    },
    async close() {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

const ended = () => new Failure('incomplete', 'the thread that reads for the page has ended');
