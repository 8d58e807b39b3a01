/**
 * What sends the mirror elsewhere. `market-mirror ship` sends to Postgres what it has not yet, proves both sides equal, or
 * forgets that one; `market-mirror lake` puts into the lake what is not there yet, and proves it whole.
 */

import { Command } from 'commander';
import { readLake, readLocalConfig, readShip } from '../config.ts';
import { exitCodes, Failure, worstExitCode } from '../errors.ts';
import { findJob, type ListedJob, listJobs } from '../job-list.ts';
import { number, plural } from '../output/text.ts';
import { printable, printableJson } from '../printable.ts';
import { differenceWords, isDifferent, type Outcome } from '../sinks/follow.ts';
import type { Difference, LakeParts, LakeRun } from '../sinks/lake.ts';
import type { PostgresLoad, PostgresParts } from '../sinks/postgres.ts';
import { keepHeapSmall } from '../small-heap.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

type ShipOptions = { verify?: true; drop?: true; yes?: true; reader?: string; json?: true };

export function shipCommand(context: Context): Command {
  const command = new Command('ship')
    .argument('[job...]', 'the jobs to ship; all unless given')
    .option('--verify', 'compare all that is there with the mirror, name what differs and mend it')
    .option('--reader <role>', 'let this role of Postgres read all of it; made where there is none')
    .option('--drop', 'remove all of it from Postgres; with --yes')
    .option('--yes', 'do remove it')
    .option('--json', 'print what became of each job as JSON')
    .action((names: string[], options: ShipOptions) => runShip(names, options, context));
  return withExamples(
    command,
    ['what changed since it was last shipped', 'ship'],
    ['prove that Postgres holds what the mirror holds', 'ship --verify'],
    ['let reports read it as the role analysts', 'ship --reader analysts'],
  );
}

async function runShip(names: string[], options: ShipOptions, context: Context): Promise<void> {
  keepHeapSmall();
  const { environment, clock, signal, stdout } = context;
  const { dir } = readLocalConfig(environment);
  const address = readShip(environment);
  if (!address)
    throw new Failure(
      'config',
      'MIRROR_SHIP is missing: set it to a Postgres, such as postgres://user:password@host:5432/database, or MIRROR_SHIP_FILE to a file that holds that',
    );
  const { jobs, only } = await readJobs(names);
  const { admitRole, loadPostgres, removeSchema } = await import('../sinks/postgres.ts');
  const parts: PostgresParts = { dir, address, jobs, now: clock.now, signal };
  if (options.drop) {
    if (!options.yes)
      throw new Failure(
        'usage',
        `--drop removes the schema ${address.schema} from Postgres with all that lies in it: say --yes, too`,
      );
    const was = await removeSchema(parts);
    stdout.write(`${address.schema} ${was ? 'is removed from Postgres' : 'was not there'}\n`);
    return;
  }
  const isVerified = options.verify === true;
  const outcomes = await loadPostgres(parts, { only, compare: isVerified });
  if (options.reader !== undefined) await admitRole(parts, options.reader);
  report(outcomes, shipReport(isVerified), options.json === true, context);
}

const shipReport = (isVerified: boolean): SinkReport<PostgresLoad> => ({
  lines(shipped) {
    const { how, to, problems } = shipped;
    const done = isVerified || how === 'compared' ? renderComparison(shipped) : renderSent(shipped);
    return [[`${done}, up to change ${to}`, ...problems].join('; ')];
  },
  json: (shipped) => ({ shipped }),
  exitCode: ({ problems }) => (problems.length > 0 ? exitCodes.incomplete : exitCodes.done),
});

function renderSent({ how, sent }: PostgresLoad): string {
  if (how === 'first') return `${number(sent)} ${plural(sent, 'row')} sent, all there are`;
  return sent === 0 ? 'nothing new' : `${number(sent)} ${plural(sent, 'change')} sent`;
}

function renderComparison({ mended }: PostgresLoad): string {
  const differing = mended.filter(isDifferent).map((found) => `${found.table} (${differenceWords(found)})`);
  return differing.length === 0 ? 'both sides are equal' : `mended ${differing.join('; ')}`;
}

type LakeOptions = { verify?: true; json?: true };

export function lakeCommand(context: Context): Command {
  const command = new Command('lake')
    .argument('[job...]', 'the jobs whose files are put there; all unless given')
    .option(
      '--verify',
      'then look at every file there, name what differs and put there again what is missing',
    )
    .option('--json', 'print what became of each job as JSON')
    .action((names: string[], options: LakeOptions) => runLake(names, options, context));
  return withExamples(
    command,
    ['what is proven and not there yet', 'lake'],
    ['prove that every file is there, with the rows that the mirror has', 'lake --verify'],
  );
}

async function runLake(names: string[], options: LakeOptions, context: Context): Promise<void> {
  const { environment, clock, random, signal } = context;
  const { dir } = readLocalConfig(environment);
  const settings = readLake(environment);
  if (!settings)
    throw new Failure('config', 'MIRROR_LAKE is missing: set it to a folder, or to s3://bucket/prefix');
  const { jobs, only } = await readJobs(names);
  const { loadLake } = await import('../sinks/lake.ts');
  const parts: LakeParts = { dir, settings, jobs, clock, random, signal };
  const outcomes = await loadLake(parts, { only, verify: options.verify === true });
  report(outcomes, lakeReport, options.json === true, context);
}

const lakeReport: SinkReport<LakeRun> = {
  lines({ load: { files, changes, seq, removed }, verified }) {
    const line = [
      files.length === 0
        ? 'nothing new'
        : `${counted(files.length, 'file')} with ${counted(changes, 'change')}`,
      seq === null ? 'nothing is proven and has changed yet' : `up to change ${seq}`,
      ...(removed.length > 0 ? [`${counted(removed.length, 'old snapshot')} removed`] : []),
    ];
    if (!verified) return [line.join(', ')];
    const { rows, older, differences } = verified;
    const looked = `${counted(verified.files, 'file')} with ${counted(rows, 'row')}`;
    const byDigest =
      older === 0 ? '' : ` (${number(older)} of times that the mirror has forgotten, by digest alone)`;
    line.push(`${looked} ${differences.length === 0 ? 'as the mirror has them' : 'looked at'}${byDigest}`);
    return [line.join(', '), ...differences.map(renderDifference)];
  },
  json: (done) => ({ laid: done?.load ?? null, verified: done?.verified ?? null }),
  exitCode: ({ verified }) =>
    verified?.differences.some(({ mended }) => !mended) ? exitCodes.disk : exitCodes.done,
};

const counted = (value: number, unit: string) => `${number(value)} ${plural(value, unit)}`;

const renderDifference = ({ file, message, mended }: Difference) =>
  `  ${file}: ${message}${mended ? '; put there again' : ''}`;

/** All jobs, and the names of those that are meant: undefined for all. @throws Failure `usage`. */
async function readJobs(
  names: readonly string[],
): Promise<{ jobs: readonly ListedJob[]; only: readonly string[] | undefined }> {
  const jobs = await listJobs();
  const only = names.map((name) => findJob(jobs, name).name);
  return { jobs, only: only.length > 0 ? only : undefined };
}

/** How to say what was done with a dataset. */
type SinkReport<Done> = {
  /** The first line goes behind the name of the job. */
  lines(done: Done): readonly string[];
  /** Beside what is said of every outcome; null where it failed. */
  json(done: Done | null): object;
  exitCode(done: Done): number;
};

/** Says what became of each dataset, in lines or as JSON, and in the exit code. */
function report<Done>(
  outcomes: readonly Outcome<Done>[],
  { lines, json, exitCode }: SinkReport<Done>,
  isJson: boolean,
  { stdout, exit }: Context,
): void {
  const codes = outcomes.map(({ done, failure }) => (failure ? exitCodes[failure.kind] : exitCode(done)));
  if (isJson) {
    const all = outcomes.map(({ job, done, failure }, at) => ({
      job,
      exitCode: codes[at],
      message: failure?.message ?? null,
      ...json(done),
    }));
    stdout.write(`${printableJson(all)}\n`);
  } else {
    for (const { job, done, failure } of outcomes) {
      const [first, ...more] = failure ? [failure.message] : lines(done);
      for (const line of [`${job}: ${first}`, ...more]) stdout.write(`${printable(line)}\n`);
    }
  }
  exit(worstExitCode(codes));
}
