/** What each account has used: decided in memory, from one count for answer and headers, and written behind. */

import { type Connection, guarded } from '../../../store/sqlite-files.ts';
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
import { type Limits, unlimited } from '../limits.ts';
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
  /** It has been answered, or its client has gone: to be called whatever became of it. */
  leave(): void;
};

export type OverLimit = { readonly limit: Exceeded['limit']; readonly waitMs: number };

export type Usage = Report & {
  readonly limits: Limits;
  /** Calls that are being answered. */
  readonly running: number;
};

export type Meter = {
  /** @throws Failure `disk` where the account cannot be read; what it gives never does. */
  enter(account: string, costsQuota: boolean): Permit | OverLimit;
  /** @throws Failure as `enter`. */
  usage(account: string): Usage;
};

type Count = {
  readonly account: string;
  state: AccountState;
  /** As they were when they were last asked for. */
  limits: Limits;
  running: number;
};

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
    const count = counts.get(account) ?? begin(account);
    count.limits = limitsOf(account);
    return count;
  }

  function begin(account: string): Count {
    const kept = guarded(connection.name, () => read.get(account));
    const state = kept === undefined ? nothingCounted : (JSON.parse(kept) as AccountState);
    const count = { account, state, limits: unlimited, running: 0 };
    counts.set(account, count);
    return count;
  }

  function keep(count: Count, state: AccountState, at: number): void {
    count.state = state;
    if (state.quota || state.rate) written.count(count.account, state, at);
  }

  function reportOn({ state, limits }: Count, at: number): Report {
    const { limit, remaining, moreAt } = standing(settle(state, at, limits), limits);
    const moreInMs = moreAt === null ? null : moreAt - at;
    return { limit, remaining, periodMs: limits.quota?.periodMs ?? null, moreInMs };
  }

  return {
    enter(account, costsQuota) {
      const count = countOf(account);
      const { limits } = count;
      const at = clock();
      const { state, decision } = ask(count.state, at, limits, count.running, costsQuota);
      if (!decision.granted) return { limit: decision.limit, waitMs: decision.readyAt - at };
      keep(count, state, at);
      count.running += 1;
      const undo = once(() => {
        // A count that began anew since then holds nothing of this call.
        if (!costsQuota || !isCountedAlike(limits, count.limits)) return;
        const now = clock();
        keep(count, giveBack(count.state, now, count.limits, at), now);
      });
      return {
        ...reportOn(count, at),
        leave: once(() => {
          count.running -= 1;
        }),
        giveBack() {
          undo();
          return reportOn(count, clock());
        },
      };
    },
    usage(account) {
      const count = countOf(account);
      return { ...reportOn(count, clock()), limits: count.limits, running: count.running };
    },
  };
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
