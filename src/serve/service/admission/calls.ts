/** How often each account called what, by day: added up in memory, written with the other counts, and forgotten after a while. */

import { DAY_MS, isoTime } from '../../../clock.ts';
import { type Connection, guarded } from '../../../store/sqlite-files.ts';
import type { Waiting } from './write-behind.ts';

/** An answered call. */
export type AnsweredCall = {
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

export type Calls = Waiting & {
  count(call: AnsweredCall): void;
  /** Of the last `days` days, today among them; the latest day first. @throws Failure `disk` where they cannot be read. */
  of(account: string, days: number): CallCount[];
};

/** Days with calls, not days by the clock: one that is set ahead for an hour must not cost all the others. */
const KEPT_DAYS = 400;

/** Some hundred megabytes. Where there are many accounts, fewer days are kept. */
const MOST_ROWS = 1_000_000;

/** So few that nobody who calls meanwhile has to wait. */
const FORGOTTEN_AT_ONCE = 500;

/** @param now epoch milliseconds by the machine's clock. */
export function countCalls(connection: Connection, now: () => number): Calls {
  const add = connection.prepare<[CallCount & { account: string }]>(
    `INSERT INTO calls (day, account, endpoint, class, calls, first_at, last_at)
     VALUES (:day, :account, :endpoint, :class, :calls, :firstAt, :lastAt)
     ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,
       first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)`,
  );
  const read = connection.prepare<[string, string], CallCount>(
    `SELECT day, endpoint, class, calls, first_at AS firstAt, last_at AS lastAt FROM calls
     WHERE day IN (SELECT value FROM json_each(?)) AND account = ?`,
  );
  const forget = forgetting(connection);
  const waiting = new Map<string, CallCount & { account: string }>();
  let today = '';
  /** A day that ends may be one too many. */
  let isForgetting = true;

  function countOf(account: string, endpoint: string, status: number, at: number) {
    const day = dayOf(at);
    isForgetting ||= day !== today;
    today = day;
    const group = Math.floor(status / 100);
    const name = `${day} ${group} ${endpoint} ${account}`;
    const known = waiting.get(name);
    if (known) return known;
    const time = isoTime(at);
    const count = { day, account, endpoint, class: group, calls: 0, firstAt: time, lastAt: time };
    waiting.set(name, count);
    return count;
  }

  return {
    count({ account, endpoint, status }) {
      const at = now();
      const count = countOf(account, endpoint, status, at);
      count.calls += 1;
      count.lastAt = isoTime(at);
    },
    of(account, days) {
      const at = now();
      const asked = Array.from({ length: days }, (_, ago) => dayOf(at - ago * DAY_MS));
      const found = new Map<string, CallCount>();
      const counts = [
        ...guarded(connection.name, () => read.all(JSON.stringify(asked), account)),
        ...[...waiting.values()].filter((count) => count.account === account && asked.includes(count.day)),
      ];
      for (const count of counts) {
        const name = [count.day, count.endpoint, count.class].join(' ');
        found.set(name, joined(found.get(name), count));
      }
      return [...found.values()].sort(latestFirst);
    },
    isEmpty: () => waiting.size === 0 && !isForgetting,
    write() {
      for (const count of waiting.values()) add.run(count);
      if (isForgetting) isForgetting = forget();
    },
    written: () => waiting.clear(),
  };
}

/** @returns what forgets a little, and tells whether there is more. */
function forgetting(connection: Connection): () => boolean {
  // Day by day, since there are many rows a day.
  const text = (sql: string) => connection.prepare<[number], string | null>(sql).pluck();
  const oldestOfDays = text(
    `WITH RECURSIVE days (day, count) AS (
       SELECT max(day), 1 FROM calls
       UNION ALL SELECT (SELECT max(day) FROM calls WHERE calls.day < days.day), count + 1
       FROM days WHERE day IS NOT NULL AND count < ?)
     SELECT min(day) FROM days`,
  );
  const oldestOfRows = text(
    'SELECT day FROM calls ORDER BY day DESC, account DESC, endpoint DESC, class DESC LIMIT 1 OFFSET ?',
  );
  const remove = connection.prepare<[string, number]>(
    `DELETE FROM calls WHERE (day, account, endpoint, class) IN (
       SELECT day, account, endpoint, class FROM calls WHERE day < ? ORDER BY day LIMIT ?)`,
  );
  let keptFrom: string | undefined;
  return () => {
    keptFrom ??= [oldestOfDays.get(KEPT_DAYS), oldestOfRows.get(MOST_ROWS)]
      .map((day) => day ?? '')
      .reduce((one, other) => (one > other ? one : other));
    const { changes } = remove.run(keptFrom, FORGOTTEN_AT_ONCE);
    if (changes === FORGOTTEN_AT_ONCE) return true;
    keptFrom = undefined;
    return false;
  };
}

function joined(one: CallCount | undefined, { ...other }: CallCount): CallCount {
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
    Number(one.endpoint > other.endpoint) - Number(one.endpoint < other.endpoint) ||
    one.class - other.class
  );
}

const dayOf = (at: number) => isoTime(at).slice(0, 'YYYY-MM-DD'.length);
