/** Query processes for all viewers of the page: some at a time, one viewer after another, and some that wait for questions. */

import { Failure } from '../../errors.ts';
import { type ServedProcess, type ServedQueries, startServedProcess } from '../../reading/query.ts';
import { openFairShares } from './fair-shares.ts';

export type QueryProcesses = {
  /**
   * Waits for a process. The next free one is for the viewer who has the fewest, then for who waits longest; one who waits in
   * vain takes it from who has most.
   * @param owner the viewer.
   * @param before what has to be waited for first; meanwhile the question counts as one that waits.
   * @returns undefined where too many wait already.
   * @throws Failure `incomplete` where `gone` ended the waiting or the question had to give way, and what `before` throws.
   */
  take(
    owner: string,
    gone: AbortSignal,
    before?: (signal: AbortSignal) => Promise<void>,
  ): Promise<Loan | undefined>;
  /** Somebody is about to ask: the first processes are started. */
  warm(): void;
  close(): void;
};

/** For one question. */
export type Loan = {
  readonly queries: ServedQueries;
  /** Aborted where the client has gone, or another viewer needs the process: what is asked has to end then. */
  readonly signal: AbortSignal;
  /** @returns what to say instead of `thrown`, where the question had to give way. */
  explain(thrown: unknown): unknown;
  giveBack(): void;
};

export type ProcessBounds = {
  /** Questions at the same time. */
  readonly running: number;
  /** Questions that wait for those. */
  readonly waiting: number;
  /** Processes that wait for the next questions: a view asks several at once. */
  readonly warm: number;
  /** For how long processes are kept though nothing is asked. */
  readonly idleMs: number;
  /** How long a viewer without a process waits before it takes one from another: most answers are there by then. */
  readonly patienceMs: number;
};

export const usualBounds: ProcessBounds = {
  running: 4,
  waiting: 32,
  warm: 2,
  idleMs: 120_000,
  patienceMs: 300,
};

type Turn = { readonly owner: string; begin(process: ServedProcess | undefined): void };

export function openQueryProcesses(
  bounds: ProcessBounds = usualBounds,
  start: () => ServedProcess = startServedProcess,
): QueryProcesses {
  const questions = openFairShares(bounds.running + bounds.waiting);
  const running = openFairShares(bounds.running);
  const busy = new Set<ServedProcess>();
  const turns = new Set<Turn>();
  let spares: ServedProcess[] = [];
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;

  function next(): ServedProcess {
    spares = spares.filter((process) => process.isFree());
    const process = spares.shift() ?? start();
    busy.add(process);
    // One more waits for who takes a place from another.
    warm();
    return process;
  }

  function giveBack(process: ServedProcess): void {
    busy.delete(process);
    if (!isClosed && process.isFree()) spares.push(process);
    else process.end();
    while (spares.length > bounds.warm) spares.shift()?.end();
    if (isClosed) return;
    const turn = fairest();
    if (turn) turn.begin(next());
    else warm();
  }

  /** Whose turn it is. */
  function fairest(): Turn | undefined {
    const [first, ...others] = turns;
    return others.reduce(
      (best, turn) => (best && running.heldBy(turn.owner) < running.heldBy(best.owner) ? turn : best),
      first,
    );
  }

  function warm(): void {
    if (isClosed) return;
    spares = spares.filter((process) => process.isFree());
    while (spares.length < bounds.warm && busy.size + spares.length <= bounds.running) spares.push(start());
    clearTimeout(idle);
    if (busy.size === 0) idle = setTimeout(endSpares, bounds.idleMs).unref();
  }

  function endSpares(): void {
    for (const process of spares) process.end();
    spares = [];
  }

  /** @returns undefined where `signal` ends the waiting, or the service. */
  function turn(owner: string, signal: AbortSignal): Promise<ServedProcess | undefined> {
    return new Promise((resolve) => {
      const impatient = setTimeout(() => running.makeRoom(owner), bounds.patienceMs);
      const turn: Turn = {
        owner,
        begin(process) {
          turns.delete(turn);
          clearTimeout(impatient);
          signal.removeEventListener('abort', leave);
          resolve(process);
        },
      };
      const leave = () => turn.begin(undefined);
      turns.add(turn);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  async function processFor(owner: string, signal: AbortSignal): Promise<ServedProcess> {
    const process =
      isClosed || signal.aborted
        ? undefined
        : busy.size < bounds.running
          ? next()
          : await turn(owner, signal);
    if (!process) throw new Failure('incomplete', 'stopped');
    return process;
  }

  return {
    warm,
    async take(owner, gone, before = async () => undefined) {
      const ended = new AbortController();
      const giveWay = () => ended.abort();
      const question = questions.take(owner, giveWay);
      if (!question) return undefined;
      const signal = AbortSignal.any([gone, ended.signal]);
      const explain = (thrown: unknown) => (ended.signal.aborted && !gone.aborted ? gaveWay() : thrown);
      try {
        await before(signal);
        const process = await processFor(owner, signal);
        // There are as many places as processes that may be busy.
        const place = running.take(owner, giveWay);
        const giveBackOnce = () => {
          if (!busy.has(process)) return;
          place?.leave();
          question.leave();
          giveBack(process);
        };
        return { queries: process, signal, explain, giveBack: giveBackOnce };
      } catch (thrown) {
        question.leave();
        throw explain(thrown);
      }
    },
    close() {
      isClosed = true;
      clearTimeout(idle);
      endSpares();
      for (const process of busy) process.end();
      for (const turn of [...turns]) turn.begin(undefined);
    },
  };
}

const gaveWay = () =>
  new Failure(
    'incomplete',
    'the question was ended to make room for another viewer: you had the most questions at the same time; ask again',
  );
