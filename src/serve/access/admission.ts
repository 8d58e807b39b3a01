/**
 * Which calls of the service are let in: first the key, its addresses and its scope, then the limits of its account. Limits are
 * decided in memory, from one count for response and headers, and written behind. It knows HTTP only by the words in which calls
 * are refused.
 */

import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import {
  type Connection,
  describeHolder,
  forgetPages,
  guarded,
  isLock,
  tryLock,
  watchFiles,
} from '../../store/sqlite-files.ts';
import { type CallCount, type CountedCall, type Counts, openCounts } from './counts.ts';
import { openServeDatabase, serveFile } from './database.ts';
import { type Account, digestIn, type KnownKey, openKnownKeys, whyRefused } from './keys.ts';
import {
  type AccountState,
  type Limits,
  nothingCounted,
  type QuotaAtTime,
  quotaAt,
  type Rate,
  refundCalls,
  steadyClock,
  takeCall,
  takeMore,
  unlimited,
} from './limits.ts';
import { type ReportOutage, reportOnChange } from './outage.ts';

/** The statuses of the specification ("Errors"), with a code and a text that say no more than those. */
const refusals = {
  key: [401, 'invalid_api_key', 'The API key is missing or not valid.'],
  forbidden: [403, 'forbidden', 'This API key may not be used for this request.'],
  quota: [429, 'too_many_requests', 'The quota of the account is used up. Try again later.'],
  cost: [
    429,
    'too_many_requests',
    'This costs more calls than the quota of the account has left. Try again later.',
  ],
  rate: [429, 'too_many_requests', 'The request rate of the account has been reached. Try again later.'],
  concurrency: [
    429,
    'too_many_requests',
    'The account has as many requests in flight as it may. Try again later.',
  ],
  failures: [429, 'too_many_requests', 'Too many requests without a valid API key. Try again later.'],
  unavailable: [503, 'service_unavailable', 'A required service is temporarily unavailable.'],
} as const;

export type Refusal = {
  readonly status: 401 | 403 | 429 | 503;
  /** An Error body: two string fields and no others. */
  readonly body: { readonly error: string; readonly message: string };
  /** Whole seconds, for `Retry-After`; on every 429 and 503. */
  readonly retryAfter: number | null;
  /** Which limit it was, for counts and logs. */
  readonly limit: 'quota' | 'rate' | 'concurrency' | 'failures' | null;
  /** What is left; of every 429. */
  readonly report: QuotaReport | null;
};

/** @param waitMs until it is worth trying again. */
export function refusal(
  why: keyof typeof refusals,
  waitMs: number | null = null,
  limit: Refusal['limit'] = null,
  report: QuotaReport | null = null,
): Refusal {
  const [status, error, message] = refusals[why];
  const retryAfter = waitMs === null ? null : Math.max(1, Math.ceil(waitMs / 1_000));
  return { status, body: { error, message }, retryAfter, limit, report };
}

/** So many failures at once are slips of a program; more than so many a second are guesses. */
export const FAILURE_RATE: Rate = { calls: 5, periodMs: 1_000, burst: 300 };

/** Beyond these the addresses that were quiet for longest are forgotten. */
const MAX_FAILURE_ADDRESSES = 10_000;

/** Of an address with too many failures, which has no quota: what that limit leaves it. */
const failuresReport: QuotaReport = {
  limit: FAILURE_RATE.burst,
  remaining: 0,
  periodMs: null,
  moreInMs: null,
};

export function isRefused<Result extends object>(result: Result | Refusal): result is Refusal {
  return 'status' in result;
}

type Credentials = {
  /** The header as it came. */
  readonly authorization: string | undefined;
  /** Of the client itself, past the proxies that are trusted. */
  readonly address: string;
  /** What the endpoint requires; null where any active key will do. */
  readonly scope: string | null;
};

/** Whose call it is. */
export type Caller = Pick<KnownKey, 'id' | 'name' | 'account' | 'scopes' | 'limits'>;

/** What responses say of the quota. */
export type QuotaReport = Pick<QuotaAtTime, 'limit' | 'remaining'> & {
  /** Of the quota; null where there is none. */
  readonly periodMs: number | null;
  /** Until there will next be more calls left; null where none was taken. */
  readonly moreInMs: number | null;
};

/** Calls that were taken, and the quota with them. */
export type Charge = QuotaReport & {
  /**
   * So many of them were not needed, or all that are left.
   * @returns the quota without them.
   */
  refund(calls?: number): QuotaReport;
};

/** A call that was let in, which is the first charge. */
export type Permit = Charge & {
  /** It may cost so many more, which are all granted or none. */
  takeMore(calls: number): Charge | Refusal;
  /** It has its response, or its client has gone: to be called whatever became of it. */
  leave(): void;
};

export type Usage = QuotaReport & {
  readonly limits: Limits;
  /** Calls in flight. */
  readonly running: number;
};

/** As long as an outage of the database may well last. */
const UNAVAILABLE_MS = 5_000;

/** How often it is checked whether the database is still the one that was opened: keys that were revoked elsewhere would go on to be accepted. */
const CHECK_EVERY_MS = 1_000;

/** A lookup waits for no other process; what is written may wait until the next second. */
const LOCK_WAIT_MS = 20;

/** How often the last use of a key is written. */
const USE_WRITTEN_EVERY_MS = 60_000;

export type Admission = ReturnType<typeof openAdmission>;

/**
 * Opens the keys and the counts in `dir` for the one process that serves from there: two would each grant what there is.
 * @param report of outages of the database; calls that need it are refused with 503 meanwhile, or go on where only counts
 * cannot be written.
 * @param onLost called where another file, or none, has taken the place of the database: the service has to begin anew.
 * @throws Failure `incomplete` where another process serves from there, and as `openServeDatabase` does.
 */
export function openAdmission(
  dir: string,
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>,
  report: ReportOutage,
  onLost: (why: Failure) => void = () => undefined,
) {
  // Makes the folder and the database, where there are none, without haste.
  openServeDatabase(dir).close();
  const lock = tryLock(dir, 'serve');
  if (!isLock(lock))
    throw new Failure(
      'incomplete',
      `${dir}: ${describeHolder(lock)} serves from there already; end it first`,
    );
  const open = openOrRelease(dir, clock, report, lock.release);
  const findLoss = watchFiles(serveFile(dir));
  let loss: Failure | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;
  const countFailure = countFailures();
  const attempt = reportOnChange(report);

  function current(): typeof open {
    if (!loss && clock.monotonic() - checkedAt >= CHECK_EVERY_MS) {
      checkedAt = clock.monotonic();
      loss = findLoss();
      if (loss) onLost(loss);
    }
    if (loss) throw loss;
    return open;
  }

  function withDatabase<Result extends object>(work: (database: typeof open) => Result): Result | Refusal {
    const result = attempt(() => work(current()));
    if (result !== undefined) return result;
    forgetPages(open.connection);
    return refusal('unavailable', UNAVAILABLE_MS);
  }

  return {
    /** Whose key it is, and whether it opens the endpoint. Costs nothing. */
    identify: (credentials: Credentials): Caller | Refusal =>
      withDatabase(({ keys, saveUse }) => {
        const digest = digestIn(credentials.authorization);
        const key = digest === undefined ? undefined : keys.find(digest);
        const why = whyRefused(key, credentials, clock.now());
        if (why === 'forbidden') return refusal('forbidden');
        if (why === null && key) {
          saveUse(key);
          return key;
        }
        const waitMs = countFailure(credentials.address, clock.monotonic());
        return waitMs > 0 ? refusal('failures', waitMs, 'failures', failuresReport) : refusal('key');
      }),
    /** Takes one call of the account, before anything else is done for it. */
    enter: (caller: Account): Permit | Refusal => withDatabase(({ meter }) => meter.enter(caller)),
    /** The limits of the account, and what is left of them; costs nothing. */
    usage: (caller: Account): Usage | Refusal => withDatabase(({ meter }) => meter.usage(caller)),
    /** Counts a call that has its response for the account's use by day. */
    addCall: (call: CountedCall): void => open.counts.addCall(call),
    /** How often the account called what in the last `days` days, today among them; the latest day first. */
    callsOf: (account: string, days: number): CallCount[] | Refusal =>
      withDatabase(({ counts }) => counts.callsOf(account, days)),
    /** Whether keys and counts can be read now. */
    isUp: (): boolean => !isRefused(withDatabase(({ keys }) => ({ key: keys.find('') }))),
    /** Leaves a word for those who look up who serves from the folder (`holderNote` of the lock `serve`), or takes it back. */
    note: lock.note,
    close(): void {
      // Another process may hold the lock by the second time.
      if (isClosed) return;
      isClosed = true;
      open.counts.flush();
      open.connection.close();
      lock.release();
    },
  };
}

function openOrRelease(
  dir: string,
  clock: Pick<Clock, 'now' | 'monotonic' | 'after'>,
  report: ReportOutage,
  release: () => void,
) {
  let connection: Connection | undefined;
  try {
    connection = openServeDatabase(dir, LOCK_WAIT_MS);
    const counts = openCounts(connection, clock, report);
    const meter = openMeter(connection, counts, steadyClock(clock, latestCount(connection)));
    return { connection, counts, keys: openKnownKeys(connection), meter, saveUse: useSaver(clock, counts) };
  } catch (thrown) {
    connection?.close();
    release();
    throw thrown;
  }
}

/** The latest time that was counted by, in epoch milliseconds. */
function latestCount(connection: Connection): number {
  const latest = connection.prepare<[], number | null>('SELECT max(at) FROM counters').pluck();
  return guarded(connection.name, () => latest.get()) ?? 0;
}

function useSaver({ now }: Pick<Clock, 'now'>, { saveUse }: Pick<Counts, 'saveUse'>) {
  const savedAt = new Map<string, number>();
  return ({ id, lastUsedAt }: KnownKey): void => {
    const at = now();
    const last = savedAt.get(id) ?? lastUsedAt;
    if (last !== null && Math.abs(at - last) < USE_WRITTEN_EVERY_MS) return;
    savedAt.set(id, at);
    saveUse(id);
  };
}

/** `limits` as of the last call. */
type AccountCount = { readonly account: string; state: AccountState; limits: Limits; running: number };

/** What each account has used. @param clock one that never goes back, in whole epoch milliseconds. */
function openMeter(connection: Connection, { saveState }: Pick<Counts, 'saveState'>, clock: () => number) {
  const read = connection.prepare<[string], string>('SELECT state FROM counters WHERE account = ?').pluck();
  const counts = new Map<string, AccountCount>();

  function countOf({ account, limits }: Account): AccountCount {
    const known = counts.get(account);
    if (known) return Object.assign(known, { limits });
    const saved = guarded(connection.name, () => read.get(account));
    const state = saved === undefined ? nothingCounted : (JSON.parse(saved) as AccountState);
    const count = { account, state, limits, running: 0 };
    counts.set(account, count);
    return count;
  }

  function save(count: AccountCount, state: AccountState, at: number): void {
    count.state = state;
    if (state.quota || state.rate) saveState(count.account, state, at);
  }

  function reportOf({ state, limits }: AccountCount, at: number): QuotaReport {
    const { limit, remaining, moreAt } = quotaAt(state, at, limits);
    const moreInMs = moreAt === null ? null : moreAt - at;
    return { limit, remaining, periodMs: limits.quota?.periodMs ?? null, moreInMs };
  }

  /** Calls of the time `at` that were just taken. @param limits by which they were counted. */
  function chargeOf(count: AccountCount, at: number, limits: Limits, taken: number): Charge {
    let left = taken;
    return {
      ...reportOf(count, at),
      refund(wanted = left) {
        const now = clock();
        const calls = Math.min(wanted, left);
        left -= calls;
        // A count that began anew since then holds none of them.
        if (calls > 0 && isCountedAlike(limits, count.limits))
          save(count, refundCalls(count.state, now, count.limits, at, calls), now);
        return reportOf(count, now);
      },
    };
  }

  return {
    enter(caller: Account): Permit | Refusal {
      const count = countOf(caller);
      const { limits } = caller;
      const at = clock();
      const { state, exceeded } = takeCall(count.state, at, limits, count.running);
      if (exceeded) {
        const { limit, readyAt } = exceeded;
        return refusal(limit, readyAt - at, limit, reportOf(count, at));
      }
      save(count, state, at);
      count.running += 1;
      let hasLeft = false;
      return {
        ...chargeOf(count, at, limits, 1),
        leave() {
          if (!hasLeft) count.running -= 1;
          hasLeft = true;
        },
        takeMore(calls) {
          const now = clock();
          const { limits } = count;
          const { state, exceeded } = takeMore(count.state, now, limits, calls);
          if (exceeded) return refusal('cost', exceeded.readyAt - now, exceeded.limit, reportOf(count, now));
          save(count, state, now);
          return chargeOf(count, now, limits, calls);
        },
      };
    },
    usage(caller: Account): Usage {
      const count = countOf(caller);
      return { ...reportOf(count, clock()), limits: count.limits, running: count.running };
    },
  };
}

function isCountedAlike({ quota: before }: Limits, { quota: now }: Limits): boolean {
  return before?.kind === now?.kind && before?.periodMs === now?.periodMs;
}

/** @returns what counts a call without a valid key, and says how long its address has to wait, in milliseconds. */
export function countFailures(): (address: string, now: number) => number {
  const limits = { ...unlimited, rate: FAILURE_RATE };
  const states = new LRUCache<string, AccountState>({ max: MAX_FAILURE_ADDRESSES });
  return (address, now) => {
    const network = networkOf(address);
    const { state, exceeded } = takeCall(states.get(network) ?? nothingCounted, now, limits, 0);
    states.set(network, state);
    return exceeded ? exceeded.readyAt - now : 0;
  };
}

/** A client with one address of IPv6 has all those that share its first half. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('%')[0]?.split('::') ?? [];
  const [before = [], after = []] = [head, tail].map((part) =>
    part.split(':').filter((group) => group !== ''),
  );
  const zeros = Array(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}

/** What an account is called where it shares with sessions of the page, which have names of their own. */
export const accountOwner = (account: string): string => `account ${account}`;
