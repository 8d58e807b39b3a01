/** A process that runs the reports of a folder again and again, until it is killed: `life.ts <dir> <folder> <webhook>`. Says the rows of each run. */

import { systemClock } from '../../src/base/clock.ts';
import { listJobs, tablesOf } from '../../src/job/list.ts';
import { loadJobs } from '../../src/job/load.ts';
import { withQueryProcess } from '../../src/reading/query.ts';
import { noteReports, readReportFiles, reportDue, runReport, sendMessages } from '../../src/reports.ts';
import { openStore } from '../../src/store.ts';

const [dir = '', folder = '', url = ''] = process.argv.slice(2);
const clock = systemClock;
const store = openStore(dir, await loadJobs(), clock.now);
const tables = tablesOf(await listJobs());
const state = store.reports;
const { signal } = new AbortController();

await withQueryProcess(async (ask) => {
  for (;;) {
    const { reports, mistakes } = readReportFiles(folder, true);
    noteReports(state, { reports, mistakes });
    for (const report of reports) {
      const known = state.all().find(({ name }) => name === report.name);
      const facts = {
        now: clock.now(),
        latestChanges: state.latestChanges(),
        completeAsOf: store.completeAsOf,
      };
      if (reportDue(report, known, facts).at > clock.now()) continue;
      const { rows } = await runReport({ dir, to: folder, tables, state, clock }, report, ask, signal);
      process.stdout.write(`${rows}\n`);
    }
    await sendMessages(
      {
        ...{
          dir,
          folder,
          webhook: { url, proxy: undefined },
          reports,
          state,
          clock,
          environment: {},
          random: Math.random,
        },
        ...{ again: true, say: () => undefined },
      },
      signal,
    );
    await clock.sleep(2);
  }
});
