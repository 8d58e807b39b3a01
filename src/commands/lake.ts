/** `market-mirror lake`: puts into the lake what is not there yet, and proves it whole. */

import { Command } from 'commander';
import { type Environment, type LakeSettings, readLake, readLocalConfig } from '../config.ts';
import { exitCodes, Failure, worstExitCode } from '../errors.ts';
import { findJob, followedJobs } from '../job-list.ts';
import { number, plural } from '../output/text.ts';
import { printable, printableJson } from '../printable.ts';
import type { Difference, Laid, Verified, VerifiedOutcome } from '../targets/lake.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

type Options = { verify?: true; json?: true };

export function lakeCommand(context: Context): Command {
  const command = new Command('lake')
    .argument('[job...]', 'the jobs whose files are put there; all unless given')
    .option(
      '--verify',
      'then look at every file there, name what differs and put there again what is missing',
    )
    .option('--json', 'print what became of each job as JSON')
    .action((names: string[], options: Options) => run(names, options, context));
  return withExamples(
    command,
    ['what is proven and not there yet', 'lake'],
    ['prove that every file is there, with the rows that the mirror has', 'lake --verify'],
  );
}

async function run(names: string[], { verify: isVerified, json }: Options, context: Context): Promise<void> {
  const { environment, clock, random, signal, stdout } = context;
  const { dir } = readLocalConfig(environment);
  const settings = settingsOf(environment);
  const jobs = await followedJobs();
  const only = names.map((name) => findJob(jobs, name).name);
  const { lay, verify } = await import('../targets/lake.ts');
  const outcomes: readonly VerifiedOutcome[] = await (isVerified ? verify : lay)(
    { dir, settings, jobs, clock, random, signal },
    only.length > 0 ? only : undefined,
  );
  if (json) stdout.write(`${printableJson(outcomes.map(forJson))}\n`);
  else
    for (const line of outcomes.flatMap((outcome) => [...lines(outcome)]))
      stdout.write(`${printable(line)}\n`);
  context.exit(worstExitCode(outcomes.map(exitCodeOf)));
}

function settingsOf(environment: Environment): LakeSettings {
  const settings = readLake(environment);
  if (settings) return settings;
  throw new Failure('config', 'MIRROR_LAKE is missing: set it to a folder, or to s3://bucket/prefix');
}

function exitCodeOf({ failure, verified }: VerifiedOutcome): number {
  if (failure) return exitCodes[failure.kind];
  return verified?.differences.some(({ mended }) => !mended) ? exitCodes.disk : exitCodes.done;
}

const forJson = (outcome: VerifiedOutcome) => ({
  job: outcome.job,
  exitCode: exitCodeOf(outcome),
  message: outcome.failure?.message ?? null,
  laid: outcome.laid,
  verified: outcome.verified,
});

function* lines({ job, laid, failure, verified }: VerifiedOutcome): Generator<string> {
  if (!laid) return yield `${job}: ${failure?.message}`;
  const { seq } = laid;
  const upTo = seq === null ? 'nothing is proven and has changed yet' : `up to change ${seq}`;
  yield `${job}: ${[putWords(laid), upTo, ...removedWords(laid), ...verifiedWords(verified)].join(', ')}`;
  for (const difference of verified?.differences ?? []) yield `  ${differenceWords(difference)}`;
}

function putWords({ files, changes }: Laid): string {
  if (files.length === 0) return 'nothing new';
  return `${number(files.length)} ${plural(files.length, 'file')} with ${number(changes)} ${plural(changes, 'change')}`;
}

const removedWords = ({ removed }: Laid) =>
  removed.length === 0 ? [] : [`${number(removed.length)} old ${plural(removed.length, 'snapshot')} removed`];

function verifiedWords(verified: Verified | null): string[] {
  if (!verified) return [];
  const { files, rows, older, differences } = verified;
  const looked = `${number(files)} ${plural(files, 'file')} with ${number(rows)} ${plural(rows, 'row')}`;
  const byDigest =
    older === 0 ? '' : ` (${number(older)} of times that the mirror has forgotten, by digest alone)`;
  return [`${looked} ${differences.length === 0 ? 'as the mirror has them' : 'looked at'}${byDigest}`];
}

const differenceWords = ({ file, message, mended }: Difference) =>
  `${file}: ${message}${mended ? '; put there again' : ''}`;
