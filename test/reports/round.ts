/** What a process that runs reports does once: it runs those that are due, and sends what they tell. */

import { systemClock } from '../../src/base/clock.ts';
import type { RunQuery } from '../../src/reading/query.ts';
import { noteReports, readReportFiles, reportDue, runReport, sendMessages } from '../../src/reports.ts';
import type { Store } from '../../src/store.ts';

export type RoundParts = {
  dir: string;
  folder: string;
  url: string;
  store: Store;
  tables: Readonly<Record<string, string>>;
  ask: RunQuery;
};

const { signal } = new AbortController();

export async function runRound({ dir, folder, url, store, tables, ask }: RoundParts): Promise<void> {
  const state = store.reports;
  const clock = systemClock;
  const found = readReportFiles(folder, true);
  const { reports } = found;
  noteReports(state, found);
  for (const report of reports) {
    const known = state.all().find(({ name }) => name === report.name);
    const latestChanges = state.latestChanges();
    const facts = { now: clock.now(), latestChanges, completeAsOf: store.completeAsOf };
    if (reportDue(report, known, facts).at > clock.now()) continue;
    await runReport({ dir, to: folder, tables, state, clock }, report, ask, signal);
  }
  const webhook = { url, proxy: undefined };
  const to = { dir, folder, webhook, reports, state, clock, environment: {}, random: Math.random };
  await sendMessages({ ...to, again: true, say: () => undefined }, signal);
}
