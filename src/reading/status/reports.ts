/** Reports: their last runs, what is wrong with them, and what they could not tell. */

import { exitCodes, type FailureKind } from '../../base/errors.ts';
import type { Connection } from '../../store/read.ts';

/** A report as `status` shows it. Times are ISO 8601 UTC. */
export type ReportStatus = {
  report: string;
  title: string;
  lastRun: string | null;
  durationSeconds: number | null;
  /** Of its last result; and those of which nobody had been told before. */
  rows: number | null;
  newRows: number | null;
  /** The path of its last file. */
  file: string | null;
  /** Why it waits for a proof. */
  waits: string | null;
  /** What is wrong with its file, or why its last run failed; and the exit code of `report` for that, else 0. */
  error: string | null;
  exitCode: number;
  /** Messages that could not be sent yet: how many, since when, and why. */
  unsent: { messages: number; since: string; error: string } | null;
  /** Messages of the last three days that were given up. */
  givenUp: number;
};

type Row = Omit<ReportStatus, 'exitCode' | 'unsent' | 'error'> & {
  error: string | null;
  errorKind: FailureKind | null;
  mistake: string | null;
  waiting: number;
  since: string | null;
  why: string | null;
};

/** The reports that there are, and what is wrong with files, by the name of their report. */
export type FoundReports = { names: readonly string[]; mistakes: ReadonlyMap<string, string> };

/** @param found what their folder holds now; by default what the mirror knows of it. */
export function readReportStatuses(connection: Connection, found?: FoundReports): ReportStatus[] {
  const rows = connection
    .prepare<[], Row>(
      `SELECT name AS report, title, ran_at AS lastRun, duration_ms / 1000.0 AS durationSeconds, "rows", new_rows AS newRows,
         receipt ->> 'file' AS file, waits, mistake, error, error_kind AS errorKind,
         (SELECT count(*) FROM _report_messages AS m WHERE m.report = name AND sent_at IS NULL AND given_up_at IS NULL AND failures > 0) AS waiting,
         (SELECT min(at) FROM _report_messages AS m WHERE m.report = name AND sent_at IS NULL AND given_up_at IS NULL AND failures > 0) AS since,
         (SELECT m.error FROM _report_messages AS m WHERE m.report = name AND sent_at IS NULL AND given_up_at IS NULL AND failures > 0
          ORDER BY at DESC LIMIT 1) AS why,
         (SELECT count(*) FROM _report_messages AS m WHERE m.report = name AND given_up_at IS NOT NULL) AS givenUp
       FROM _reports ORDER BY name`,
    )
    .all();
  const known = new Map(rows.map((row) => [row.report, row]));
  const names = found ? [...new Set([...found.names, ...found.mistakes.keys()])].sort() : [...known.keys()];
  return names.map((name) => statusOf(known.get(name) ?? neverRun(name), found));
}

function statusOf(
  { errorKind, mistake, waiting, since, why, ...row }: Row,
  found: FoundReports | undefined,
): ReportStatus {
  const wrong = found ? (found.mistakes.get(row.report) ?? null) : mistake;
  const isFailed = wrong !== null || row.error !== null;
  return {
    ...row,
    error: wrong ?? row.error,
    exitCode: isFailed ? exitCodes[wrong !== null ? 'config' : (errorKind ?? 'bug')] : exitCodes.done,
    unsent: waiting === 0 || since === null ? null : { messages: waiting, since, error: why ?? '' },
  };
}

const neverRun = (report: string): Row => ({
  ...{
    report,
    title: report,
    lastRun: null,
    durationSeconds: null,
    rows: null,
    newRows: null,
    file: null,
    waits: null,
  },
  ...{ mistake: null, error: null, errorKind: null, waiting: 0, since: null, why: null, givenUp: 0 },
});
