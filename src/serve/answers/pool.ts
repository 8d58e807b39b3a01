/**
 * The query processes of the service: nothing that takes long is read on the thread that answers. One process is for what is
 * quick: list pages, rows by key, and what the page shows of the mirror. The others take questions, first come, first served, at a
 * lower priority; one account has half of them at most.
 */

import type { Clock } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import { type ServedProcess, type ServedQueries, startServedProcess } from '../../reading/query.ts';

export type Pool = ReturnType<typeof openPool>;

/** A process for one question. */
export type Loan = { readonly queries: ServedQueries; giveBack(): void };

export type PoolBounds = {
  /** Processes for questions. */
  readonly processes: number;
  /** Questions that wait for one of them, and how long. */
  readonly waiting: number;
  readonly waitMs: number;
  /** For how long processes are kept though there is no question: a start takes longer than most answers. */
  readonly idleMs: number;
};

/** A connection on which nothing is sent for long is closed. */
const usualBounds: PoolBounds = { processes: 4, waiting: 20, waitMs: 20_000, idleMs: 120_000 };

type Waiting = { readonly account: string; begin(loan: Loan | undefined): void };

export function openPool(
  clock: Pick<Clock, 'after'>,
  options: Partial<PoolBounds> = {},
  start: (task: 'served' | 'quick') => ServedProcess = startServedProcess,
) {
  const bounds = { ...usualBounds, ...options };
  const accountMost = Math.max(1, Math.floor(bounds.processes / 2));
  /** By process, the account whose question it has. */
  const busy = new Map<ServedProcess, string>();
  /** Oldest first. */
  const waiting = new Set<Waiting>();
  let idle: ServedProcess[] = [];
  let quickProcess: ServedProcess | undefined;
  let lastQuick: Promise<unknown> = Promise.resolve();
  let cancelIdle: (() => void) | undefined;
  let isClosed = false;

  function mayBegin(account: string): boolean {
    const own = [...busy.values()].filter((each) => each === account).length;
    return busy.size < bounds.processes && own < accountMost;
  }

  function begin(account: string): Loan {
    cancelIdle?.();
    idle = idle.filter((process) => process.isFree());
    const process = idle.pop() ?? start('served');
    busy.set(process, account);
    return {
      queries: process,
      giveBack() {
        // A second call would free the process of another question.
        if (busy.get(process) !== account) return;
        busy.delete(process);
        if (!isClosed && process.isFree()) idle.push(process);
        else process.end();
        if (isClosed) return;
        for (const turn of waiting) if (mayBegin(turn.account)) turn.begin(begin(turn.account));
        endIdleLater();
      },
    };
  }

  function endIdleLater(): void {
    cancelIdle?.();
    if (busy.size === 0) cancelIdle = clock.after(bounds.idleMs, endIdle);
  }

  function endIdle(): void {
    for (const process of idle) process.end();
    idle = [];
    quickProcess?.end();
    quickProcess = undefined;
  }

  return {
    /** Starts a process, where a question is to be expected. */
    warm(): void {
      if (!isClosed && busy.size + idle.length === 0) idle.push(start('served'));
      endIdleLater();
    },
    /**
     * A process for a question of the account.
     * @returns undefined where too many wait already, or it has waited too long.
     * @throws Failure `incomplete` where `gone` ended the waiting, or the service.
     */
    async take(account: string, gone: AbortSignal): Promise<Loan | undefined> {
      if (isClosed || gone.aborted) throw stopped();
      if (mayBegin(account)) return begin(account);
      if (waiting.size >= bounds.waiting) return undefined;
      const loan = await new Promise<Loan | undefined>((resolve) => {
        const leave = () => turn.begin(undefined);
        const cancel = clock.after(bounds.waitMs, leave);
        const turn: Waiting = {
          account,
          begin(loan) {
            waiting.delete(turn);
            cancel();
            gone.removeEventListener('abort', leave);
            resolve(loan);
          },
        };
        waiting.add(turn);
        gone.addEventListener('abort', leave, { once: true });
      });
      if (!loan && (isClosed || gone.aborted)) throw stopped();
      return loan;
    },
    /** Asks the process for what is quick, one request after the other. @throws Failure as the task does, or where it took too long. */
    async quick<Request, Result>(request: Request, timeoutMs: number): Promise<Result> {
      const result = lastQuick.then(() => {
        if (isClosed) throw stopped();
        if (!quickProcess?.isFree()) quickProcess = start('quick');
        endIdleLater();
        return quickProcess.send<Request, Result>(request, { timeoutMs });
      });
      lastQuick = result.catch(() => undefined);
      return await result;
    },
    close(): void {
      isClosed = true;
      cancelIdle?.();
      endIdle();
      for (const process of busy.keys()) process.end();
      for (const turn of waiting) turn.begin(undefined);
    },
  };
}

const stopped = () => new Failure('incomplete', 'stopped');
