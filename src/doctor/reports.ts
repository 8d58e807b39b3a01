/** The reports: their folder, what is wrong with each file, and whether its SQL can run. */

import type { Surroundings } from '../app.ts';
import { readReporting } from '../config.ts';
import { listJobs, tablesOf } from '../job/list.ts';
import { withQueryProcess } from '../reading/query.ts';
import { checkReport, type Report, readReportFiles } from '../reports.ts';
import { type Check, ok, problem, problemOf, skipped } from './check.ts';

const NAME = 'reports';

/** @param hasMirror whether there is one that their SQL can be tried on. */
export async function checkReports(
  dir: string,
  { environment, clock }: Surroundings,
  hasMirror: boolean,
  signal: AbortSignal,
): Promise<Check[]> {
  try {
    const settings = readReporting(environment);
    if (!settings) return [];
    const { reports, mistakes } = readReportFiles(settings.folder, settings.webhook !== undefined);
    const wrong = mistakes.map(({ message }) => problem(NAME, 'config', message));
    if (!hasMirror) return [...wrong, skipped(NAME, `${reports.length} to run once there is a mirror`)];
    const failed = await tryAll(dir, reports, clock, signal);
    const found = [...wrong, ...failed];
    return found.length > 0 ? found : [ok(NAME, `${reports.length} in ${settings.folder}, which can run`)];
  } catch (thrown) {
    return [problemOf(NAME, thrown)];
  }
}

async function tryAll(
  dir: string,
  reports: readonly Report[],
  clock: Surroundings['clock'],
  signal: AbortSignal,
): Promise<Check[]> {
  if (reports.length === 0) return [];
  const tables = tablesOf(await listJobs());
  return await withQueryProcess(async (ask) => {
    const failed: Check[] = [];
    for (const report of reports)
      await checkReport({ dir, tables, clock }, report, ask, signal).catch((thrown) => {
        failed.push(problemOf(NAME, thrown));
      });
    return failed;
  });
}
