/** How calls are counted against a limit that the user has set. */

import type { CallLimit } from '../config/values.ts';

/**
 * Calls by the time of their response, since only then it is sure that the API has counted them; in groups, since a window may hold
 * thousands. A group counts as answered with its last one.
 */
export type CallGroup = { fromAt: number; lastAt: number; calls: number };

/** A group is at most this part of a sliding window. */
const GROUP = 1 / 32;
/** The clocks differ: a period begins so much later, and what was answered so shortly before it counts in it, too. */
const CLOCKS_DIFFER_MS = 2_000;

/** What was answered earlier is counted no more. */
function countedSince({ periodMs, startMs }: CallLimit, now: number): number {
  if (startMs === null) return now - periodMs;
  return periodStart(now - CLOCKS_DIFFER_MS, startMs, periodMs) - CLOCKS_DIFFER_MS;
}

const periodStart = (at: number, startMs: number, periodMs: number) =>
  startMs + Math.floor((at - startMs) / periodMs) * periodMs;

/** When the next period begins by the clock; null for a window that slides. */
export function nextPeriod({ periodMs, startMs }: CallLimit, now: number): number | null {
  return startMs === null ? null : periodStart(now - CLOCKS_DIFFER_MS, startMs, periodMs) + periodMs;
}

export function countSpent(spent: CallGroup[], calls: number, limit: CallLimit, now: number): void {
  const since = countedSince(limit, now);
  while (spent[0] && spent[0].lastAt < since) spent.shift();
  const last = spent.at(-1);
  const { startMs, periodMs } = limit;
  const isOfGroup =
    last &&
    (startMs === null
      ? now - last.fromAt < periodMs * GROUP
      : periodStart(last.fromAt + CLOCKS_DIFFER_MS, startMs, periodMs) ===
        periodStart(now + CLOCKS_DIFFER_MS, startMs, periodMs));
  if (isOfGroup) Object.assign(last, { lastAt: Math.max(last.lastAt, now), calls: last.calls + calls });
  else spent.push({ fromAt: now, lastAt: now, calls });
}

export function spentOf(spent: CallGroup[], limit: CallLimit, now: number): number {
  const since = countedSince(limit, now);
  return spent.reduce((sum, { lastAt, calls }) => (lastAt >= since ? sum + calls : sum), 0);
}

/** When one more call may go, beside those in flight; null where one of these has to end first. */
export function nextFree(spent: CallGroup[], inFlight: number, limit: CallLimit, now: number): number | null {
  let over = spentOf(spent, limit, now) + inFlight + 1 - limit.calls;
  if (over <= 0) return now;
  const next = nextPeriod(limit, now);
  if (next !== null) return next + CLOCKS_DIFFER_MS;
  const since = countedSince(limit, now);
  for (const { lastAt, calls } of spent) {
    if (lastAt < since) continue;
    over -= calls;
    if (over <= 0) return lastAt + limit.periodMs + 1;
  }
  return null;
}
