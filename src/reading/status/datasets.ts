/** How one dataset stands. */

import { ageOf, isoTime, isTooOld } from '../../clock.ts';
import { exitCodes, type FailureKind } from '../../errors.ts';
import type { Dataset } from '../../job-list.ts';
import type { DatasetPlan } from '../../plan.ts';
import { intervalOf } from '../../schedule.ts';
import { type Connection, PROOF, quoted, SEEN } from '../../store/read.ts';

export type Doing = {
  /** Whether all this is of a walk or of a glance; null where there was neither. */
  kind: 'walk' | 'glance' | null;
  /**
   * `never`: no walk was begun. `running`: a process walks it. `waiting`: its walk waits, for `reason`, until
   * `until`. `stopped`: its walk was stopped, or its process died; the next run goes on there. `failed`: the
   * last run met an error. `idle`: the last walk ended.
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
  /** At least so many rows are gone upstream, by the `total` last received; null where the API gives none. */
  goneUpstream: number | null;
  /** Refused rows not yet resolved. */
  quarantined: number;
  /** Differences from what the contract or earlier rows say. */
  drifts: number;
} & Pick<DatasetPlan, 'head' | 'graded'>;

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
  { rows, head, graded, everySeconds }: DatasetPlan,
  walking: boolean,
  now: number,
): DatasetStatus {
  const walk = readWalk(connection, job, `kind = 'walk'`);
  const proof = readWalk(connection, job, PROOF);
  const look = readWalk(connection, job, SEEN);
  const ageMs = proof ? ageOf(Date.parse(proof.startedAt), now) : null;
  const seenAgeMs = look ? ageOf(Date.parse(look.startedAt), now) : null;
  const interval = everySeconds === null ? intervalOf(schedule, now) : everySeconds * 1_000;
  const staleAfterMs = Math.max(interval * STALE_AFTER.intervals, STALE_AFTER.ms);
  const doing = doingNow(walk, readWalk(connection, job, 'true'), walking, now);
  const total = readTotal(connection, job);
  const { lastSeq, nextRun, quarantined, drifts, held, heldBack } = readCounts(connection, job, stored);
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
    held,
    heldBack,
    goneUpstream: total === null ? null : Math.max(0, rows - held - total),
    quarantined,
    drifts,
    head,
    graded,
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

/** An API that gives no total must not cost a look at every walk that there was. */
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

type Counts = Pick<DatasetStatus, 'nextRun' | 'quarantined' | 'drifts' | 'held' | 'heldBack'> & {
  lastSeq: number | null;
};

/** @param stored the table of its rows. */
function readCounts(connection: Connection, job: string, stored: string): Counts {
  const held = `SELECT count(*) FROM ${quoted(stored)} WHERE _held_since IS NOT NULL`;
  return connection
    .prepare<[{ job: string }], Counts>(
      `SELECT
         (SELECT last_seq FROM datasets WHERE job = :job) AS lastSeq,
         (SELECT next_due_at FROM datasets WHERE job = :job) AS nextRun,
         (SELECT count(*) FROM quarantine WHERE job = :job AND resolved_at IS NULL) AS quarantined,
         (SELECT count(*) FROM drift WHERE job = :job) AS drifts,
         (${held}) AS held, (${held} AND _held_reason <> 'unproven') AS heldBack`,
    )
    .get({ job }) as Counts;
}

/** A glance counts while it is under way or has met an error; once it is over, or was stopped, the walk does. */
function doingNow(walk: Walk | undefined, latest: Walk | undefined, walking: boolean, now: number): Doing {
  const isGlance = latest?.kind === 'glance' && latest.finishedAt === null;
  const glance = isGlance ? doingOf(latest, walking, now) : undefined;
  return glance && glance.state !== 'stopped' ? glance : doingOf(walk, walking, now);
}

function doingOf(walk: Walk | undefined, walking: boolean, now: number): Doing {
  if (!walk)
    return {
      ...{ kind: null, state: 'never', pages: 0, rows: 0, total: null },
      ...{ until: null, reason: null, waited: null, message: null, exitCode: null },
    };
  const { kind, pages, rows, total, error: message, waitsUntil: until, waitsFor: reason } = walk;
  const exitCode = walk.status === 'failed' ? exitCodes[walk.errorKind ?? 'bug'] : null;
  const at = { kind, pages, rows, total, until: null, reason: null, waited: null, message, exitCode };
  if (walk.status === 'waiting' && until !== null && until >= isoTime(now))
    return { ...at, state: 'waiting', until, reason };
  if (walk.status === 'running' && walking) return { ...at, state: 'running' };
  const states = { running: 'stopped', waiting: 'stopped', failed: 'failed', complete: 'idle' } as const;
  const waited = walk.status === 'waiting' && until !== null ? { at: until, reason } : null;
  return { ...at, state: states[walk.status], waited };
}
