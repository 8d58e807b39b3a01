/** The state of the mirror as plain data, from the database alone: no call, no Redis, no key. */

import { isoTime } from '../base/clock.ts';
import { exitCodes, worstExitCode } from '../base/errors.ts';
import type { Dataset } from '../job/list.ts';
import { type DatasetPlan, type Limits, type LimitsJson, limitsJson, planOf, readLimits } from '../plan.ts';
import type { Outage } from '../queue.ts';
import { type Connection, livingHolder, logBytes, mirrorFile, readMirror, syncLock } from '../store/read.ts';
import { lagsOf, noSinks, type SinkNotes, type SinkStatuses } from './status/lag.ts';
import { findProblems, type Problem } from './status/problems.ts';
import {
  type CallStatus,
  type DatasetStatus,
  type Growth,
  growthOf,
  readCalls,
  readDataset,
  readNote,
  readService,
  readSilence,
  type ServeStatus,
  type Trouble,
} from './status/read.ts';
import { type FoundReports, type ReportStatus, readReportStatuses } from './status/reports.ts';

export { type FoldedProblem, foldProblems, type Phrase } from '../base/folded-problems.ts';
export type { SinkNote, SinkStatus } from './status/lag.ts';
export { noSinks } from './status/lag.ts';
export { type Problem, relativeTextOf } from './status/problems.ts';
export type { DatasetStatus, Doing, ServeNote, ServeStatus, ServeWord, Trouble } from './status/read.ts';
export { type Growth, readService } from './status/read.ts';
export type { FoundReports, ReportStatus } from './status/reports.ts';

/** What `status --json` prints. Within one `version` members are added, never removed or changed in meaning. */
export type Status = {
  version: 1;
  /** When it was read, ISO 8601 UTC, like every time below. */
  at: string;
  /** 0 where all is well, else that of the gravest problem. */
  exitCode: number;
  file: string;
  daemon: DaemonStatus | null;
  serve: ServeStatus | null;
  /** The gravest first. */
  problems: Problem[];
  datasets: DatasetStatus[];
  reports: ReportStatus[];
  calls: CallStatus['calls'];
} & SinkStatuses &
  LimitsJson;

/** A daemon at work. */
export type DaemonStatus = { pid: number } & DaemonNote;

/** The note beside the lock of the daemon: why runs wait or no service runs (else null), and what has arrived in each sink. */
export type DaemonNote = {
  queue: Outage | null;
  serve: Trouble | null;
} & SinkNotes;

/** @throws Failure `incomplete` where there is no mirror yet, `config` for one newer than this code, `disk`. */
export function readStatus(
  dir: string,
  datasets: readonly Dataset[],
  now: number,
  reports?: FoundReports,
): Status {
  return readMirror(dir, (connection) => statusOf(connection, dir, datasets, now, reports));
}

/** How fast the mirror grows; null while it is not a day old. Costs a count of all rows. */
export function readGrowth(dir: string, datasets: readonly Dataset[], now: number): Growth | null {
  return readMirror(dir, (connection) => growthOf(connection, dir, datasets, now));
}

/** The status of an open mirror, for a caller that reads more of the same moment. @param reports what their folder holds now. */
export function statusOf(
  connection: Connection,
  dir: string,
  datasets: readonly Dataset[],
  now: number,
  reports?: FoundReports,
): Status {
  const health = healthOf(connection, dir, datasets, now, reports);
  const { problems } = health;
  return {
    version: 1 as const,
    at: isoTime(now),
    exitCode: worstExitCode([exitCodes.done, ...problems.map((problem) => problem.exitCode)]),
    file: mirrorFile(dir),
    daemon: health.daemon,
    serve: readService(dir),
    ...health.sinks,
    problems,
    datasets: health.datasets,
    reports: health.reports,
    ...limitsJson(health.limits),
    calls: health.calls().calls,
  };
}

export type Health = Pick<Status, 'daemon' | 'problems' | 'datasets' | 'reports'> & {
  sinks: SinkStatuses;
  limits: Limits;
  /** Of the write-ahead log. */
  logBytes: number;
  /** Costs a look at every call of the last day, once. */
  calls(): CallStatus;
};

/** The cheap part of the status, for callers that ask again and again. */
export function healthOf(
  connection: Connection,
  dir: string,
  datasets: readonly Dataset[],
  now: number,
  found?: FoundReports,
): Health {
  const limits = readLimits(connection, now);
  const plan = planOf(connection, datasets, now, limits);
  const daemon = readDaemon(dir);
  const read = datasets.map((dataset) => {
    const planned = plan.datasets.find(({ job }) => job === dataset.name) as DatasetPlan;
    const holders = {
      walking: livingHolder(dir, dataset.name) !== null,
      sync: livingHolder(dir, syncLock(dataset.name)),
    };
    return readDataset(connection, dataset, planned, holders, now);
  });
  let called: CallStatus | undefined;
  const calls = () => {
    called ??= readCalls(connection, now);
    return called;
  };
  const bytes = logBytes(connection.name);
  const sinks = lagsOf(connection, daemon, now);
  const reports = readReportStatuses(connection, found);
  const problems = findProblems({
    datasets: read,
    waits: limits.waits,
    notes: limits.notes,
    lastCalls: () => calls().lastCalls,
    daemon,
    logBytes: bytes,
    lags: sinks,
    reports,
    silence: readSilence(connection),
    now,
  });
  return { daemon, sinks, problems, datasets: read, reports, limits, logBytes: bytes, calls };
}

/** The daemon at work on the folder, or null where none lives. */
export function readDaemon(dir: string): DaemonStatus | null {
  const pid = livingHolder(dir, 'daemon');
  if (pid === null) return null;
  const noted = readNote<Partial<DaemonNote>>(dir, 'daemon') ?? {};
  return { pid, queue: null, serve: null, ...noSinks, ...noted };
}
