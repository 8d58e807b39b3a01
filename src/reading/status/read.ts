/** What status reads: how each dataset stands, what was called lately, and what the daemon and the service have noted. */

import { statfsSync } from 'node:fs';
import { ageOf, DAY_MS, HOUR_MS, isoTime, isTooOld } from '../../base/clock.ts';
import { exitCodes, type FailureKind } from '../../base/errors.ts';
import { intervalOf } from '../../base/schedule.ts';
import type { Dataset } from '../../job/list.ts';
import type { DatasetPlan } from '../../plan.ts';
import {
  type Connection,
  ERROR_OF_NO_ANSWER,
  holderNote,
  livingHolder,
  NO_ANSWER,
  NOT_STOPPED_BY_US,
  PROOF,
  quoted,
  SEEN,
} from '../../store/read.ts';
import { type ListNotes, readNotes } from './notes.ts';

export type Doing = {
  /** Whether all this is of a walk or of a glance; null where there was neither. */
  kind: 'walk' | 'glance' | null;
  /**
   * `never`: no walk was begun. `running`: a process walks. `waiting`: its walk waits for `reason` until `until`. `stopped`: its walk was
   * stopped or its process died; the next run resumes it. `failed`: the last run met an error. `idle`: the last walk ended.
   */
  state: 'never' | 'running' | 'waiting' | 'stopped' | 'failed' | 'idle';
  /** Progress of the latest walk, or of a glance under way. */
  pages: number;
  rows: number;
  /** Rows of the dataset as the API last said, where it said so. */
  total: number | null;
  until: string | null;
  reason: string | null;
  /** Of one that is `stopped`: until when it had to wait, and for what; null where it did not. */
  waited: { at: string; reason: string | null } | null;
  /** What the walk last noted: why it stopped, failed or proved nothing. */
  message: string | null;
  /** Of one that is `failed`: the exit code that `sync` has for it; else null. */
  exitCode: number | null;
  /** The process of a `sync` that is at work on the dataset, or waits to be; null where there is none. */
  sync: number | null;
};

export type DatasetStatus = {
  job: string;
  table: string;
  rows: number;
  /** When the last walk that proved it complete began; what `ageSeconds` counts from. */
  completeAsOf: string | null;
  /** Null also where `completeAsOf` lies ahead of the clock. */
  ageSeconds: number | null;
  verdict: 'snapshot' | 'verified' | null;
  /** When the latest walk or glance that ended well began: it proves nothing. Null also where that lies ahead of the clock. */
  seenAsOf: string | null;
  seenAgeSeconds: number | null;
  /** An older copy counts as stale: twice the interval of the plan, at least five minutes; null where it is off. */
  staleAfterSeconds: number | null;
  fresh: boolean;
  doing: Doing;
  /** When a row last came, changed or went. */
  lastChange: string | null;
  nextRun: string | null;
  /** Rows that the last proof did not show, see `_held_since`; and those of them that are too many or too doubtful to go. */
  held: number;
  heldBack: number;
  /** Of these, those that are held since the proof met rows without a readable key. */
  heldUnkeyed: number;
  /** At least so many rows are gone upstream, by the `total` last received; null where the API gives none. */
  goneUpstream: number | null;
  /** Refused rows not yet resolved. */
  quarantined: number;
  /** Differences from what the contract or earlier rows say. */
  drifts: number;
  notes: ListNotes;
} & Pick<DatasetPlan, 'head'>;

type Walk = {
  kind: 'walk' | 'glance';
  status: 'running' | 'waiting' | 'complete' | 'failed';
  verdict: 'snapshot' | 'verified' | 'union' | null;
  startedAt: string;
  finishedAt: string | null;
  pages: number;
  rows: number;
  total: number | null;
  error: string | null;
  errorKind: FailureKind | null;
  waitsUntil: string | null;
  waitsFor: string | null;
};

/** A copy older than this is stale. */
const STALE_AFTER = { intervals: 2, ms: 5 * 60_000 };

/** @param plan what is planned for it: how often it is walked where calls are scarce, and what was learnt of its head. */
export function readDataset(
  connection: Connection,
  { name: job, table, rows: stored, schedule }: Dataset,
  { rows, head, everySeconds }: DatasetPlan,
  { walking, sync }: { walking: boolean; sync: number | null },
  now: number,
): DatasetStatus {
  const walk = readWalk(connection, job, `kind = 'walk'`);
  const proof = readWalk(connection, job, PROOF);
  const look = readWalk(connection, job, SEEN);
  const ageMs = proof ? ageOf(Date.parse(proof.startedAt), now) : null;
  const seenAgeMs = look ? ageOf(Date.parse(look.startedAt), now) : null;
  const interval = everySeconds === null ? intervalOf(schedule, now) : everySeconds * 1_000;
  const staleAfterMs = Math.max(interval * STALE_AFTER.intervals, STALE_AFTER.ms);
  const found = { ...doingNow(walk, readWalk(connection, job, 'true'), walking, now), sync };
  const doing = isPastRefusal(connection, found) ? afterRefusal(found, proof !== undefined) : found;
  const total = readTotal(connection, job);
  const { lastSeq, nextRun, ...counts } = readCounts(connection, job, stored);
  const whole = readWalk(connection, job, `kind = 'walk' AND status = 'complete' AND renewal_of IS NULL`);
  return {
    job,
    table,
    rows,
    completeAsOf: proof?.startedAt ?? null,
    ageSeconds: secondsOf(ageMs),
    verdict: (proof?.verdict as DatasetStatus['verdict']) ?? null,
    seenAsOf: seenAgeMs === null ? null : (look?.startedAt ?? null),
    seenAgeSeconds: secondsOf(seenAgeMs),
    staleAfterSeconds: Number.isFinite(staleAfterMs) ? staleAfterMs / 1_000 : null,
    fresh: schedule === 'off' || !isTooOld(ageMs, staleAfterMs),
    doing,
    lastChange: lastSeq === null ? null : isoTime(lastSeq),
    nextRun: doing.until ?? nextRun,
    ...counts,
    goneUpstream: total === null ? null : Math.max(0, rows - counts.held - total),
    notes: readNotes(connection, { name: job, table }, whole?.startedAt ?? null, now),
    head,
  };
}

const secondsOf = (ms: number | null) => (ms === null ? null : Math.round(ms / 100) / 10);

function readWalk(connection: Connection, job: string, condition: string): Walk | undefined {
  return connection
    .prepare<[string], Walk>(
      `SELECT kind, status, verdict, started_at AS startedAt, finished_at AS finishedAt, pages, rows, total, error,
         error_kind AS errorKind, waits_until AS waitsUntil, waits_for AS waitsFor
       FROM walks WHERE job = ? AND ${condition} ORDER BY id DESC LIMIT 1`,
    )
    .get(job);
}

/** Where the API gives no total, only so many walks are searched for one. */
const LATEST_WALKS = 10;

function readTotal(connection: Connection, job: string): number | null {
  return (
    connection
      .prepare<[string, number], number>(
        `SELECT total FROM (SELECT id, total FROM walks WHERE job = ? ORDER BY id DESC LIMIT ?)
         WHERE total IS NOT NULL ORDER BY id DESC LIMIT 1`,
      )
      .pluck()
      .get(job, LATEST_WALKS) ?? null
  );
}

type Counts = Pick<
  DatasetStatus,
  'nextRun' | 'quarantined' | 'drifts' | 'held' | 'heldBack' | 'heldUnkeyed'
> & {
  lastSeq: number | null;
};

/** @param stored the table of its rows. */
function readCounts(connection: Connection, job: string, stored: string): Counts {
  const held = `SELECT count(*) FROM ${quoted(stored)} WHERE _held_since IS NOT NULL`;
  return connection
    .prepare<[{ job: string }], Counts>(
      `SELECT
         (SELECT last_seq FROM _datasets WHERE job = :job) AS lastSeq,
         (SELECT next_due_at FROM _datasets WHERE job = :job) AS nextRun,
         (SELECT count(*) FROM quarantine WHERE job = :job AND resolved_at IS NULL) AS quarantined,
         (SELECT count(*) FROM drift WHERE job = :job) AS drifts,
         (${held}) AS held, (${held} AND _held_reason <> 'unproven') AS heldBack,
         (${held} AND _held_reason = 'unkeyed') AS heldUnkeyed`,
    )
    .get({ job }) as Counts;
}

/** A glance counts while it is under way or has failed; otherwise the walk does. */
function doingNow(walk: Walk | undefined, latest: Walk | undefined, walking: boolean, now: number): Found {
  const isGlance = latest?.kind === 'glance' && latest.finishedAt === null;
  const glance = isGlance ? doingOf(latest, walking, now) : undefined;
  return glance && glance.state !== 'stopped' ? glance : doingOf(walk, walking, now);
}

/** By the walks alone. */
type Found = Omit<Doing, 'sync'>;

/** A refusal of the key, in the words of the API client or of the governor. */
const KEY_REFUSED = /^(?:[\w-]+: )?the API refused the key\b/;

/** Whether the run failed by a key that the API has accepted since. */
function isPastRefusal(connection: Connection, { exitCode, message }: Found): boolean {
  if (exitCode !== exitCodes.key || !KEY_REFUSED.test(message ?? '')) return false;
  const latest = connection.prepare<[], number>(
    'SELECT status FROM requests WHERE status IN (200, 401) ORDER BY at DESC, id DESC LIMIT 1',
  );
  return latest.pluck().get() === 200;
}

/** As if that run had not been. */
const afterRefusal = (doing: Doing, isProven: boolean): Doing => ({
  ...doing,
  state: isProven ? 'idle' : 'never',
  message: null,
  exitCode: null,
});

function doingOf(walk: Walk | undefined, walking: boolean, now: number): Found {
  if (!walk)
    return {
      ...{ kind: null, state: 'never', pages: 0, rows: 0, total: null },
      ...{ until: null, reason: null, waited: null, message: null, exitCode: null },
    };
  const { kind, pages, rows, total, waitsUntil: until, waitsFor: reason } = walk;
  const isUnproven = walk.status === 'complete' && walk.verdict === 'union';
  const message = walk.error ?? (isUnproven ? 'the API does not say where this list ends' : null);
  const exitCode = walk.status === 'failed' ? exitCodes[walk.errorKind ?? 'bug'] : null;
  const at = { kind, pages, rows, total, until: null, reason: null, waited: null, message, exitCode };
  if (walk.status === 'waiting' && until !== null && until >= isoTime(now))
    return { ...at, state: 'waiting', until, reason };
  if (walk.status === 'running' && walking) return { ...at, state: 'running' };
  const states = { running: 'stopped', waiting: 'stopped', failed: 'failed', complete: 'idle' } as const;
  const waited = walk.status === 'waiting' && until !== null ? { at: until, reason } : null;
  return { ...at, state: states[walk.status], waited };
}

export type CallStatus = {
  calls: {
    /** Since midnight UTC. */
    today: number;
    todayByJob: Record<string, number>;
    /** In the last hour, and in the last 24. */
    lastHour: number;
    lastDay: number;
    byJob: Record<string, { lastHour: number; lastDay: number }>;
    /** Answers with status 429 in the last 24 hours. */
    limitedLastDay: number;
  };
  /** The latest call of each job in the last 24 hours. */
  lastCalls: Map<string, LastCall>;
};

export type LastCall = {
  status: number | null;
  errorCode: string | null;
  requestId: string | null;
  /** 1 where no answer came, and it was not we who stopped the call. */
  isUnanswered: 0 | 1;
};

/** Since when no call at all got an answer, ISO 8601 UTC, and the error code of the latest. */
export type Silence = { since: string; code: string };

type JobCalls = LastCall & { job: string; today: number; lastHour: number; lastDay: number; limited: number };

export function readCalls(connection: Connection, now: number): CallStatus {
  const midnight = `${isoTime(now).slice(0, 10)}T00:00:00.000Z`;
  const perJob = connection
    .prepare<[string, string, string], JobCalls>(
      // The bare columns are those of the row with the greatest value: SQLite promises it for a lone max().
      `SELECT job, max(CASE WHEN ${NOT_STOPPED_BY_US} THEN at || printf('%016d', id) END), status, ${ERROR_OF_NO_ANSWER} AS errorCode, request_id AS requestId,
         ${NOT_STOPPED_BY_US} AND ${NO_ANSWER} AS isUnanswered,
         sum(at >= ?) AS today, sum(at >= ?) AS lastHour, count(*) AS lastDay, sum(status IS 429) AS limited
       FROM requests WHERE at >= ? GROUP BY job ORDER BY job`,
    )
    .all(midnight, isoTime(now - HOUR_MS), isoTime(now - DAY_MS));
  const total = (of: (calls: JobCalls) => number) => perJob.reduce((sum, calls) => sum + of(calls), 0);
  const called = perJob.filter(({ today }) => today > 0);
  return {
    calls: {
      today: total(({ today }) => today),
      todayByJob: Object.fromEntries(called.map(({ job, today }) => [job, today])),
      lastHour: total(({ lastHour }) => lastHour),
      lastDay: total(({ lastDay }) => lastDay),
      byJob: Object.fromEntries(perJob.map(({ job, lastHour, lastDay }) => [job, { lastHour, lastDay }])),
      limitedLastDay: total(({ limited }) => limited),
    },
    lastCalls: new Map(perJob.map(({ job, ...call }) => [job, call])),
  };
}

/** Null where the API answered the latest call, or there was none. Looks at no more calls than went unanswered. */
export function readSilence(connection: Connection): Silence | null {
  const latest = 'ORDER BY at DESC, id DESC LIMIT 1';
  const answered = `SELECT at, id FROM requests WHERE ${NOT_STOPPED_BY_US} AND NOT ${NO_ANSWER} ${latest}`;
  const { since, code } = connection
    .prepare<[], { since: string | null; code: string }>(
      `SELECT min(at) AS since,
         (SELECT ${ERROR_OF_NO_ANSWER} FROM requests WHERE ${NOT_STOPPED_BY_US} ${latest}) AS code
       FROM requests WHERE ${NOT_STOPPED_BY_US}
         AND (at, id) > (SELECT at, id FROM (${answered}) UNION ALL SELECT '', 0 LIMIT 1)`,
    )
    .get() as { since: string | null; code: string };
  return since === null ? null : { since, code };
}

function sum(connection: Connection, sql: string, ...values: string[]): number {
  return (
    connection
      .prepare<string[], number | null>(sql)
      .pluck()
      .get(...values) ?? 0
  );
}

export type Growth = { bytesPerDay: number; freeBytes: number };

const GROWTH_WINDOW_MS = 7 * DAY_MS;

/** By the rows, versions and calls of the last days at their mean size, without the first walks. Null before a day has passed. */
export function growthOf(
  connection: Connection,
  dir: string,
  datasets: readonly Dataset[],
  now: number,
): Growth | null {
  const since = Math.max(
    now - GROWTH_WINDOW_MS,
    Date.parse(
      connection.prepare<[], string | null>('SELECT min(started_at) FROM walks').pluck().get() ??
        isoTime(now),
    ),
  );
  if (now - since < DAY_MS) return null;
  const time = isoTime(since);
  const added =
    sum(
      connection,
      `SELECT sum(inserted + updated) FROM walks AS walk WHERE started_at >= ? AND id >
         (SELECT min(id) FROM walks WHERE job = walk.job AND status = 'complete')`,
      time,
    ) + sum(connection, 'SELECT count(*) FROM requests WHERE at >= ?', time);
  const names = datasets.flatMap(({ rows, table }) => [rows, `_${table}_history_rows`]);
  const tables = connection
    .prepare<[string], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN (SELECT value FROM json_each(?))`,
    )
    .pluck()
    .all(JSON.stringify(['requests', ...names]));
  const all = tables.reduce(
    (count, name) => count + sum(connection, `SELECT count(*) FROM ${quoted(name)}`),
    0,
  );
  const size = sum(
    connection,
    'SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size',
  );
  const { bavail, bsize } = statfsSync(dir);
  const days = (now - since) / DAY_MS;
  return { bytesPerDay: (added / days) * (size / Math.max(1, all)), freeBytes: bavail * bsize };
}

/** What the process that serves leaves beside its lock. */
export type ServeNote = {
  /** Where it is reached. */
  url: string;
  /** Since when, ISO 8601 UTC. */
  since: string;
  /** Who may see its page, as MIRROR_SERVE_PAGE has it; absent where an earlier version serves. */
  page?: 'off' | 'token' | 'open';
  /** Where no link opens it. */
  links?: false;
};

/** What the process that serves says to the daemon that started it. */
export type ServeWord = { serving: string } | { failed: string };

/** What keeps a part of the daemon, its service or a sink, from its work, as the daemon notes it. */
export type Trouble = {
  /** One line for a person. */
  message: string;
  /** ISO 8601 UTC. */
  since: string;
  /** When it is tried again. */
  nextTry: string;
};

/** A process that serves; address and time are null until it listens. */
export type ServeStatus = { pid: number; url: string | null; since: string | null } & Pick<
  ServeNote,
  'page' | 'links'
>;

/** The process that serves from the folder, or null where none lives. */
export function readService(dir: string): ServeStatus | null {
  const pid = livingHolder(dir, 'serve');
  return pid === null ? null : { pid, ...(readNote<ServeNote>(dir, 'serve') ?? { url: null, since: null }) };
}

/** A note may be read in the middle of being written, which takes microseconds. */
const TRIES = 3;

/** The note of the holder of the lock, which is JSON. */
export function readNote<Note>(dir: string, lock: string): Note | null {
  for (let left = TRIES; left > 0; left -= 1) {
    const note = holderNote(dir, lock);
    if (note === null) return null;
    try {
      return JSON.parse(note) as Note;
    } catch {}
  }
  return null;
}
