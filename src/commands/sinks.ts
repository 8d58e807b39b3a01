/** `market-mirror ship` and `lake`: load a sink, prove that it equals the mirror, or (`ship --drop`) remove it. */

import { Command, Option } from 'commander';
import { exitCodes, Failure, worstExitCode } from '../base/errors.ts';
import { printable, printableJson } from '../base/printable.ts';
import { readLake, readLocalConfig, readShip } from '../config.ts';
import { findJobs, type ListedJob, listJobs } from '../job/list.ts';
import { count, number } from '../output/numbers.ts';
import type { Outcome } from '../sinks/follow.ts';
import type { LakeCheck, LakeLoad, LakeParts } from '../sinks/lake.ts';
import type { PostgresCheck, PostgresLoad, PostgresParts } from '../sinks/postgres.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import { withProgressLine } from './live-lines.ts';

type ShipOptions = { verify?: true; check?: true; drop?: true; yes?: true; reader?: string; json?: true };

export function shipCommand(context: Context): Command {
  const command = new Command('ship')
    .argument('[job...]', 'the jobs to ship; all unless given')
    .option('--verify', 'compare everything there with the mirror, name what differs and load it anew')
    .addOption(
      new Option('--check', 'compare everything there with the mirror, and write nothing').conflicts([
        'verify',
        'reader',
      ]),
    )
    .option('--reader <role>', 'let this role of Postgres read all of it; made if there is none')
    .addOption(
      new Option('--drop', 'remove all of it from Postgres; with --yes').conflicts([
        'verify',
        'check',
        'reader',
        'json',
      ]),
    )
    .option('--yes', 'do remove it')
    .option('--json', 'print what became of each job as JSON')
    .action((names: string[], options: ShipOptions) => runShip(names, options, context));
  return withExamples(
    command,
    ['what changed since it was last shipped', 'ship'],
    ['prove that Postgres holds what the mirror holds', 'ship --verify'],
    ['for a monitor: ends with 75 where something differs', 'ship --check'],
    ['let reports read it as the role analysts', 'ship --reader analysts'],
  );
}

async function runShip(names: string[], options: ShipOptions, context: Context): Promise<void> {
  if (options.drop && names.length > 0)
    throw new Failure('usage', '--drop removes all jobs from Postgres, not one of them: name none');
  const { environment, clock, signal, stdout } = context;
  const { dir } = readLocalConfig(environment);
  const address = readShip(environment);
  if (!address)
    throw new Failure(
      'config',
      'MIRROR_SHIP is missing: set it to a Postgres, such as postgres://user:password@host:5432/database, or MIRROR_SHIP_FILE to a file that holds that',
    );
  const { jobs, only } = await readJobs(names);
  const { admitRole, checkPostgres, loadPostgres, removeSchema } = await import('../sinks/postgres.ts');
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
  if (options.check)
    return report(
      await withProgressLine(context, () => checkPostgres(parts, only)),
      shipCheckReport,
      options.json === true,
      context,
    );
  const isVerified = options.verify === true;
  const outcomes = await withProgressLine(context, () => loadPostgres(parts, { only, verify: isVerified }));
  // First: a refused role must not hide what was shipped.
  report(outcomes, shipReport(isVerified), options.json === true, context);
  if (options.reader !== undefined) await admitRole(parts, options.reader);
}

const shipReport = (isVerified: boolean): SinkReport<PostgresLoad> => ({
  lines(shipped) {
    const { how, to, problems, notes } = shipped;
    const done = isVerified || how === 'loaded anew' ? renderComparison(shipped) : renderSent(shipped);
    return [[`${done}, up to change ${to}`, ...problems].join('; '), ...notes.map(indented)];
  },
  json: (shipped) => ({ shipped }),
  exitCode: ({ problems }) => (problems.length > 0 ? exitCodes.incomplete : exitCodes.done),
});

const shipCheckReport: SinkReport<PostgresCheck> = {
  lines({ differences, problems, notes }) {
    const differing = renderDiffering(differences);
    const said = [differing ? `differs: ${differing}` : equal(problems), ...problems].join('; ');
    return [said, ...notes.map(indented)];
  },
  json: (checked) => ({ checked }),
  exitCode: ({ differences, problems }) =>
    differences.length > 0 || problems.length > 0 ? exitCodes.incomplete : exitCodes.done,
};

const indented = (note: string) => `  ${note}`;

const equal = (problems: readonly string[]) =>
  problems.length === 0 ? 'both sides are equal' : 'all else is equal';

function renderSent({ how, sent, problems }: Pick<PostgresLoad, 'how' | 'sent' | 'problems'>): string {
  if (how === 'first') return `${count(sent, 'row')} sent${problems.length === 0 ? ', all there are' : ''}`;
  return sent === 0 ? 'nothing new' : `${count(sent, 'change')} sent`;
}

function renderComparison({ how, sent, mended, problems }: PostgresLoad): string {
  if (how === 'first') return renderSent({ how, sent, problems });
  if (how === 'loaded anew') return `loaded anew: ${count(sent, 'row')}`;
  return mended.length > 0 ? `loaded anew ${renderDiffering(mended)}` : equal(problems);
}

const renderDiffering = (tables: PostgresCheck['differences']) =>
  tables
    .map(({ table, mirrored, shipped }) =>
      mirrored === shipped
        ? `${table} (some of ${count(mirrored, 'row')} with other values)`
        : `${table} (${count(mirrored, 'row')} in the mirror, ${number(shipped)} there)`,
    )
    .join('; ');

type LakeOptions = { check?: true; json?: true };

export function lakeCommand(context: Context): Command {
  const command = new Command('lake')
    .argument('[job...]', 'the jobs whose files are put there; all unless given')
    .option('--check', 'compare every file there with its receipt, name what is lacking, and write nothing')
    .option('--json', 'print what became of each job as JSON')
    .action((names: string[], options: LakeOptions) => runLake(names, options, context));
  return withExamples(
    command,
    ['what is proven and not there yet', 'lake'],
    ['for a monitor: ends with 75 where something differs', 'lake --check'],
  );
}

async function runLake(names: string[], options: LakeOptions, context: Context): Promise<void> {
  const { environment, clock, signal } = context;
  const { dir } = readLocalConfig(environment);
  const settings = readLake(environment);
  if (!settings) throw new Failure('config', 'MIRROR_LAKE is missing: set it to a folder');
  const { jobs, only } = await readJobs(names);
  const { checkLake, loadLake } = await import('../sinks/lake.ts');
  const parts: LakeParts = { dir, settings, jobs, now: clock.now, signal };
  const isJson = options.json === true;
  if (options.check)
    report(await withProgressLine(context, () => checkLake(parts, only)), lakeCheckReport, isJson, context);
  else report(await withProgressLine(context, () => loadLake(parts, only)), lakeReport, isJson, context);
}

const lakeReport: SinkReport<LakeLoad> = {
  lines({ files, changes, seq, removed }) {
    const facts = [
      files.length === 0 ? 'nothing new' : `${count(files.length, 'file')} with ${count(changes, 'change')}`,
      seq === null ? 'nothing is proven and has changed yet' : `up to change ${seq}`,
      ...(removed.length > 0 ? [`${count(removed.length, 'old snapshot')} removed`] : []),
    ];
    return [facts.join(', ')];
  },
  json: (laid) => ({ laid }),
  exitCode: () => exitCodes.done,
};

const lakeCheckReport: SinkReport<LakeCheck> = {
  lines({ files, rows, differences }) {
    const found = `${count(files, 'file')} with ${count(rows, 'row')}`;
    return [
      `${found} ${differences.length === 0 ? 'as their receipts say' : 'looked at'}`,
      ...differences.map(({ file, message }) => `  ${file}: ${message}`),
    ];
  },
  json: (checked) => ({ checked }),
  exitCode: ({ differences }) => (differences.length > 0 ? exitCodes.incomplete : exitCodes.done),
};

/** All jobs, and the names of those that are meant: undefined for all. @throws Failure `usage`. */
async function readJobs(
  names: readonly string[],
): Promise<{ jobs: readonly ListedJob[]; only: readonly string[] | undefined }> {
  const jobs = await listJobs();
  const only = findJobs(jobs, names).map(({ name }) => name);
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
