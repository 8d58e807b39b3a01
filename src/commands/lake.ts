/** `market-mirror lake`: puts into the lake what is not there yet. */

import { Command } from 'commander';
import { type Environment, type LakeSettings, readLake, readLocalConfig } from '../config.ts';
import { exitCodes, Failure, worstExitCode } from '../errors.ts';
import { findJob, followedJobs } from '../job-list.ts';
import type { Laid, Outcome } from '../lake.ts';
import { number, plural } from '../output/text.ts';
import { printable, printableJson } from '../printable.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

type Options = { json?: true };

export function lakeCommand(context: Context): Command {
  const command = new Command('lake')
    .argument('[job...]', 'the jobs whose files are put there; all unless given')
    .option('--json', 'print what became of each job as JSON')
    .action((names: string[], options: Options) => run(names, options, context));
  return withExamples(command, ['what is proven and not there yet', 'lake']);
}

async function run(names: string[], { json }: Options, context: Context): Promise<void> {
  const { environment, clock, random, signal, stdout } = context;
  const { dir } = readLocalConfig(environment);
  const settings = settingsOf(environment);
  const jobs = await followedJobs();
  const only = names.map((name) => findJob(jobs, name).name);
  const { lay } = await import('../lake.ts');
  const outcomes = await lay(
    { dir, settings, jobs, clock, random, signal },
    only.length > 0 ? only : undefined,
  );
  if (json) stdout.write(`${printableJson(outcomes.map(forJson))}\n`);
  else for (const outcome of outcomes) stdout.write(`${printable(line(outcome))}\n`);
  context.exit(worstExitCode(outcomes.map(exitCodeOf)));
}

function settingsOf(environment: Environment): LakeSettings {
  const settings = readLake(environment);
  if (settings) return settings;
  throw new Failure('config', 'MIRROR_LAKE is missing: set it to a folder, or to s3://bucket/prefix');
}

const exitCodeOf = ({ failure }: Outcome) => (failure ? exitCodes[failure.kind] : exitCodes.done);

const forJson = (outcome: Outcome) => ({
  job: outcome.job,
  exitCode: exitCodeOf(outcome),
  message: outcome.failure?.message ?? null,
  laid: outcome.laid,
});

function line({ job, laid, failure }: Outcome): string {
  if (!laid) return `${job}: ${failure?.message}`;
  const { seq } = laid;
  const upTo = seq === null ? 'nothing is proven and has changed yet' : `up to change ${seq}`;
  return `${job}: ${[putWords(laid), upTo, ...removedWords(laid)].join(', ')}`;
}

function putWords({ files, changes }: Laid): string {
  if (files.length === 0) return 'nothing new';
  return `${number(files.length)} ${plural(files.length, 'file')} with ${number(changes)} ${plural(changes, 'change')}`;
}

const removedWords = ({ removed }: Laid) =>
  removed.length === 0 ? [] : [`${number(removed.length)} old ${plural(removed.length, 'snapshot')} removed`];
