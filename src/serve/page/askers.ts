/** Processes that answer the page's questions: some at a time, and some that wait already for the next. */

import { type Ask, type Asker, startAsker } from '../../reading/query.ts';

export type Askers = {
  /** Waits for its turn. Undefined where too many wait already, or `signal` was aborted before. */
  take(signal: AbortSignal): Promise<Lease | undefined>;
  /** Somebody is about to ask: the first processes are started. */
  warm(): void;
  close(): void;
};

/** For one question. */
export type Lease = { readonly ask: Ask; giveBack(): void };

export type AskerBounds = {
  /** Questions at the same time. */
  readonly most: number;
  /** Questions that wait for those. */
  readonly waiting: number;
  /** Processes that wait for the next questions: a view asks several at once. */
  readonly warm: number;
  /** For how long processes are kept though nothing is asked. */
  readonly idleMs: number;
};

export const usualAskers: AskerBounds = { most: 4, waiting: 32, warm: 2, idleMs: 120_000 };

export function openAskers(bounds: AskerBounds = usualAskers, start: () => Asker = startAsker): Askers {
  const busy = new Set<Asker>();
  const queue = new Set<(asker: Asker | undefined) => void>();
  let spares: Asker[] = [];
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  function next(): Asker {
    spares = spares.filter((asker) => asker.isFree());
    const asker = spares.pop() ?? start();
    busy.add(asker);
    clearTimeout(idle);
    return asker;
  }

  function giveBack(asker: Asker): void {
    if (!busy.delete(asker)) return;
    if (!isClosed && asker.isFree()) spares.push(asker);
    else asker.end();
    if (isClosed) return;
    const [first] = queue;
    if (first) {
      queue.delete(first);
      first(next());
    } else warm();
  }

  function warm(): void {
    if (isClosed) return;
    spares = spares.filter((asker) => asker.isFree());
    while (spares.length < bounds.warm && busy.size + spares.length < bounds.most) spares.push(start());
    clearTimeout(idle);
    if (busy.size === 0) idle = setTimeout(endSpares, bounds.idleMs).unref();
  }

  function endSpares(): void {
    for (const asker of spares) asker.end();
    spares = [];
  }

  function turn(signal: AbortSignal): Promise<Asker | undefined> {
    return new Promise((resolve) => {
      const leave = () => {
        if (queue.delete(take)) resolve(undefined);
      };
      const take = (asker: Asker | undefined) => {
        signal.removeEventListener('abort', leave);
        resolve(asker);
      };
      queue.add(take);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  return {
    warm,
    async take(signal) {
      if (isClosed || signal.aborted) return undefined;
      if (busy.size >= bounds.most && queue.size >= bounds.waiting) return undefined;
      const asker = busy.size < bounds.most ? next() : await turn(signal);
      return asker && { ask: asker.ask, giveBack: () => giveBack(asker) };
    },
    close() {
      isClosed = true;
      clearTimeout(idle);
      endSpares();
      for (const asker of busy) asker.end();
      for (const take of queue) take(undefined);
      queue.clear();
    },
  };
}
