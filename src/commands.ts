/** The command line: every command there is; runs one of them. Every failure is one line and an exit code that scripts can read. */

import { basename, delimiter, dirname, relative } from 'node:path';
import { Command, type CommanderError } from 'commander';
import { exitCodes, Failure, toError } from './base/errors.ts';
import { forShell, printable } from './base/printable.ts';
import { versionLine } from './base/version.ts';
import type { Context } from './commands/context.ts';
import { exportCommand } from './commands/export.ts';
import { generalHelp, helpCommand, teach } from './commands/help.ts';
import { planCommand } from './commands/plan.ts';
import { quarantineCommand } from './commands/quarantine.ts';
import { queryCommand } from './commands/query.ts';
import { statusCommand } from './commands/status.ts';

const NAME = 'market-mirror';

/**
 * Runs one command to its end. `argv` begins with the command's name.
 * @param typed to start this program: hints name it so.
 * @returns the exit code.
 */
export async function main(
  argv: string[],
  surroundings: Omit<Context, 'exit' | 'hint'>,
  typed = NAME,
): Promise<number> {
  let exitCode: number = exitCodes.done;
  const context = {
    ...surroundings,
    hint: (text: string) => text.replace(hints, `${typed} `),
    exit: (code: number) => {
      exitCode = code;
    },
  };
  try {
    const called = await program(context, (name) => argv.includes(name));
    await called.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (thrown) {
    return report(thrown, context);
  }
}

/** What to type to start this program again. @param file that was started. @param folder where. */
export function startedAs(
  file: string,
  folder: string,
  { npm_command, PATH = '' }: Context['environment'],
): string {
  // npm and npx find it in the packages of the folder.
  if (npm_command !== undefined) return 'npx market-mirror';
  const isCommand = basename(file) === 'market-mirror';
  if (isCommand && PATH.split(delimiter).includes(dirname(file))) return 'market-mirror';
  const path = relative(folder, file);
  const shortest = path.startsWith('..') ? file : path;
  const written = forShell(shortest);
  return isCommand ? written.replace(/^(?![/'])/, './') : `node ${written}`;
}

function report(thrown: unknown, { stderr, environment, hint }: Context): number {
  if (isHelpGiven(thrown)) return exitCodes.done;
  const failure = thrown instanceof Failure ? thrown : undefined;
  const { message, stack } = toError(thrown);
  stderr.write(`market-mirror: ${hint(printable(oneLine(failure?.message ?? `a bug: ${message}`)))}\n`);
  if (!failure && environment['LOG_LEVEL'] === 'debug') stderr.write(`${stack}\n`);
  return failure?.exitCode ?? exitCodes.bug;
}

/** Not by `instanceof`: a command in a bundle of its own brings its own class. */
function isHelpGiven(thrown: unknown): boolean {
  const { code, exitCode } = toError(thrown) as Partial<CommanderError>;
  return exitCode === 0 && /^commander\./.test(code ?? '');
}

const oneLine = (text: string) => text.replace(/\s*\n\s*/g, ' ').trim();

/** A command. Its file is loaded when it is called, but for the reading commands, which share most of what they load. */
type Entry = {
  name: string;
  /** Its arguments, for the list of commands. */
  takes?: string;
  about: string;
  load(): Promise<(context: Context) => Command>;
};

const groups: Record<string, readonly Entry[]> = {
  'To begin:': [
    {
      name: 'init',
      about: 'write a .env file that explains every setting; asks for address and key on a terminal',
      load: async () => (await import('./commands/init.ts')).initCommand,
    },
    {
      name: 'doctor',
      about: 'check settings, files, disk, database, Redis, clock, key and scopes, and say what to do',
      load: async () => (await import('./commands/doctor.ts')).doctorCommand,
    },
  ],
  'To mirror:': [
    {
      name: 'sync',
      takes: '[job...]',
      about: 'mirror all or the named jobs once; resumes an unfinished walk',
      load: async () => (await import('./commands/sync.ts')).syncCommand,
    },
    {
      name: 'start',
      about: 'run the daemon: mirror every dataset by its schedule until stopped',
      load: async () => (await import('./commands/start.ts')).startCommand,
    },
  ],
  'To read the mirror, without an API call:': [
    {
      name: 'status',
      about: 'freshness, progress, quota and problems of the mirror',
      load: async () => statusCommand,
    },
    {
      name: 'plan',
      about: 'the calls of the next 24 hours, those left, and how old each dataset may become',
      load: async () => planCommand,
    },
    {
      name: 'query',
      takes: '[sql]',
      about: 'run SQL on the mirror; read-only',
      load: async () => queryCommand,
    },
    {
      name: 'export',
      takes: '[what]',
      about: 'write a dataset or the result of a query as csv, ndjson, json or parquet, with a receipt',
      load: async () => exportCommand,
    },
    {
      name: 'report',
      takes: '[name...]',
      about: 'run the reports and alerts of MIRROR_REPORTS that are due, and tell whom they tell',
      load: async () => (await import('./commands/report.ts')).reportCommand,
    },
    {
      name: 'backup',
      takes: '<file>',
      about: 'copy the mirror to a file and check the copy; the daemon may run',
      load: async () => (await import('./commands/backup.ts')).backupCommand,
    },
    {
      name: 'restore',
      takes: '<backup>',
      about: 'replace the mirror by a backup, and keep the old files',
      load: async () => (await import('./commands/restore.ts')).restoreCommand,
    },
    {
      name: 'quarantine',
      takes: '[action] [job...]',
      about: 'list the rows that broke the contract, or validate them again',
      load: async () => quarantineCommand,
    },
    {
      name: 'forget',
      takes: '<job>',
      about: 'find anew where the rows of a list without a contract are, and what identifies them',
      load: async () => (await import('./commands/forget.ts')).forgetCommand,
    },
  ],
  'To let others read:': [
    {
      name: 'serve',
      about: 'serve the mirror over HTTP as the API does, with keys and limits, and a page in the browser',
      load: async () => (await import('./commands/serve.ts')).serveCommand,
    },
    {
      name: 'keys',
      takes: '<action> [which]',
      about: 'manage the keys of serve: who may read what, how much and until when',
      load: async () => (await import('./commands/keys.ts')).keysCommand,
    },
  ],
  'To copy it elsewhere:': [
    {
      name: 'ship',
      takes: '[job...]',
      about: 'send what changed to the Postgres of MIRROR_SHIP',
      load: async () => (await import('./commands/sinks.ts')).shipCommand,
    },
    {
      name: 'lake',
      takes: '[job...]',
      about: 'write what changed as Parquet files to MIRROR_LAKE, a folder',
      load: async () => (await import('./commands/sinks.ts')).lakeCommand,
    },
  ],
  'To try it with sample data:': [
    {
      name: 'demo',
      about: 'mirror sample data with a small quota, and show the result',
      load: async () => (await import('./commands/demo.ts')).demoCommand,
    },
    {
      name: 'model-api',
      about: 'serve sample data as the API would, on loopback, with the limits and faults that you choose',
      load: async () => (await import('./commands/model-api.ts')).modelApiCommand,
    },
  ],
  'To learn more:': [],
};

/** Where a text names a command of this program. */
const hints = new RegExp(
  `\\b${NAME} (?=(?:${Object.values(groups)
    .flat()
    .map(({ name }) => name)
    .join('|')}|help|--help)\\b|\\[)`,
  'g',
);

/** The command line. Of a command that is not `wanted` there are only the name, the arguments and what it is for. */
export async function program(
  context: Context,
  wanted: (name: string) => boolean = () => true,
): Promise<Command> {
  const root = new Command(NAME)
    .description('Keeps a current and provably complete copy of the market data API in one SQLite file.')
    .version(versionLine())
    .configureHelp({ subcommandTerm: (command) => withoutOptions(`${command.name()} ${command.usage()}`) })
    .addHelpText('after', generalHelp);
  for (const [heading, entries] of Object.entries(groups)) {
    root.commandsGroup(heading);
    for (const { name, takes = '', about, load } of entries) {
      const command = wanted(name) ? (await load())(context) : new Command(name).usage(takes);
      root.addCommand(command.description(about));
    }
  }
  return teach(root.addCommand(helpCommand(root)), context);
}

const withoutOptions = (usage: string) => usage.replace(' [options]', '');
