/** Checks everything that the mirror needs, from the settings to the API, and says what to do. */

import { arch, platform } from 'node:os';
import type { Surroundings } from './app.ts';
import { version } from './base/version.ts';
import { examineSettings, readDir } from './config.ts';
import { checkApi } from './doctor/api.ts';
import { type Check, ok, problemOf, skipped } from './doctor/check.ts';
import { checkRedis, checkService, checkSinks } from './doctor/daemon.ts';
import { checkAges, checkDatabase, checkDisk, checkLog } from './doctor/database.ts';
import { checkFiles } from './doctor/files.ts';
import { checkReports } from './doctor/reports.ts';
import { ownSchedules } from './job/list.ts';
import type { Job } from './job.ts';

export type { Check } from './doctor/check.ts';

/**
 * Yields one check after the other. Only the last ones call the API: each endpoint once at most.
 * @param beforeCalls runs before the first call; null for no calls.
 */
export async function* diagnose(
  surroundings: Surroundings,
  jobs: readonly Job[],
  beforeCalls: (() => void) | null,
  signal: AbortSignal,
): AsyncGenerator<Check> {
  const { environment } = surroundings;
  yield ok(
    'program',
    `market-mirror ${version()}, Node.js ${process.versions.node}, ${platform()} ${arch()}`,
  );
  const found = examineSettings(environment, ownSchedules(jobs));
  for (const { name, shown, wrong } of found) yield wrong ? problemOf(name, wrong) : ok(name, shown);

  const dir = readDir(environment);
  yield* checkFiles(dir, environment);
  yield checkDisk(dir);
  const database = checkDatabase(dir);
  yield database;
  yield* checkLog(dir);
  if (database.level === 'ok') yield* checkAges(dir, surroundings.clock.now());
  if (!found.some(({ name, wrong }) => name === 'REDIS_URL' && wrong))
    yield* await checkRedis(dir, environment);
  yield* checkService(dir);
  yield* checkSinks(dir);
  // A wrong setting was reported above.
  if (!found.some(({ name, wrong }) => wrong && /^MIRROR_(REPORTS|NOTIFY)|^reports$/.test(name)))
    yield* await checkReports(dir, surroundings, database.level === 'ok', signal);

  if (!beforeCalls) yield skipped('api', 'not asked: --offline');
  else if (found.some(({ wrong }) => wrong)) yield skipped('api', 'not asked: mend the settings first');
  else if (database.level === 'problem')
    yield skipped('api', 'not asked: the database keeps note of every call');
  else if (database.level === 'warning')
    yield skipped('api', 'not asked: bring the database up to date first');
  else {
    beforeCalls();
    yield* checkApi(surroundings, signal);
  }
}
