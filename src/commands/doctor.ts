/** `market-mirror doctor`: checks everything that the mirror rests on, and prints what is wrong and what to do about it. */

import { Command } from 'commander';
import { isoTime } from '../base/clock.ts';
import { exitCodes, worstExitCode } from '../base/errors.ts';
import { printable, printableJson } from '../base/printable.ts';
import { allSettings } from '../config/settings.ts';
import type { Check } from '../doctor.ts';
import { loadJobs } from '../job/load.ts';
import { plural } from '../output/numbers.ts';
import { type Paint, paintFor } from '../output/text.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

type Options = { offline?: true; all?: true; json?: true };

/** What `doctor --json` prints. Within one `version` members are added, never removed or changed in meaning. */
export type Diagnosis = {
  version: 1;
  /** When it was made, ISO 8601 UTC. */
  at: string;
  /** 0 where there is no problem, else that of the gravest. */
  exitCode: number;
  checks: Check[];
};

export function doctorCommand(context: Context): Command {
  const command = new Command('doctor')
    .option('--offline', 'make no call to the API; without it each endpoint is called once')
    .option('--all', 'list the checks that found nothing wrong, too')
    .option('--json', 'print all checks as JSON')
    .action((options: Options) => doctor(options, context));
  return withExamples(
    command,
    ['what is wrong, if anything; calls each endpoint once', 'doctor'],
    ['every check that can be made without a call', 'doctor --offline --all'],
  );
}

async function doctor({ offline, all, json }: Options, context: Context): Promise<void> {
  const { stdout, stderr, clock, signal, hint } = context;
  const jobs = await loadJobs();
  const announceCalls = () =>
    stderr.write(`each endpoint is called once, at most ${jobs.length} calls; --offline makes none\n`);
  // Loaded only here: it brings the client of Redis.
  const { diagnose } = await import('../doctor.ts');
  const paint = paintFor(stdout);
  const checks: Check[] = [];
  try {
    for await (const check of diagnose(context, jobs, offline ? null : announceCalls, signal)) {
      checks.push(check);
      if (!json && (all || isWrong(check))) stdout.write(hint(renderCheck(check, paint)));
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
    return context.exit(exitCodes.incomplete);
  }
  const exitCode = worstExitCode(checks.map((check) => check.exitCode));
  const diagnosis: Diagnosis = { version: 1, at: isoTime(clock.now()), exitCode, checks };
  stdout.write(json ? `${printableJson(diagnosis)}\n` : hint(`${summary(checks, all)}\n`));
  context.exit(exitCode);
}

const isWrong = ({ level }: Check) => level === 'problem' || level === 'warning';

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red', skipped: 'dim' } as const;
const WIDTHS = { level: 'problem'.length, name: Math.max(...allSettings.map(({ name }) => name.length)) };

function renderCheck({ level, name, message, advice }: Check, paint: Paint): string {
  const said = printable(message) + (advice === null ? '' : ` → ${printable(advice)}`);
  return `${paint(COLOURS[level], level.padEnd(WIDTHS.level))}  ${name.padEnd(WIDTHS.name)}  ${said}\n`;
}

function summary(checks: readonly Check[], all: true | undefined): string {
  const count = (level: Check['level']) => checks.filter((check) => check.level === level).length;
  const [problem, warning, ok, skipped] = [count('problem'), count('warning'), count('ok'), count('skipped')];
  const parts = [
    ...(problem > 0 ? [`${problem} ${plural(problem, 'problem')}`] : []),
    ...(warning > 0 ? [`${warning} ${plural(warning, 'warning')}`] : []),
    `${ok} ${plural(ok, 'check')} ok`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ];
  const list = all ? '' : ' (--all lists them)';
  const isBegun = checks.some(({ name, level }) => name === 'database' && level !== 'skipped');
  const next = problem + warning > 0 || isBegun ? '' : '; next: market-mirror sync';
  const proxy = checks.find(({ name, level }) => name === 'proxy' && level === 'ok');
  return `${parts.join(', ')}${list}${proxy ? `; ${proxy.message}` : ''}${next}`;
}
