/** `market-mirror init`: a `.env` file that explains every setting, with what is known or asked for filled in. */

import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { Command } from 'commander';
import { openAtomicFile, writing } from '../atomic-file.ts';
import { allSettings, hintSettings, scheduleSetting } from '../config/settings.ts';
import { type Environment, examineSettings, isOurs, isSetting, settingOf, withoutEmpty } from '../config.ts';
import { parseDotEnv } from '../dot-env.ts';
import { Failure } from '../errors.ts';
import { type ListedJob, listJobs, ownSchedules } from '../job-list.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import type { Input } from './query.ts';

type Options = { url?: string; keyFile?: string; force?: true };

const FILE = '.env';

export function initCommand(context: Context, stdin: Input = process.stdin): Command {
  const command = new Command('init')
    .option('--url <address>', 'the base address of the API')
    .option('--key-file <file>', 'the file that holds the key')
    .option('--force', 'replace a .env that is there; what is set in it stays set')
    .action((options: Options) => init(options, context, stdin));
  return withExamples(
    command,
    ['on a terminal: asks for the address and the key', 'init'],
    [
      'elsewhere: with the file that holds the key',
      'init --url https://api.example.com --key-file market-api.key',
    ],
  );
}

async function init(options: Options, context: Context, stdin: Input): Promise<void> {
  const { environment, stderr, hint } = context;
  const jobs = await listJobs();
  const schedules = ownSchedules(jobs);
  // A file that is in the way is found before the questions.
  const atomic = await openAtomicFile(FILE, options.force ?? false, 0o600);
  try {
    const known = settingsIn(environment);
    const given = {
      ...known,
      ...withoutEmpty({ MARKET_API_URL: options.url, MARKET_API_KEY_FILE: options.keyFile }),
    };
    refuseWrong(given, schedules);
    if (stdin.isTTY && stderr.isTTY) Object.assign(given, await askForMissing(given, context, stdin));
    const text = renderEnvFile(given, jobs, foreignIn(FILE));
    await writing(FILE, () => atomic.handle.writeFile(text));
    await atomic.commit();
    stderr.write(hint(report(Object.keys(known), given)));
  } finally {
    await atomic.discard();
  }
}

/** What a file that is to be replaced sets for other programs. */
function foreignIn(file: string): Environment {
  if (!existsSync(file)) return {};
  const there = Object.entries(parseDotEnv(readFileSync(file), file));
  return Object.fromEntries(there.filter(([name]) => !isOurs(name)));
}

function settingsIn(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(withoutEmpty(environment)).filter(([name]) => isOurs(name)));
}

/** What is missing is no mistake yet. */
function refuseWrong(given: Environment, schedules: Record<string, string>): void {
  const isGiven = (name: string) => name in given || !isSetting(name);
  for (const { name, wrong } of examineSettings(given, schedules)) if (wrong && isGiven(name)) throw wrong;
}

async function askForMissing(given: Environment, context: Context, stdin: Input): Promise<Environment> {
  const asked: Environment = {};
  const hasKey = given['MARKET_API_KEY'] ?? given['MARKET_API_KEY_FILE'];
  const dialogue = openDialogue(stdin, context);
  try {
    while (!given['MARKET_API_URL'] && !asked['MARKET_API_URL']) {
      const answer = (
        await dialogue.ask('Base address of the API, such as https://api.example.com: ')
      ).trim();
      const wrong = wrongIn('MARKET_API_URL', answer);
      if (wrong) context.stderr.write(`${wrong.message}\n`);
      else asked['MARKET_API_URL'] = answer;
    }
    if (!hasKey) {
      const key = await dialogue.askSecret('API key (not shown; Enter leaves it out): ');
      const wrong = key === '' ? null : wrongIn('MARKET_API_KEY', key);
      if (wrong) throw wrong;
      asked['MARKET_API_KEY'] = key;
    }
    return asked;
  } finally {
    dialogue.close();
  }
}

function wrongIn(name: string, value: string): Failure | null {
  return examineSettings({ [name]: value }, {}).find((found) => found.name === name)?.wrong ?? null;
}

function report(known: readonly string[], given: Environment): string {
  const missing = [
    ...(given['MARKET_API_URL'] ? [] : ['MARKET_API_URL']),
    ...(given['MARKET_API_KEY'] || given['MARKET_API_KEY_FILE']
      ? []
      : ['MARKET_API_KEY or MARKET_API_KEY_FILE']),
  ];
  return [
    `${FILE} is written, for this user alone`,
    ...(known.length > 0 ? [`taken from the environment: ${known.join(', ')}`] : []),
    ...(missing.length > 0 ? [`still to be set in it: ${missing.join(', and ')}`] : []),
    'next: market-mirror doctor, then market-mirror sync',
    '',
  ].join('\n');
}

type Dialogue = {
  ask(question: string): Promise<string>;
  /** What is typed is not shown. A line break within it, which only pasting brings, is kept. */
  askSecret(question: string): Promise<string>;
  close(): void;
};

function openDialogue(input: Input, { stderr, signal }: Context): Dialogue {
  // What is typed is shown for one line only: a secret may be pasted along with it.
  let hidden = true;
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!hidden) stderr.write(String(chunk));
      done();
    },
  });
  const lines = createInterface({ input, output, signal, terminal: true, historySize: 0 });
  const typed: string[] = [];
  let ended = false;
  let heard = () => {};
  lines.on('line', (line) => {
    hidden = true;
    typed.push(line);
    heard();
  });
  lines.on('SIGINT', () => lines.close());
  lines.on('close', () => {
    ended = true;
    heard();
  });

  async function nextLine(): Promise<string> {
    while (typed.length === 0 && !ended)
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    const line = typed.shift();
    if (line === undefined) throw new Failure('incomplete', 'stopped: nothing was written');
    return line;
  }

  return {
    async ask(question) {
      hidden = false;
      lines.setPrompt(question);
      lines.prompt();
      return await nextLine();
    },
    async askSecret(question) {
      stderr.write(question);
      try {
        const line = await nextLine();
        // What was pasted comes in one piece.
        await setImmediate();
        return [line, ...typed.splice(0), ...(lines.line ? [lines.line] : [])].join('\n');
      } finally {
        stderr.write('\n');
      }
    },
    close: () => lines.close(),
  };
}

const OPENING = `# Settings of market-mirror. They are read from this file in the working folder; the environment goes before it.
# Keep the file out of version control, and to yourself: chmod 600.`;

/**
 * Every setting with its meaning: those of `given` as they are, the others as comments that show what holds.
 * @param foreign what the file sets for other programs.
 */
export function renderEnvFile(
  given: Environment,
  jobs: readonly Pick<ListedJob, 'name' | 'schedule' | 'schemas' | 'reading'>[],
  foreign: Environment = {},
): string {
  const own = allSettings.map(({ name, meaning, fallback, isRequired }) => [
    `# ${meaning}${isRequired ? ' (required)' : ''}`,
    line(name, given[name], fallback),
  ]);
  const schedules = [
    `# ${scheduleSetting.meaning}`,
    ...jobs.map((job) => line(settingOf(job.name), given[settingOf(job.name)], job.schedule)),
  ];
  const hints = Object.values(hintSettings).map((setting) => [
    `# ${setting.meaning}`,
    ...jobs
      .filter(({ schemas, reading }) => schemas === null && reading === 'walk')
      .map((job) => line(settingOf(job.name, setting), given[settingOf(job.name, setting)])),
  ]);
  const others = Object.entries(foreign).map(([name, value = '']) => `${name}=${quoted(name, value)}`);
  const last = others.length > 0 ? [['# of other programs', ...others]] : [];
  return `${[[OPENING], ...own, schedules, ...hints, ...last].map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function line(name: string, value: string | undefined, fallback = ''): string {
  return value ? `${name}=${quoted(name, value)}` : `#${name}=${fallback && quoted(name, fallback)}`;
}

/** Stands behind the value: an unfinished quote would go on to it. */
const QUOTES = `# ' " \``;

/** The value in the first notation that is read back unchanged. Shells read most of them alike. */
function quoted(name: string, value: string): string {
  const isPlain = /^[\w.:/@%+,-]*$/.test(value);
  const ways = [...(isPlain ? [value] : []), `'${value}'`, `"${value}"`, `\`${value}\``, value];
  const faithful = ways.find((written) => parseEnv(`${name}=${written}\n${QUOTES}`)[name] === value);
  if (faithful !== undefined) return faithful;
  throw new Failure('config', `${name} cannot be written into .env: set it in the environment`);
}
