/** `market-mirror doctor`: a line for everything that the mirror stands on, with what to do about what is wrong. */

import { Command } from 'commander';
import { isoTime } from '../clock.ts';
import { allSettings } from '../config/settings.ts';
import type { Check } from '../doctor.ts';
import { exitCodes, worstExitCode } from '../errors.ts';
import { loadJobs } from '../load-jobs.ts';
import type { Output } from '../output/print.ts';
import { paintFor, plural } from '../output/text.ts';
import { printable, printableJson } from '../printable.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

type Options = { offline?: boolean; json?: boolean };

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
    .option('--offline', 'make no call to the API; without it every endpoint is asked once')
    .option('--json', 'print the checks as JSON')
    .action((options: Options) => doctor(options, context));
  return withExamples(
    command,
    ['everything; asks each endpoint once', 'doctor'],
    ['what can be told without a call', 'doctor --offline'],
  );
}

async function doctor({ offline = false, json = false }: Options, context: Context): Promise<void> {
  const { stdout, stderr, clock, signal } = context;
  const jobs = await loadJobs();
  if (!offline)
    stderr.write(`every endpoint is asked once, at most ${jobs.length} calls; --offline makes none\n`);
  // Loaded only here: it brings the client of Redis.
  const { diagnose } = await import('../doctor.ts');
  const show = painter(stdout);
  const checks: Check[] = [];
  try {
    for await (const check of diagnose(context, jobs, offline, signal)) {
      checks.push(check);
      if (!json) stdout.write(show(check));
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
    return context.exit(exitCodes.incomplete);
  }
  const exitCode = worstExitCode(checks.map((check) => check.exitCode));
  const diagnosis: Diagnosis = { version: 1, at: isoTime(clock.now()), exitCode, checks };
  stdout.write(json ? `${printableJson(diagnosis)}\n` : `${summary(checks)}\n`);
  context.exit(exitCode);
}

const colours = { ok: 'green', warning: 'yellow', problem: 'red', skipped: 'dim' } as const;
const WIDTHS = { level: 'problem'.length, name: Math.max(...allSettings.map(({ name }) => name.length)) };

function painter(stdout: Output): (check: Check) => string {
  const paint = paintFor(stdout);
  return ({ level, name, message, advice }) => {
    const said = printable(message) + (advice === null ? '' : ` → ${printable(advice)}`);
    return `${paint(colours[level], level.padEnd(WIDTHS.level))}  ${name.padEnd(WIDTHS.name)}  ${said}\n`;
  };
}

function summary(checks: readonly Check[]): string {
  const count = (level: Check['level']) => checks.filter((check) => check.level === level).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (problems + warnings === 0)
    return isBegun(checks) ? 'all is well' : 'all is well; next: market-mirror sync';
  return `${problems} ${plural(problems, 'problem')}, ${warnings} ${plural(warnings, 'warning')}`;
}

const isBegun = (checks: readonly Check[]) =>
  checks.some(({ name, level }) => name === 'database' && level !== 'skipped');
