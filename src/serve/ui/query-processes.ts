/** Query processes for the viewers of the page and the accounts of `/mirror/v1`, which count as viewers here: some at a time, in turns, and some idle. */

import type { Clock } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import { type ServedProcess, type ServedQueries, startServedProcess } from '../../reading/query.ts';
import { openFairShares } from '../fair-shares.ts';

export type QueryProcesses = ReturnType<typeof openQueryProcesses>;

/** A process for one query. */
export type Loan = {
  readonly queries: ServedQueries;
  /** Aborted where the client has gone, or another viewer needs the process: the query has to end then. */
  readonly signal: AbortSignal;
  /** @returns the error to show instead of `thrown`, where the query had to give way. */
  explain(thrown: unknown): unknown;
  giveBack(): void;
};

type ProcessBounds = {
  /** Queries at the same time. */
  readonly running: number;
  /** Queries that wait for those. */
  readonly waiting: number;
  /** Processes that wait for queries: a view sends several at once. */
  readonly warm: number;
  /** For how long processes are kept though there is no query. */
  readonly idleMs: number;
  /** How long a viewer without a process waits before it takes one from another: most queries are done by then. */
  readonly evictAfterMs: number;
};

const usualBounds: ProcessBounds = { running: 4, waiting: 32, warm: 2, idleMs: 120_000, evictAfterMs: 300 };

/** A query that waits for a process. */
type Waiting = { readonly owner: string; begin(process: ServedProcess | undefined): void };

export function openQueryProcesses(
  clock: Pick<Clock, 'after'>,
  bounds: ProcessBounds = usualBounds,
  start: () => ServedProcess = startServedProcess,
) {
  const places = openFairShares(bounds.running + bounds.waiting);
  const running = openFairShares(bounds.running);
  const busy = new Set<ServedProcess>();
  const waiting = new Set<Waiting>();
  let spares: ServedProcess[] = [];
  let cancelIdle: (() => void) | undefined;
  let isClosed = false;

  function next(): ServedProcess {
    spares = spares.filter((process) => process.isFree());
    const process = spares.shift() ?? start();
    busy.add(process);
    // One more is ready for a viewer who takes a place from another.
    warm();
    return process;
  }

  function giveBack(process: ServedProcess): void {
    busy.delete(process);
    if (!isClosed && process.isFree()) spares.push(process);
    else process.end();
    // Idle ones are kept: a start takes longer than most answers.
    while (busy.size + spares.length > bounds.running + 1) spares.shift()?.end();
    if (isClosed) return;
    const fewest = Math.min(...[...waiting].map(({ owner }) => running.heldBy(owner)));
    const turn = [...waiting].find(({ owner }) => running.heldBy(owner) === fewest);
    if (turn) turn.begin(next());
    else warm();
  }

  /** Starts the first processes, where a query is to be expected. */
  function warm(): void {
    if (isClosed) return;
    spares = spares.filter((process) => process.isFree());
    while (spares.length < bounds.warm && busy.size + spares.length <= bounds.running) spares.push(start());
    cancelIdle?.();
    if (busy.size === 0) cancelIdle = clock.after(bounds.idleMs, endSpares);
  }

  function endSpares(): void {
    for (const process of spares) process.end();
    spares = [];
  }

  /** @returns undefined where `signal` ends the waiting, or the service. */
  function wait(owner: string, signal: AbortSignal): Promise<ServedProcess | undefined> {
    return new Promise((resolve) => {
      const cancel = clock.after(bounds.evictAfterMs, () => running.makeRoom(owner));
      const turn: Waiting = {
        owner,
        begin(process) {
          waiting.delete(turn);
          cancel();
          signal.removeEventListener('abort', leave);
          resolve(process);
        },
      };
      const leave = () => turn.begin(undefined);
      waiting.add(turn);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  async function processFor(owner: string, signal: AbortSignal): Promise<ServedProcess> {
    const isOver = isClosed || signal.aborted;
    const isFull = busy.size >= bounds.running;
    const process = isOver ? undefined : isFull ? await wait(owner, signal) : next();
    if (!process) throw new Failure('incomplete', 'stopped');
    return process;
  }

  return {
    warm,
    /**
     * Waits for a process. The next free one is for the viewer who has the fewest, then for the request that waits longest; a
     * viewer who waits in vain takes one from the viewer who has most.
     * @param owner the viewer.
     * @param before what has to be waited for first; meanwhile the query counts as one that waits.
     * @returns undefined where too many wait already.
     * @throws Failure `incomplete` where `gone` ended the waiting or the query had to give way, and what `before` throws.
     */
    async take(
      owner: string,
      gone: AbortSignal,
      before?: (signal: AbortSignal) => Promise<void>,
    ): Promise<Loan | undefined> {
      const ended = new AbortController();
      const giveWay = () => ended.abort();
      const place = places.take(owner, giveWay);
      if (!place) return undefined;
      const signal = AbortSignal.any([gone, ended.signal]);
      const explain = (thrown: unknown) => (ended.signal.aborted && !gone.aborted ? gaveWay() : thrown);
      try {
        await before?.(signal);
        const process = await processFor(owner, signal);
        // There are as many shares as processes that may be busy.
        const share = running.take(owner, giveWay);
        // A second call would free the process of another query.
        let isBack = false;
        const giveBackOnce = () => {
          if (isBack) return;
          isBack = true;
          share?.leave();
          place.leave();
          giveBack(process);
        };
        return { queries: process, signal, explain, giveBack: giveBackOnce };
      } catch (thrown) {
        place.leave();
        throw explain(thrown);
      }
    },
    close(): void {
      isClosed = true;
      cancelIdle?.();
      endSpares();
      for (const process of busy) process.end();
      for (const turn of [...waiting]) turn.begin(undefined);
    },
  };
}

const gaveWay = () =>
  new Failure(
    'incomplete',
    'the question was ended to make room for another viewer: you had the most questions at the same time; ask again',
  );
