/** The state of the mirror as plain data, from the database alone: no call, no Redis, no key. */

import { isoTime } from '../clock.ts';
import { exitCodes, worstExitCode } from '../errors.ts';
import type { Dataset } from '../job-list.ts';
import { type LimitsJson, limitsJson } from '../plan/json.ts';
import { readLimits } from '../plan/limits.ts';
import { type DatasetPlan, planOf, type Spending } from '../plan.ts';
import type { Outage } from '../queue/index.ts';
import { holderNote, livingHolder, logBytes, mirrorFile, readMirror } from '../store/read.ts';
import { type CallStatus, readCalls } from './status/calls.ts';
import { type DatasetStatus, readDataset } from './status/datasets.ts';
import { findProblems, type Problem } from './status/problems.ts';

export type { DatasetStatus, Doing } from './status/datasets.ts';
export type { Problem } from './status/problems.ts';

/** What `status --json` prints. Within one `version` members are added, never removed or changed in meaning. */
export type Status = {
  version: 1;
  /** When it was read, ISO 8601 UTC, like every time below. */
  at: string;
  /** 0 where all is well, else that of the gravest problem. */
  exitCode: number;
  file: string;
  daemon: DaemonStatus | null;
  /** The gravest first. */
  problems: Problem[];
  datasets: DatasetStatus[];
  calls: CallStatus['calls'];
} & LimitsJson;

/** A daemon at work; `queue` is why its runs wait, or null. */
export type DaemonStatus = { pid: number; queue: Outage | null };

/** @throws Failure `incomplete` where there is no mirror yet, `config` for one newer than this code, `disk`. */
export function readStatus(
  dir: string,
  datasets: readonly Dataset[],
  spending: Spending,
  now: number,
): Status {
  return readMirror(dir, (connection) => {
    const { calls, lastCalls } = readCalls(connection, now);
    const limits = readLimits(connection, now);
    const plan = planOf(connection, datasets, spending, now, limits);
    const daemon = readDaemon(dir);
    const read = datasets.map((dataset) => {
      const planned = plan.datasets.find(({ job }) => job === dataset.name) as DatasetPlan;
      return readDataset(connection, dataset, planned, livingHolder(dir, dataset.name) !== null, now);
    });
    const problems = findProblems(read, limits.waits, lastCalls, daemon, logBytes(connection.name));
    return {
      version: 1 as const,
      at: isoTime(now),
      exitCode: worstExitCode([exitCodes.done, ...problems.map((problem) => problem.exitCode)]),
      file: mirrorFile(dir),
      daemon,
      problems,
      datasets: read,
      ...limitsJson(limits),
      calls,
    };
  });
}

/** The daemon at work on the folder, or null where none lives. */
export function readDaemon(dir: string): DaemonStatus | null {
  const pid = livingHolder(dir, 'daemon');
  return pid === null ? null : { pid, queue: readOutage(dir) };
}

/** A note may be read in the middle of being written, which takes microseconds. */
const TRIES = 3;

/** Why the runs of the daemon wait, as it notes beside its lock. */
function readOutage(dir: string): Outage | null {
  for (let left = TRIES; left > 0; left -= 1) {
    const note = holderNote(dir, 'daemon');
    if (note === null) return null;
    try {
      return JSON.parse(note) as Outage;
    } catch {}
  }
  return null;
}
