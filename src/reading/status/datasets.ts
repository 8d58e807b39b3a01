/** How one dataset stands. */

import { ageOf, isoTime } from '../../clock.ts';
import type { Dataset } from '../../job-list.ts';
import { intervalOf } from '../../schedule.ts';
import { type Connection, PROOF, quoted } from '../../store/read.ts';

export type Doing = {
  /**
   * `never`: no walk was begun. `running`: a process walks it. `waiting`: its walk waits, for `reason`, until
   * `until`. `stopped`: its walk was stopped, or its process died; the next run goes on there. `failed`: the
   * last run met an error. `idle`: the last walk ended.
   */
  state: 'never' | 'running' | 'waiting' | 'stopped' | 'failed' | 'idle';
  /** Progress of the latest walk. */
  pages: number;
  rows: number;
  /** Rows of the dataset as the API last said, where it said so. */
  total: number | null;
  until: string | null;
  reason: string | null;
  /** What the walk last noted: why it stopped, failed or proved nothing. */
  message: string | null;
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
  /** An older copy counts as stale: twice the schedule's interval, at least five minutes; null where it is off. */
  staleAfterSeconds: number | null;
  fresh: boolean;
  doing: Doing;
  /** When a row last came, changed or went. */
  lastChange: string | null;
  nextRun: string | null;
  /** Removals that the last walk held back for the next to agree with. */
  held: number;
  /** Refused rows not yet resolved. */
  quarantined: number;
  /** Differences from what the contract or earlier rows say. */
  drifts: number;
};

type Walk = {
  status: 'running' | 'snoozed' | 'complete' | 'failed';
  verdict: 'snapshot' | 'verified' | 'union' | null;
  startedAt: string;
  pages: number;
  rows: number;
  total: number | null;
  held: number;
  error: string | null;
  waitsUntil: string | null;
  waitsFor: string | null;
};

/** A copy older than this is stale. */
const STALE_AFTER = { intervals: 2, ms: 5 * 60_000 };

export function readDataset(
  connection: Connection,
  { name: job, table, schedule }: Dataset,
  walking: boolean,
  now: number,
): DatasetStatus {
  const latest = readWalk(connection, job, 'true');
  const proof = readWalk(connection, job, PROOF);
  const age = proof ? ageOf(Date.parse(proof.startedAt), now) : null;
  const staleAfterMs = Math.max(intervalOf(schedule, now) * STALE_AFTER.intervals, STALE_AFTER.ms);
  const doing = doingOf(latest, walking, now);
  const { rows, lastSeq, nextRun, quarantined, drifts } = readCounts(connection, job, table);
  return {
    job,
    table,
    rows,
    completeAsOf: proof?.startedAt ?? null,
    ageSeconds: age === null ? null : Math.round(age / 100) / 10,
    verdict: (proof?.verdict as DatasetStatus['verdict']) ?? null,
    staleAfterSeconds: Number.isFinite(staleAfterMs) ? staleAfterMs / 1_000 : null,
    fresh: schedule === 'off' || (age !== null && age <= staleAfterMs),
    doing,
    lastChange: lastSeq === null ? null : isoTime(lastSeq),
    nextRun: doing.until ?? nextRun,
    held: latest?.status === 'complete' ? latest.held : 0,
    quarantined,
    drifts,
  };
}

function readWalk(connection: Connection, job: string, condition: string): Walk | undefined {
  return connection
    .prepare<[string], Walk>(
      `SELECT status, verdict, started_at AS startedAt, pages, rows, total, held, error,
         waits_until AS waitsUntil, waits_for AS waitsFor
       FROM walks WHERE job = ? AND ${condition} ORDER BY id DESC LIMIT 1`,
    )
    .get(job);
}

type Counts = Pick<DatasetStatus, 'rows' | 'nextRun' | 'quarantined' | 'drifts'> & { lastSeq: number | null };

function readCounts(connection: Connection, job: string, table: string): Counts {
  return connection
    .prepare<[{ job: string }], Counts>(
      `SELECT
         (SELECT count(*) FROM ${quoted(table)}) AS rows,
         (SELECT last_seq FROM datasets WHERE job = :job) AS lastSeq,
         (SELECT next_due_at FROM datasets WHERE job = :job) AS nextRun,
         (SELECT count(*) FROM quarantine WHERE job = :job AND resolved_at IS NULL) AS quarantined,
         (SELECT count(*) FROM drift WHERE job = :job) AS drifts`,
    )
    .get({ job }) as Counts;
}

function doingOf(walk: Walk | undefined, walking: boolean, now: number): Doing {
  if (!walk)
    return { state: 'never', pages: 0, rows: 0, total: null, until: null, reason: null, message: null };
  const { pages, rows, total, error: message, waitsUntil: until, waitsFor: reason } = walk;
  const at = { pages, rows, total, until: null, reason: null, message };
  if (walk.status === 'snoozed' && until !== null && until >= isoTime(now))
    return { ...at, state: 'waiting', until, reason };
  if (walk.status === 'running' && walking) return { ...at, state: 'running' };
  const states = { running: 'stopped', snoozed: 'stopped', failed: 'failed', complete: 'idle' } as const;
  return { ...at, state: states[walk.status] };
}
