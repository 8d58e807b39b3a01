/** What the last week tells of a dataset: what a walk of it costs, and how often it changes. */

import { DAY_MS, isoTime } from '../clock.ts';
import { type Connection, quoted } from '../store/read.ts';

export type Facts = {
  rows: number;
  /** Calls of a walk that reads the dataset whole, and of one that finds it unchanged; null where none has ended. */
  calls: { changed: number; unchanged: number } | null;
  /** Walks that were compared with the one before them; null where there is none yet. */
  observed: Observed | null;
  /** Milliseconds of one call; null where none was made lately. */
  callMs: number | null;
};

export type Observed = {
  walks: number;
  /** Those that changed rows. */
  changed: number;
  /** Those that had to read the dataset whole, where one call may do. */
  whole: number;
  since: string;
  /** How often a walk has to read it whole, by these. */
  perDay: number;
};

type Walk = {
  startedAt: string;
  pages: number;
  calls: number;
  rows: number;
  total: number | null;
  verdict: string;
  isWhole: 0 | 1;
  hasChanged: 0 | 1;
};

const LOOKED_BACK_MS = 7 * DAY_MS;
const MOST_WALKS = 1_000;
/** The calls of a walk are the middle of so many of the latest: one that met trouble does not count. */
const LATEST = 5;
/** Once a day a dataset is read whole, whatever one call says. */
const LEAST_WHOLE_PER_DAY = 1;

export function readFacts(connection: Connection, job: string, table: string, now: number): Facts {
  const walks = connection
    .prepare<[string, number], Walk>(
      `SELECT started_at AS startedAt, pages, api_calls AS calls, rows, total, verdict,
         probe_of IS NULL AS isWhole, inserted + updated + deleted > 0 AS hasChanged
       FROM walks WHERE job = ? AND status = 'complete' ORDER BY id DESC LIMIT ?`,
    )
    .all(job, MOST_WALKS);
  return {
    rows:
      connection
        .prepare<[], number>(`SELECT count(*) FROM ${quoted(table)}`)
        .pluck()
        .get() ?? 0,
    calls: callsOf(walks.filter(({ isWhole }) => isWhole)) ?? callsByTotal(connection, job),
    observed: observe(
      walks.filter(
        ({ startedAt }) => startedAt >= isoTime(now - LOOKED_BACK_MS) && startedAt <= isoTime(now),
      ),
    ),
    callMs: readCallMs(connection, job, now),
  };
}

function callsOf(whole: Walk[]): Facts['calls'] {
  const latest = whole.slice(0, LATEST);
  const [last] = latest;
  if (!last) return null;
  const calls = latest.map((walk) => walk.calls).sort((one, other) => one - other);
  const changed = calls[Math.floor(calls.length / 2)] ?? last.calls;
  const oneWillDo = last.verdict === 'snapshot' && last.pages > 1;
  return { changed, unchanged: oneWillDo ? 1 : changed };
}

/** Where no walk has ended yet, one under way may know how much there is. */
function callsByTotal(connection: Connection, job: string): Facts['calls'] {
  const calls = connection
    .prepare<[string, number], number | null>(
      `SELECT ceil(1.0 * total * pages / rows)
       FROM (SELECT id, total, pages, rows FROM walks WHERE job = ? ORDER BY id DESC LIMIT ?)
       WHERE total > 0 AND rows > 0 ORDER BY id DESC LIMIT 1`,
    )
    .pluck()
    .get(job, MOST_WALKS);
  return calls ? { changed: calls, unchanged: calls } : null;
}

/** @param walks the latest first; the earliest has none before it to be compared with. */
function observe(walks: readonly Walk[]): Observed | null {
  const compared = walks.slice(0, -1);
  const [latest, earliest] = [walks[0], walks.at(-1)];
  if (!latest || !earliest || compared.length === 0) return null;
  const count = (is: (walk: Walk) => 0 | 1) => compared.reduce((sum, walk) => sum + is(walk), 0);
  const whole = count((walk) => walk.isWhole);
  const spanMs = Math.max(1, Date.parse(latest.startedAt) - Date.parse(earliest.startedAt));
  return {
    walks: compared.length,
    changed: count((walk) => walk.hasChanged),
    whole,
    since: earliest.startedAt,
    perDay: Math.max(LEAST_WHOLE_PER_DAY, changesBehind(compared.length, whole) * (DAY_MS / spanMs)),
  };
}

/**
 * Changes in all the time that was looked at, of which some fell between two looks (Cho and Garcia-Molina, Estimating
 * frequency of change, 2003), and half a one more: a dataset that stood still for a minute may not for a day.
 */
function changesBehind(looks: number, changed: number): number {
  return 0.5 - Math.log((looks - changed + 0.5) / (looks + 0.5)) * looks;
}

function readCallMs(connection: Connection, job: string, now: number): number | null {
  return (
    connection
      .prepare<[string, string], number | null>(
        'SELECT avg(ms) FROM requests WHERE at >= ? AND job = ? AND status = 200',
      )
      .pluck()
      .get(isoTime(now - DAY_MS), job) ?? null
  );
}
