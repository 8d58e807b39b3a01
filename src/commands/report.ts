/** `market-mirror report [name…]`: runs the reports of `MIRROR_REPORTS` that are due, or those that are named, once, and sends what they tell. */

import { basename } from 'node:path';
import { Command } from 'commander';
import { openLocalApp } from '../app.ts';
import { ageOf } from '../base/clock.ts';
import { asFailure, exitCodes, Failure, worstExitCode } from '../base/errors.ts';
import { nearest } from '../base/near.ts';
import { printable, printableJson } from '../base/printable.ts';
import { forCommands, type ReportSettings, readLocalConfig, readReporting } from '../config.ts';
import { listJobs, tablesOf } from '../job/list.ts';
import { count, duration, number } from '../output/numbers.ts';
import { type RunQuery, withQueryProcess } from '../reading/query.ts';
import {
  checkReport,
  type Mistake,
  noteReports,
  type Report,
  type ReportCheck,
  type ReportRun,
  readReportFiles,
  reportDue,
  runReport,
  sendMessages,
  Unproven,
} from '../reports.ts';
import type { Store } from '../store.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

type Options = { check?: true; json?: true };

export function reportCommand(context: Context): Command {
  const command = new Command('report')
    .argument('[name...]', 'the reports to run, due or not; those that are due unless given')
    .option('--check', 'say what each reads and whether that is fresh, and run none')
    .option('--json', 'print what became of each as JSON')
    .action((names: string[], options: Options) =>
      withQueryProcess((ask) => report(names, options, ask, context)),
    );
  return withExamples(
    command,
    ['those that are due, as from cron', 'report'],
    ['one of them, now', 'report grade-a-buys'],
    ['what is wrong with them, and what each waits for', 'report --check'],
  );
}

async function report(names: string[], options: Options, ask: RunQuery, context: Context): Promise<void> {
  const { environment } = context;
  const { dir } = readLocalConfig(environment);
  const settings = readReporting(environment);
  if (!settings)
    throw new Failure(
      'config',
      'MIRROR_REPORTS is missing: set it to a folder of .sql files (docs/reports.md has some)',
    );
  const found = readReportFiles(settings.folder, settings.webhook !== undefined);
  const known = [
    ...new Set([...found.reports.map(({ name }) => name), ...found.mistakes.map((one) => one.report)]),
  ];
  const wanted = names.map((name) => name.replace(/\.sql$/, ''));
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Failure(
      'usage',
      `there is no report '${unknown}'${nearest(unknown, known) || `; known are ${known.join(', ') || 'none'}`}`,
    );
  const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);
  const mistakes = found.mistakes.filter((mistake) => isWanted(mistake.report));
  const reports = found.reports.filter(({ name }) => isWanted(name));
  const lines = options.check
    ? await checkAll(dir, reports, ask, context)
    : await runAll({ dir, settings, found, reports, isNamed: wanted.length > 0 }, ask, context);
  print([...mistakes.map(ofMistake), ...lines], options.json === true, found, context);
}

/** What is said of a report: in a line, in the members of JSON, and in the exit code. */
type Line = { report: string; exitCode: number; message: string; more?: object };

const ofMistake = ({ report, message }: Mistake): Line => ({ report, exitCode: exitCodes.config, message });

function print(
  lines: readonly Line[],
  isJson: boolean,
  { reports }: { reports: readonly Report[] },
  context: Context,
): void {
  const { stdout, stderr, exit, hint } = context;
  exit(worstExitCode(lines.map(({ exitCode }) => exitCode)));
  if (isJson) {
    const all = lines.map(({ more, ...line }) => ({ ...line, ...more }));
    return void stdout.write(`${printableJson(all)}\n`);
  }
  for (const { report, message, exitCode } of lines) {
    const isNamed = [`${report}.sql`, `${report}:`].some((name) => message.startsWith(name));
    const line = `${isNamed ? '' : `${report}: `}${hint(printable(message))}\n`;
    (exitCode === exitCodes.done ? stdout : stderr).write(line);
  }
  if (lines.length === 0)
    stderr.write(reports.length === 0 ? 'there are no reports yet\n' : 'nothing is due\n');
}

async function checkAll(
  dir: string,
  reports: readonly Report[],
  ask: RunQuery,
  { clock, signal }: Context,
): Promise<Line[]> {
  const tables = tablesOf(await listJobs());
  const lines: Line[] = [];
  for (const report of reports) {
    const { name } = report;
    try {
      const checked = await checkReport({ dir, tables, clock }, report, ask, signal);
      const exitCode = checked.unproven === null ? exitCodes.done : exitCodes.incomplete;
      lines.push({ report: name, exitCode, message: describeCheck(checked, clock.now()), more: checked });
    } catch (thrown) {
      lines.push(ofFailure(name, thrown));
    }
  }
  return lines;
}

function describeCheck({ reads, unproven }: ReportCheck, now: number): string {
  if (unproven !== null) return unproven;
  const ages = reads.map(({ job, completeAsOf }) => {
    const age = completeAsOf === null ? null : ageOf(Date.parse(completeAsOf), now);
    return `${job} (${age === null ? 'never proven' : `proven ${duration(age)} ago`})`;
  });
  return reads.length === 0 ? 'reads no dataset' : `reads ${ages.join(', ')}`;
}

function ofFailure(report: string, thrown: unknown): Line {
  const { message, exitCode } = asFailure(thrown);
  return { report, exitCode, message: message.split('\n')[0] ?? '' };
}

type Running = {
  dir: string;
  settings: ReportSettings;
  found: ReturnType<typeof readReportFiles>;
  reports: readonly Report[];
  isNamed: boolean;
};

async function runAll(
  { dir, settings, found, reports, isNamed }: Running,
  ask: RunQuery,
  context: Context,
): Promise<Line[]> {
  const { environment, clock, random, signal, stderr } = context;
  const app = await openLocalApp(context);
  try {
    const { store } = app;
    const state = store.reports;
    noteReports(state, found);
    const due = isNamed ? reports : reports.filter((report) => isDue(store, report, clock.now()));
    const parts = { dir, to: settings.to, tables: tablesOf(await listJobs()), state, clock };
    const ran: (Line & { run?: ReportRun })[] = [];
    for (const report of due)
      ran.push(
        signal.aborted
          ? { report: report.name, exitCode: exitCodes.incomplete, message: 'stopped' }
          : await runOne(() => runReport(parts, report, ask, signal), report),
      );
    const told = await sendMessages(
      {
        ...{
          dir,
          folder: settings.folder,
          webhook: settings.webhook,
          reports: found.reports,
          state,
          clock,
          random,
          again: true,
        },
        environment: forCommands(environment, dir),
        say: (_, name, text) => stderr.write(`${name}: ${text}\n`),
      },
      signal,
    );
    return withSent(ran, told);
  } finally {
    await app.close();
  }
}

function isDue({ reports: state, completeAsOf }: Store, report: Report, now: number): boolean {
  const known = state.all().find(({ name }) => name === report.name);
  const { at, unproven } = reportDue(report, known, {
    now,
    latestChanges: state.latestChanges(),
    completeAsOf,
  });
  return at <= now || unproven !== null;
}

async function runOne(
  run: () => Promise<ReportRun>,
  { name, watch }: Report,
): Promise<Line & { run?: ReportRun }> {
  try {
    const done = await run();
    const exitCode = done.error === null ? exitCodes.done : exitCodes.config;
    return { report: name, exitCode, message: describeRun(done, watch.length > 0), more: done, run: done };
  } catch (thrown) {
    if (!(thrown instanceof Unproven)) return ofFailure(name, thrown);
    return { report: name, exitCode: exitCodes.incomplete, message: `waits for a proof: ${thrown.message}` };
  }
}

function describeRun({ rows, newRows, file, error }: ReportRun, isAlert: boolean): string {
  const isNew = isAlert ? `, ${number(newRows)} new` : '';
  return [
    `${count(rows, 'row')}${isNew}`,
    ...(file === null ? [] : [basename(file)]),
    ...(error === null ? [] : [error]),
  ].join('; ');
}

/** Says of each run what became of its message; and of messages of earlier runs, where they still wait. */
function withSent(
  ran: readonly (Line & { run?: ReportRun })[],
  told: Awaited<ReturnType<typeof sendMessages>>,
): Line[] {
  const sent = new Set(told.sent);
  const refused = new Map(told.refused);
  const lines = ran.map(({ run, ...line }): Line => {
    if (!run || run.messageId === null) return line;
    if (sent.has(run.messageId))
      return { ...line, message: `${line.message}; told`, more: { ...line.more, told: true } };
    const why = refused.get(line.report);
    refused.delete(line.report);
    return {
      ...line,
      exitCode: worstExitCode([line.exitCode, exitCodes.incomplete]),
      message: `${line.message}; not told yet: ${why ?? 'it has to wait'}; it is tried again`,
      more: { ...line.more, told: false },
    };
  });
  const earlier = [...refused].map(([report, why]) => ({
    report,
    exitCode: exitCodes.incomplete,
    message: `a message of an earlier run is not told yet: ${why}`,
  }));
  return [...lines, ...earlier];
}
