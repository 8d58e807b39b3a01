/**
 * Which calls of the service are let in: first the key, its addresses and its scope, then the limits of its account. It
 * knows nothing of HTTP but the words in which calls are refused.
 */

import type { Clock } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import { type Connection, forgetPages, guarded, isLock, tryLock } from '../../store/sqlite-files.ts';
import { type AnsweredCall, type CallCount, countCalls } from './admission/calls.ts';
import { countFailures } from './admission/failures.ts';
import { openMeter, type Permit, type Report, type Usage } from './admission/meter.ts';
import { type Refusal, refusal } from './admission/refusals.ts';
import { steadyClock } from './admission/steady-clock.ts';
import { type Later, type WriteBehind, writeBehind } from './admission/write-behind.ts';
import { followServeDatabase, openServeDatabase } from './database.ts';
import { digestIn, whyRefused } from './keys/check.ts';
import { type KnownKey, openKnownKeys } from './keys/known.ts';
import { type Tell, tellingOnce } from './trouble.ts';

export type { AnsweredCall, CallCount } from './admission/calls.ts';
export type { Permit, Report, Usage } from './admission/meter.ts';
export { type Refusal, refusal } from './admission/refusals.ts';
export type { Tell } from './trouble.ts';

export type Visitor = {
  /** The header as it came. */
  readonly authorization: string | undefined;
  /** Of the client itself, past the proxies that are trusted. */
  readonly address: string;
  /** What the endpoint requires; null where any active key will do. */
  readonly scope: string | null;
};

/** Whose call it is. */
export type Caller = Pick<KnownKey, 'id' | 'name' | 'account' | 'scopes'>;

export type Admission = {
  /** Whose key it is, and whether it opens the endpoint. Costs nothing. */
  identify(visitor: Visitor): Caller | Refusal;
  /**
   * One call of the account: asked right before it is answered.
   * @param costsQuota false for what is known to cost none: a 304, an error.
   */
  enter(caller: Caller, costsQuota?: boolean): Permit | Refusal;
  /** How the account stands; costs nothing. */
  usage(account: string): Usage | Refusal;
  /** Counts an answered call of the account for its use by day. */
  answered(call: AnsweredCall): void;
  /** How often the account called what in the last `days` days, today among them; the latest day first. */
  calls(account: string, days: number): CallCount[] | Refusal;
  /** Whether keys and counts can be read now. */
  isUp(): boolean;
  /** Writes what was granted; done by itself once a second. */
  flush(): void;
  /** Leaves a word for those who look who serves from the folder (`holderNote` of the lock `serve`), or takes it back. */
  note(word: string | null): void;
  close(): void;
};

/** As long as a trouble with the database may well last. */
const UNAVAILABLE_MS = 5_000;

/** How often it is looked whether the database is still the one that was opened. */
const LOOK_EVERY_MS = 1_000;

/** A look-up waits for nobody; what is written may wait until the next second. */
const LOCK_WAIT_MS = 20;

/** So rarely is it kept that a key was used. */
const USE_KEPT_EVERY_MS = 60_000;

/**
 * Opens the keys and the counts in `dir` for the one process that serves from there: two would each grant what there is.
 * @param tell of trouble with the database, once each; calls that need it are refused with 503 meanwhile, or go on where
 * only counts cannot be written.
 * @throws Failure `incomplete` where another process serves from there, and as `openServeDatabase` does.
 */
export function openAdmission(
  dir: string,
  clock: Pick<Clock, 'now' | 'monotonic'>,
  tell: Tell,
  later?: Later,
): Admission {
  // Whoever is the first to come here makes the folder, and brings the database up to date without haste.
  openServeDatabase(dir).close();
  const lock = tryLock(dir, 'serve');
  if (!isLock(lock))
    throw new Failure('incomplete', `${dir}: process ${lock.holder} serves from there already; end it first`);
  try {
    const admission = admissionIn(dir, clock, tell, later);
    let isOpen = true;
    return {
      ...admission,
      note: lock.note,
      close() {
        // Another process may hold the lock by then.
        if (!isOpen) return;
        isOpen = false;
        admission.close();
        lock.release();
      },
    };
  } catch (thrown) {
    lock.release();
    throw thrown;
  }
}

function admissionIn(
  dir: string,
  clock: Pick<Clock, 'now' | 'monotonic'>,
  tell: Tell,
  later?: Later,
): Omit<Admission, 'note'> {
  let steady: (() => number) | undefined;
  const database = followServeDatabase(dir, LOCK_WAIT_MS, (connection) => {
    // It never goes back, not even where counts of an earlier time are put in place.
    steady ??= steadyClock(clock, latestCount(connection));
    const calls = countCalls(connection, clock.now);
    const written = writeBehind(connection, tell, later, [calls]);
    const keys = openKnownKeys(connection);
    const meter = openMeter(connection, keys, written, steady);
    return { connection, calls, written, keys, meter, keepUse: keepingUses(clock, written) };
  });
  let known: ReturnType<typeof database.current> = database.current();
  let outage: unknown;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const failures = countFailures();
  const attempt = tellingOnce(tell);

  function current(): typeof known {
    if (clock.monotonic() - lookedAt >= LOOK_EVERY_MS) {
      lookedAt = clock.monotonic();
      outage = undefined;
      try {
        known = database.current();
      } catch (thrown) {
        outage = thrown;
      }
    }
    if (outage !== undefined) throw outage;
    return known;
  }

  const reachable = <T extends object>(work: (open: typeof known) => T) => {
    const done = attempt(() => work(current()));
    if (done !== undefined) return done;
    if (known.connection.open) forgetPages(known.connection);
    return refusal('unavailable', UNAVAILABLE_MS);
  };

  return {
    identify: (visitor) =>
      reachable(({ keys, keepUse }) => {
        const digest = digestIn(visitor.authorization);
        const key = digest === undefined ? undefined : keys.find(digest);
        const why = whyRefused(key, visitor, clock.now());
        if (why === 'forbidden') return refusal('forbidden');
        if (why === null && key) {
          keepUse(key);
          return key;
        }
        const waitMs = failures.count(visitor.address, clock.monotonic());
        return waitMs > 0 ? refusal('failures', waitMs, 'failures') : refusal('key');
      }),
    enter: ({ account }, costsQuota = true) =>
      reachable(({ meter }) => {
        const entry = meter.enter(account, costsQuota);
        return 'waitMs' in entry ? refusal('limit', entry.waitMs, entry.limit) : entry;
      }),
    usage: (account) => reachable(({ meter }) => meter.usage(account)),
    answered(call) {
      known.calls.count(call);
      known.written.due();
    },
    calls: (account, days) => reachable(({ calls }) => calls.of(account, days)),
    isUp: () => !isRefused(reachable((open) => open.meter)),
    flush: () => known.written.flush(),
    close() {
      if (known.connection.open) known.written.flush();
      database.close();
    },
  };
}

/** The latest time that was counted by, in epoch milliseconds. */
function latestCount(connection: Connection): number {
  const latest = connection.prepare<[], number | null>('SELECT max(at) FROM counters').pluck();
  return guarded(connection.name, () => latest.get()) ?? 0;
}

function keepingUses({ now }: Pick<Clock, 'now'>, written: Pick<WriteBehind, 'used'>) {
  const kept = new Map<string, number>();
  return ({ id, lastUsedAt }: KnownKey): void => {
    const at = now();
    const last = kept.get(id) ?? lastUsedAt;
    if (last !== null && Math.abs(at - last) < USE_KEPT_EVERY_MS) return;
    kept.set(id, at);
    written.used(id, at);
  };
}

export function isRefused<Answer extends object>(answer: Answer | Refusal): answer is Refusal {
  return 'status' in answer;
}

/** What a success says of the quota (specification, "Endpoints"). */
export function limitHeaders({ limit, remaining }: Report): Record<string, string> {
  return { 'X-RateLimit-Limit': String(limit), 'X-RateLimit-Remaining': String(remaining) };
}

/** The same in the fields that the IETF may make a standard (draft-ietf-httpapi-ratelimit-headers); none without a quota. */
export function draftHeaders({ limit, remaining, periodMs, moreInMs }: Report): Record<string, string> {
  if (periodMs === null) return {};
  const seconds = (ms: number) => Math.max(1, Math.ceil(ms / 1_000));
  const more = moreInMs === null ? '' : `;t=${seconds(moreInMs)}`;
  return {
    'RateLimit-Policy': `"quota";q=${limit};w=${seconds(periodMs)}`,
    RateLimit: `"quota";r=${remaining}${more}`,
  };
}
