/** `market-mirror lake`: puts into the lake what is not there yet, and proves it whole. */

import { Command } from 'commander';
import { type Environment, type LakeSettings, readLake, readLocalConfig } from '../config.ts';
import { exitCodes, Failure } from '../errors.ts';
import { number, plural } from '../output/text.ts';
import type { Difference, Laid, LaidAndVerified, LakeParts, Verified } from '../targets/lake.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import { jobsNamed, type Telling, tellOutcomes } from './outcomes.ts';

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

async function run(names: string[], options: Options, context: Context): Promise<void> {
  const { environment, clock, random, signal } = context;
  const { dir } = readLocalConfig(environment);
  const settings = settingsOf(environment);
  const { jobs, only } = await jobsNamed(names);
  const { lay } = await import('../targets/lake.ts');
  const parts: LakeParts = { dir, settings, jobs, clock, random, signal };
  const outcomes = await lay(parts, { only, verify: options.verify === true });
  tellOutcomes(outcomes, telling, options.json === true, context);
}

function settingsOf(environment: Environment): LakeSettings {
  const settings = readLake(environment);
  if (settings) return settings;
  throw new Failure('config', 'MIRROR_LAKE is missing: set it to a folder, or to s3://bucket/prefix');
}

const telling: Telling<LaidAndVerified> = {
  lines({ laid, verified }) {
    const { seq } = laid;
    const upTo = seq === null ? 'nothing is proven and has changed yet' : `up to change ${seq}`;
    const said = [putWords(laid), upTo, ...removedWords(laid), ...verifiedWords(verified)].join(', ');
    return [said, ...(verified?.differences ?? []).map((difference) => `  ${differenceWords(difference)}`)];
  },
  json: (done) => ({ laid: done?.laid ?? null, verified: done?.verified ?? null }),
  exitCode: ({ verified }) =>
    verified?.differences.some(({ mended }) => !mended) ? exitCodes.disk : exitCodes.done,
};

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
