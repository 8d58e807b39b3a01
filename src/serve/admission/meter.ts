/** What each account has used: decided in memory, from one count for answer and headers, and written behind. */

import type { Connection } from '../../store/beside.ts';
import type { KnownKeys } from '../keys/known.ts';
import {
  type AccountState,
  ask,
  type Exceeded,
  giveBack,
  nothingCounted,
  type Standing,
  settle,
  standing,
} from '../limits/account.ts';
import type { Limits } from '../limits.ts';
import type { WriteBehind } from './write-behind.ts';

/** What answers say of the quota. */
export type Report = Pick<Standing, 'limit' | 'remaining'> & {
  /** Of the quota; null where there is none. */
  readonly periodMs: number | null;
  /** Until there will next be more calls left; null where none was taken. */
  readonly moreInMs: number | null;
};

/** A call that was let in, and how the quota stands with it. */
export type Permit = Report & {
  /** The call turned out to cost nothing (304, an error). @returns how the quota stands now. */
  giveBack(): Report;
  /** It has been answered, or its client has gone: to be called once, whatever became of it. */
  leave(): void;
};

export type Usage = Report & {
  readonly limits: Limits;
  /** Calls that are being answered. */
  readonly running: number;
};

export type Meter = {
  enter(account: string, costsQuota: boolean): Permit | OverLimit;
  usage(account: string): Usage;
};

export type OverLimit = { readonly limit: Exceeded['limit']; readonly waitMs: number };

type Count = { state: AccountState; running: number };

/** @param clock one that never goes back, in whole epoch milliseconds. */
export function openMeter(
  connection: Connection,
  { limitsOf }: Pick<KnownKeys, 'limitsOf'>,
  written: Pick<WriteBehind, 'count'>,
  clock: () => number,
): Meter {
  const read = connection.prepare<[string], string>('SELECT state FROM counters WHERE account = ?').pluck();
  const counts = new Map<string, Count>();

  function countOf(account: string): Count {
    const kept = counts.get(account);
    if (kept) return kept;
    const state = read.get(account);
    const count = {
      state: state === undefined ? nothingCounted : (JSON.parse(state) as AccountState),
      running: 0,
    };
    counts.set(account, count);
    return count;
  }

  function keep(account: string, count: Count, state: AccountState): void {
    count.state = state;
    if (state.quota || state.rate) written.count(account, state, clock());
  }

  function reportNow(account: string): Report {
    const limits = limitsOf(account);
    const at = clock();
    return reportOf(standing(settle(countOf(account).state, at, limits), limits), limits, at);
  }

  return {
    enter(account, costsQuota) {
      const count = countOf(account);
      const limits = limitsOf(account);
      const at = clock();
      const { state, decision } = ask(count.state, at, limits, count.running, costsQuota);
      if (!decision.granted) {
        count.state = state;
        return { limit: decision.limit, waitMs: decision.readyAt - at };
      }
      keep(account, count, state);
      count.running += 1;
      const undo = once(() => {
        const now = limitsOf(account);
        // A count that began anew since then holds nothing of this call.
        if (costsQuota && isCountedAlike(limits, now))
          keep(account, count, giveBack(count.state, clock(), now, at));
      });
      return {
        ...reportOf(decision, limits, at),
        leave: once(() => {
          count.running -= 1;
        }),
        giveBack() {
          undo();
          return reportNow(account);
        },
      };
    },
    usage(account) {
      return { ...reportNow(account), limits: limitsOf(account), running: countOf(account).running };
    },
  };
}

function reportOf({ limit, remaining, moreAt }: Standing, { quota }: Limits, at: number): Report {
  const moreInMs = moreAt === null ? null : moreAt - at;
  return { limit, remaining, periodMs: quota?.periodMs ?? null, moreInMs };
}

function isCountedAlike({ quota: before }: Limits, { quota: now }: Limits): boolean {
  return before?.kind === now?.kind && before?.periodMs === now?.periodMs;
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
