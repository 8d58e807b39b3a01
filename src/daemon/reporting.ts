/** Runs reports by the daemon: by their schedules, and after each commit that changed what they read; then sends what they tell. */

import type { Clock, Random } from '../base/clock.ts';
import type { Environment } from '../base/environment.ts';
import { Failure, toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { ReportSettings } from '../config.ts';
import type { MirrorQueue } from '../queue.ts';
import { withQueryProcess } from '../reading/query.ts';
import {
  noteReports,
  type Report,
  type ReportFiles,
  readReportFiles,
  reportDue,
  runReport,
  sendMessages,
  Unproven,
} from '../reports.ts';
import type { Store } from '../store.ts';

export type ReportingParts = {
  dir: string;
  settings: ReportSettings;
  /** The mirrored tables with their jobs. */
  tables: Readonly<Record<string, string>>;
  store: Store;
  /** What wakes them, once it is there; until then, and while Redis is away, they run by the timer. */
  queue(): Pick<MirrorQueue, 'scheduleReports' | 'wakeReport'> | undefined;
  /** Of their commands. */
  environment: Environment;
  clock: Clock;
  random: Random;
  log: Pick<Log, 'info' | 'warn' | 'error'>;
};

export type Reporting = {
  /** Something was committed, which reports may read. */
  heard(): void;
  /** Runs a report if it is due. Never rejects. */
  run(name: string): Promise<void>;
  /** Ends it at once; what was not done is due at the next start. */
  end(): Promise<void>;
};

/** Between two looks at what is due. */
const LOOK_MS = 2_000;
/** Between two looks where one commit follows another. */
const LEAST_LOOK_MS = 250;
/** So many run at once. */
const CONCURRENCY = 2;
/** A tick of a scheduler may come a little before the interval since the last run is over. */
const EARLY = 0.5;

/** @throws Failure `config` for a folder of reports that cannot be read, or that others may write. */
export function keepReporting(parts: ReportingParts): Reporting {
  const { dir, settings, tables, store, environment, clock, random, log } = parts;
  const { folder, to, webhook } = settings;
  const state = store.reports;
  const ending = new AbortController();
  const { signal } = ending;
  const running = new Map<string, Promise<void>>();
  /** What was logged last of a report, of sending and of the folder: the same is not logged again. */
  const logged = new Map<string, string>();
  const sending = new Set<Promise<void>>();
  let scheduled = '';
  let wake = () => {};
  let found: ReportFiles = readReportFiles(folder, webhook !== undefined);

  const looking = lookAgainAndAgain();

  async function lookAgainAndAgain(): Promise<void> {
    while (!signal.aborted) {
      const heard = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await look().catch((thrown) => warnOnce('reports', toError(thrown).message));
      await clock.sleep(LEAST_LOOK_MS, signal).catch(() => undefined);
      await Promise.race([heard, clock.sleep(LOOK_MS - LEAST_LOOK_MS, signal).catch(() => undefined)]);
    }
  }

  async function look(): Promise<void> {
    found = readReportFiles(folder, webhook !== undefined);
    logged.delete('reports');
    noteReports(state, found);
    for (const { report, message } of found.mistakes) warnOnce(`${report}.sql`, message);
    followSchedules();
    const facts = factsNow();
    for (const report of found.reports) {
      if (signal.aborted) return;
      if (
        isDue(report, facts) &&
        !(await parts.queue()?.wakeReport(report.name)) &&
        running.size < CONCURRENCY
      )
        void run(report.name);
    }
    send();
  }

  function followSchedules(): void {
    const queue = parts.queue();
    const schedules = found.reports.flatMap(({ name, run }) =>
      run === 'on change' ? [] : [[name, run] as const],
    );
    const text = JSON.stringify(schedules);
    if (!queue || text === scheduled) return;
    scheduled = text;
    queue.scheduleReports(Object.fromEntries(schedules));
  }

  // No constant: the first look is taken before this line is reached.
  function factsNow() {
    return {
      ...{ now: clock.now(), known: state.all() },
      ...{ latestChanges: state.latestChanges(), completeAsOf: store.completeAsOf },
    };
  }

  /** @param early by how much of its interval it may run before that is over. */
  function isDue(report: Report, facts: ReturnType<typeof factsNow>, early = 0): boolean {
    if (running.has(report.name) || signal.aborted) return false;
    const known = facts.known.find(({ name }) => name === report.name);
    const { at, unproven } = reportDue(report, known, facts);
    if (unproven !== null && known?.waits === null)
      state.wait(report.name, report.sql, known.reads, unproven);
    const every = report.run !== 'on change' && 'every' in report.run ? report.run.every : 0;
    return at - early * every <= facts.now;
  }

  async function run(name: string): Promise<void> {
    const report = found.reports.find((one) => one.name === name);
    try {
      if (!report || !isDue(report, factsNow(), EARLY)) return;
      const ran = perform(report).finally(() => running.delete(name));
      running.set(name, ran);
      await ran;
    } catch (thrown) {
      warnOnce(name, toError(thrown).message);
    }
    send();
  }

  async function perform(report: Report): Promise<void> {
    const { name } = report;
    const began = clock.monotonic();
    try {
      const reportParts = { dir, to, tables, state, clock };
      const done = await withQueryProcess((ask) => runReport(reportParts, report, ask, signal));
      const { rows, newRows, file, error } = done;
      log.info(
        { report: name, rows, newRows, ...(file && { file }), ms: Math.round(clock.monotonic() - began) },
        'report complete',
      );
      if (error) return warnOnce(name, error);
      logged.delete(name);
    } catch (thrown) {
      if (signal.aborted) return;
      const { message, stack } = toError(thrown);
      if (thrown instanceof Unproven) log.info({ report: name, reason: message }, 'report waits for a proof');
      else if (thrown instanceof Failure) warnOnce(name, message);
      else log.error({ report: name, reason: 'bug', err: message, stack }, 'report failed');
    }
  }

  function send(): void {
    if (signal.aborted) return;
    const sent = sendAll()
      .catch((thrown) => warnOnce('sending', toError(thrown).message))
      .finally(() => sending.delete(sent));
    sending.add(sent);
  }

  async function sendAll(): Promise<void> {
    if (!state.hasUnsent()) return;
    const outcome = await sendMessages(
      {
        ...{ dir, folder, webhook, reports: found.reports, state, environment, clock, random },
        say: (level, report, text) => log[level]({ report }, text),
      },
      signal,
    );
    for (const [report, why] of outcome.refused)
      warnOnce(`${report} sends`, `not told yet: ${why}`, { report });
    if (outcome.sent.length === 0) return;
    log.info({ messages: outcome.sent.length }, 'reports told');
    for (const key of [...logged.keys()]) if (key.endsWith(' sends')) logged.delete(key);
  }

  function warnOnce(about: string, message: string, facts: object = { report: about }): void {
    const [line = ''] = message.split('\n');
    if (logged.get(about) === line) return;
    logged.set(about, line);
    log.warn({ ...facts, err: line }, 'report failed');
  }

  return {
    heard: () => wake(),
    run,
    async end() {
      ending.abort();
      wake();
      await Promise.allSettled([looking, ...sending, ...running.values()]);
    },
  };
}
