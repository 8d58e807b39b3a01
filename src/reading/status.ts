/** The state of the mirror as plain data, from the database alone: no call, no Redis, no key. */

import { isoTime } from '../clock.ts';
import { exitCodes, worstExitCode } from '../errors.ts';
import type { Dataset } from '../job-list.ts';
import { type CallStatus, readCalls } from '../plan/calls.ts';
import { type DescribeGovernor, type Limits, readLimits } from '../plan/limits.ts';
import { livingHolder, logBytes, mirrorFile, openMirror, storeFailure } from '../store/read.ts';
import { type DatasetStatus, readDataset } from './status/datasets.ts';
import { findProblems, type Problem } from './status/problems.ts';
import { type QueueOutage, queueOutage } from './status/queue.ts';

export type { CallStatus } from '../plan/calls.ts';
export type { DescribeGovernor, QuotaStatus, WaitStatus } from '../plan/limits.ts';
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
  /** The daemon at work on this folder, or null; `queue` is why its runs wait, or null. */
  daemon: { pid: number; queue: QueueOutage | null } | null;
  /** The gravest first. */
  problems: Problem[];
  datasets: DatasetStatus[];
  calls: CallStatus['calls'];
} & Limits;

/**
 * @param describe what the governor says of the state that it kept; without it, only what the API last reported.
 * @throws Failure `incomplete` where there is no mirror yet, `config` for one newer than this code, `disk`.
 */
export function readStatus(
  dir: string,
  datasets: readonly Dataset[],
  now: number,
  describe?: DescribeGovernor,
): Status {
  const connection = openMirror(dir);
  try {
    return connection.transaction(() => {
      const { calls, reported, lastCalls } = readCalls(connection, now);
      const limits = readLimits(connection, reported, now, describe);
      const pid = livingHolder(dir, 'daemon');
      const daemon = pid === null ? null : { pid, queue: queueOutage(dir) };
      const read = datasets.map((dataset) =>
        readDataset(connection, dataset, livingHolder(dir, dataset.name) !== null, now),
      );
      const problems = findProblems(read, limits.waits, lastCalls, daemon, logBytes(connection.name));
      return {
        version: 1 as const,
        at: isoTime(now),
        exitCode: worstExitCode([exitCodes.done, ...problems.map((problem) => problem.exitCode)]),
        file: mirrorFile(dir),
        daemon,
        problems,
        datasets: read,
        ...limits,
        calls,
      };
    })();
  } catch (thrown) {
    throw storeFailure(thrown, connection.name);
  } finally {
    connection.close();
  }
}
