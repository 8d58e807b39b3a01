/**
 * Counts on their way to the database: what accounts have used of their limits, when keys were used, and how often each account
 * called what, by day. They are added up in memory, and written once a second in one transaction that waits for no disk.
 */

import { type Clock, DAY_MS, isoTime } from '../../base/clock.ts';
import { type Connection, forgetPages, guarded } from '../../store/sqlite-files.ts';
import type { AccountState } from './limits.ts';
import { type ReportOutage, reportOnChange } from './outage.ts';

/** A call that has its response. */
export type CountedCall = {
  readonly account: string;
  /** One of few: never a path, which anybody may make up. */
  readonly endpoint: string;
  readonly status: number;
};

/** Calls of one endpoint on one day (UTC) whose statuses begin alike. */
export type CallCount = {
  /** Such as 2026-11-22. */
  readonly day: string;
  readonly endpoint: string;
  /** The first digit of the status. */
  readonly class: number;
  calls: number;
  /** ISO 8601. */
  firstAt: string;
  lastAt: string;
};

export type Counts = ReturnType<typeof openCounts>;

/** At most so much of what was granted is forgotten where the process is killed. */
const WRITE_EVERY_MS = 1_000;

type AccountCallCount = CallCount & { account: string };

export function openCounts(
  connection: Connection,
  { now, after }: Pick<Clock, 'now' | 'after'>,
  report: ReportOutage,
) {
  const writeState = connection.prepare<[number, string, string]>(
    `INSERT INTO counters (account, at, state) SELECT name, ?, ? FROM accounts WHERE name = ?
     ON CONFLICT (account) DO UPDATE SET at = excluded.at, state = excluded.state`,
  );
  const writeUse = connection.prepare('UPDATE keys SET last_used_at = ? WHERE id = ?');
  const writeCalls = connection.prepare<[AccountCallCount]>(
    `INSERT INTO calls (day, account, endpoint, class, calls, first_at, last_at)
     SELECT :day, name, :endpoint, :class, :calls, :firstAt, :lastAt FROM accounts WHERE name = :account
     ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,
       first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)`,
  );
  const readCalls = connection.prepare<[string, string], CallCount>(
    `SELECT day, endpoint, class, calls, first_at AS firstAt, last_at AS lastAt FROM calls
     WHERE day IN (SELECT value FROM json_each(?)) AND account = ?`,
  );
  const forgetOldDays = dayForgetter(connection);
  const states = new Map<string, { state: AccountState; at: number }>();
  const uses = new Map<string, string>();
  const calls = new Map<string, AccountCallCount>();
  let today = '';
  /** A new day may be one more than are kept. */
  let mayForget = true;
  let cancel: (() => void) | undefined;

  const writeAll = connection.transaction(() => {
    for (const [account, { state, at }] of states) writeState.run(at, JSON.stringify(state), account);
    for (const [keyId, at] of uses) writeUse.run(at, keyId);
    for (const count of calls.values()) writeCalls.run(count);
    if (mayForget) forgetOldDays();
  });
  const attempt = reportOnChange(report);

  function flush(): void {
    cancel?.();
    cancel = undefined;
    if (states.size + uses.size + calls.size === 0 && !mayForget) return;
    const isWritten = attempt(() =>
      guarded(connection.name, () => {
        writeAll.immediate();
        return true as const;
      }),
    );
    if (isWritten) {
      for (const pending of [states, uses, calls]) pending.clear();
      mayForget = false;
      return;
    }
    forgetPages(connection);
    schedule();
  }

  function schedule(): void {
    cancel ??= after(WRITE_EVERY_MS, flush);
  }

  return {
    /** Writes what is pending, where the database is still open; what cannot be written stays pending. */
    flush,
    /** @param at by the clock of the limits. */
    saveState(account: string, state: AccountState, at: number): void {
      states.set(account, { state, at });
      schedule();
    },
    saveUse(keyId: string): void {
      uses.set(keyId, isoTime(now()));
      schedule();
    },
    addCall({ account, endpoint, status }: CountedCall): void {
      const time = isoTime(now());
      const day = dayOf(time);
      mayForget ||= day !== today;
      today = day;
      const group = Math.floor(status / 100);
      const name = `${day} ${group} ${endpoint} ${account}`;
      const one = { day, endpoint, class: group, calls: 1, firstAt: time, lastAt: time };
      calls.set(name, { ...joined(calls.get(name), one), account });
      schedule();
    },
    /** Of the last `days` days, today among them; the latest day first. @throws Failure `disk` where they cannot be read. */
    callsOf(account: string, days: number): CallCount[] {
      const at = now();
      const wanted = Array.from({ length: days }, (_, ago) => dayOf(isoTime(at - ago * DAY_MS)));
      const found = new Map<string, CallCount>();
      const pending = [...calls.values()].filter((count) => count.account === account);
      const counts = [
        ...guarded(connection.name, () => readCalls.all(JSON.stringify(wanted), account)),
        ...pending.filter(({ day }) => wanted.includes(day)).map(({ account, ...count }) => count),
      ];
      for (const count of counts) {
        const name = [count.day, count.endpoint, count.class].join(' ');
        found.set(name, joined(found.get(name), count));
      }
      return [...found.values()].sort(latestFirst);
    },
  };
}

function joined(one: CallCount | undefined, other: CallCount): CallCount {
  if (!one) return other;
  return {
    ...other,
    calls: one.calls + other.calls,
    firstAt: one.firstAt < other.firstAt ? one.firstAt : other.firstAt,
    lastAt: one.lastAt > other.lastAt ? one.lastAt : other.lastAt,
  };
}

function latestFirst(one: CallCount, other: CallCount): number {
  return (
    Number(one.day < other.day) - Number(one.day > other.day) ||
    Number(one.endpoint > other.endpoint) - Number(one.endpoint < other.endpoint)
  );
}

const dayOf = (time: string) => time.slice(0, 'YYYY-MM-DD'.length);

/** Days with calls, not days by the clock: one that is set ahead for an hour must not cost all the others. */
const KEPT_DAYS = 35;

/** @returns what forgets the counts of older days. */
function dayForgetter(connection: Connection): () => void {
  const remove = connection.prepare<[number]>(
    'DELETE FROM calls WHERE day <= (SELECT DISTINCT day FROM calls ORDER BY day DESC LIMIT 1 OFFSET ?)',
  );
  return () => void remove.run(KEPT_DAYS);
}
