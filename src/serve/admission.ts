/**
 * Which calls of the service are let in: first the key, its addresses and its scope, then the limits of its account. It
 * knows nothing of HTTP but the words in which calls are refused.
 */

import type { Clock } from '../clock.ts';
import { Failure } from '../errors.ts';
import { type Connection, forgetPages, guarded, isLock, tryLock, watchFiles } from '../store/beside.ts';
import { type AnsweredCall, type CallCount, countCalls } from './admission/calls.ts';
import { countFailures } from './admission/failures.ts';
import { openMeter, type Permit, type Report, type Usage } from './admission/meter.ts';
import { type Refusal, refusal } from './admission/refusals.ts';
import { steadyClock } from './admission/steady-clock.ts';
import { type Later, type WriteBehind, writeBehind } from './admission/write-behind.ts';
import { openServeDatabase } from './database.ts';
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
  let connection: Connection | undefined;
  const release = () => {
    connection?.close();
    lock.release();
  };
  try {
    connection = openServeDatabase(dir, LOCK_WAIT_MS);
    const admission = admissionOf(connection, clock, tell, later);
    return {
      ...admission,
      note: lock.note,
      close() {
        // Another process may hold the lock by then.
        if (!connection?.open) return;
        admission.flush();
        release();
      },
    };
  } catch (thrown) {
    release();
    throw thrown;
  }
}

function admissionOf(
  connection: Connection,
  clock: Pick<Clock, 'now' | 'monotonic'>,
  tell: Tell,
  later?: Later,
): Omit<Admission, 'close' | 'note'> {
  const steady = steadyClock(clock, latestCount(connection));
  const calls = countCalls(connection, clock.now);
  const written = writeBehind(connection, tell, later, [calls]);
  const keys = openKnownKeys(connection);
  const meter = openMeter(connection, keys, written, steady);
  const failures = countFailures();
  const look = looking(connection.name, clock);
  const keepUse = keepingUses(clock, written);
  const attempt = tellingOnce(tell);
  const reachable = <T extends object>(work: () => T) => {
    const done = attempt(work);
    if (done !== undefined) return done;
    forgetPages(connection);
    return refusal('unavailable', UNAVAILABLE_MS);
  };

  return {
    identify: (visitor) =>
      reachable(() => {
        look();
        const digest = digestIn(visitor.authorization);
        const key = digest === undefined ? undefined : keys.find(digest);
        const why = whyRefused(key, visitor, clock.now());
        if (why === 'forbidden') return refusal('forbidden');
        if (why === null && key) {
          keepUse(key);
          return key;
        }
        const waitMs = failures.count(visitor.address, steady());
        return waitMs > 0 ? refusal('failures', waitMs, 'failures') : refusal('key');
      }),
    enter: ({ account }, costsQuota = true) =>
      reachable(() => {
        const entry = meter.enter(account, costsQuota);
        return 'waitMs' in entry ? refusal('limit', entry.waitMs, entry.limit) : entry;
      }),
    usage: (account) => reachable(() => meter.usage(account)),
    answered(call) {
      calls.count(call);
      written.due();
    },
    calls: (account, days) => reachable(() => calls.of(account, days)),
    flush: written.flush,
  };
}

/** The latest time that was counted by, in epoch milliseconds. */
function latestCount(connection: Connection): number {
  const latest = connection.prepare<[], number | null>('SELECT max(at) FROM counters').pluck();
  return guarded(connection.name, () => latest.get()) ?? 0;
}

/** Keys that are revoked in another file than the one that was opened would go on to be accepted. */
function looking(file: string, { monotonic }: Pick<Clock, 'monotonic'>): () => void {
  const lost = watchFiles(file);
  let lookedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (monotonic() - lookedAt < LOOK_EVERY_MS) return;
    const loss = lost();
    if (loss) throw loss;
    lookedAt = monotonic();
  };
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
