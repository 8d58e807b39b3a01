/** `market-mirror init`: a `.env` file that explains every setting, with what is known or asked for filled in; one that is there is completed. */

import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { Command } from 'commander';
import { openAtomicFile, writing } from '../base/atomic-file.ts';
import { Failure } from '../base/errors.ts';
import { textIn } from '../base/text-file.ts';
import { parseDotEnv } from '../config/dot-env.ts';
import { allSettings, hintSettings, scheduleSetting } from '../config/settings.ts';
import { type Environment, examineSettings, isOurs, isSetting, settingOf, withoutEmpty } from '../config.ts';
import { type ListedJob, listJobs, ownSchedules } from '../job/list.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import type { Input } from './query.ts';

type Options = { url?: string; keyFile?: string; force?: true };

const FILE = '.env';

export function initCommand(context: Context, stdin: Input = process.stdin): Command {
  const command = new Command('init')
    .option('--url <address>', 'the base address of the API')
    .option('--key-file <file>', 'the file that holds the key')
    .option('--force', 'write a .env that is there anew, instead of filling in what is unset in it')
    .action((options: Options) => init(options, context, stdin));
  return withExamples(
    command,
    ['on a terminal: asks for the address, the key, and the limits of the account', 'init'],
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
  const there = options.force ? null : readThere(FILE);
  // A file that is in the way is found before the questions.
  const atomic = await openAtomicFile(there?.path ?? FILE, there !== null || (options.force ?? false), 0o600);
  try {
    const known = settingsIn(environment);
    const wanted = withoutEmpty({ MARKET_API_URL: options.url, MARKET_API_KEY_FILE: options.keyFile });
    const kept = there ? Object.keys(wanted).filter((name) => isSetIn(there.set, name)) : [];
    const given = { ...there?.set, ...known, ...without(wanted, kept) };
    refuseWrong(given, schedules);
    if (stdin.isTTY && stderr.isTTY) Object.assign(given, await askForMissing(given, context, stdin));
    const added = there ? unsetOf(given, there.set) : given;
    if (!there || Object.keys(added).length > 0) {
      const text = there ? filledIn(there.text, added) : renderEnvFile(given, jobs, foreignIn(FILE));
      await writing(FILE, () => atomic.handle.writeFile(text));
      await atomic.commit();
    }
    const fromEnvironment = Object.keys(known).filter((name) => name in added && !(name in wanted));
    stderr.write(hint(report({ added, isNew: !there, kept, fromEnvironment, given })));
  } finally {
    await atomic.discard();
  }
}

/** A `.env` that is there. `set`: what it sets for us, without what it leaves empty. */
type EnvFile = { path: string; text: string; set: Environment };

function readThere(file: string): EnvFile | null {
  if (!existsSync(file) || !statSync(file).isFile()) return null;
  const text = textOf(file);
  return { path: realpathSync(file), text, set: settingsIn(parseDotEnv(text)) };
}

/** The key is given by one of two settings. */
const KEYS = ['MARKET_API_KEY', 'MARKET_API_KEY_FILE'];

const isSetIn = (set: Environment, name: string): boolean =>
  KEYS.includes(name) ? KEYS.some((key) => key in set) : name in set;

const without = (environment: Environment, names: readonly string[]): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !names.includes(name)));

const unsetOf = (given: Environment, set: Environment): Environment =>
  Object.fromEntries(
    Object.entries(withoutEmpty(given)).filter(([name]) => isOurs(name) && !isSetIn(set, name)),
  );

/**
 * The text of the file with these settings in the lines that stand for them, or at its end; all else stays as it is.
 * @throws Failure `config` where the file would not be read back so.
 */
function filledIn(text: string, added: Environment): string {
  const expected = { ...parseDotEnv(text), ...added };
  const isFaithful = (filled: string) => {
    const found = parseDotEnv(filled);
    const names = Object.keys(found);
    return (
      names.length === Object.keys(expected).length && names.every((name) => found[name] === expected[name])
    );
  };
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  const append = (to: string, line: string) =>
    `${to}${to === '' || to.endsWith('\n') ? '' : lineEnd}${line}${lineEnd}`;
  let [inPlace, atEnd] = [text, text];
  for (const [name, value = ''] of Object.entries(added)) {
    const written = `${name}=${quoted(name, value)}`;
    const empty = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=[ \\t]*$`, 'm');
    const comment = new RegExp(`^[ \\t]*#[ \\t]*${name}=.*$`, 'm');
    const line = [empty, comment].find((pattern) => pattern.test(inPlace));
    inPlace = line ? inPlace.replace(line, () => written) : append(inPlace, written);
    atEnd = append(atEnd, written);
  }
  // A line that seems to stand for a setting may be a part of another value.
  const filled = [inPlace, atEnd].find(isFaithful);
  if (filled !== undefined) return filled;
  throw new Failure('config', `${FILE} cannot be filled in as it is written: --force writes it anew`);
}

/** To the letter: with its byte order mark, where it has one. @throws Failure `config` where it is not in UTF-8. */
function textOf(file: string): string {
  const bytes = readFileSync(file);
  textIn(bytes, file);
  return bytes.toString('utf8');
}

/** What a file that is to be replaced sets for other programs. */
function foreignIn(file: string): Environment {
  if (!existsSync(file)) return {};
  const there = Object.entries(parseDotEnv(textOf(file)));
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

/** The page of the account mostly says them. */
const limitQuestions = {
  MARKET_API_QUOTA:
    'Quota of the account, such as 1000/1d, or 1000/1d@00:00 if it begins anew at that time (UTC)',
  MARKET_API_RATE: 'Its rate, such as 5/1s',
  MARKET_API_CONCURRENCY: 'Its number of calls at once, such as 2',
};

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
    const isNew = Object.keys(asked).length > 0;
    for (const [name, question] of Object.entries(isNew ? limitQuestions : {}))
      while (given[name] === undefined && asked[name] === undefined) {
        const answer = (await dialogue.ask(`${question}; leave empty to learn it: `)).trim();
        const wrong = answer === '' ? null : wrongIn(name, answer);
        if (wrong) context.stderr.write(`${wrong.message}\n`);
        else asked[name] = answer;
      }
    return withoutEmpty(asked);
  } finally {
    dialogue.close();
  }
}

function wrongIn(name: string, value: string): Failure | null {
  return examineSettings({ [name]: value }, {}).find((found) => found.name === name)?.wrong ?? null;
}

type Written = {
  /** What was not set before. */
  added: Environment;
  isNew: boolean;
  /** What was asked for otherwise. */
  kept: readonly string[];
  fromEnvironment: readonly string[];
  given: Environment;
};

function report({ added, isNew, kept, fromEnvironment, given }: Written): string {
  const missing = [
    ...(given['MARKET_API_URL'] ? [] : ['MARKET_API_URL']),
    ...(given['MARKET_API_KEY'] || given['MARKET_API_KEY_FILE']
      ? []
      : ['MARKET_API_KEY or MARKET_API_KEY_FILE']),
  ];
  const names = Object.keys(added);
  const written = isNew
    ? `${FILE} is written, for this user alone${names.length === 0 ? ', without any value' : ''}`
    : names.length > 0
      ? `${FILE} is filled in: ${names.join(', ')}; all else in it stays as it was`
      : `${FILE} is there and stays as it is: there was nothing to fill in`;
  return [
    written,
    ...(fromEnvironment.length > 0 ? [`taken from the environment: ${fromEnvironment.join(', ')}`] : []),
    ...(kept.length > 0
      ? [`not taken, since ${FILE} sets it already (--force replaces it): ${kept.join(', ')}`]
      : []),
    ...(missing.length > 0 ? [`still to be set in it: ${missing.join(', and ')}`] : []),
    missing.length > 0
      ? 'next: set it there, or by market-mirror init --url ADDRESS --key-file FILE; then market-mirror doctor'
      : 'next: market-mirror doctor, then market-mirror sync',
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

const OPENING = `# Settings of market-mirror. They are read from this file in the working folder; environment variables override it.
# Keep the file out of version control, and to yourself: chmod 600.`;

/** What a newcomer needs, beside what is set already. */
const FIRST = /^(MARKET_API_\w+|MIRROR_DIR|MIRROR_SERVE|MIRROR_REPORTS|MIRROR_NOTIFY)$/;
const MORE = '# more, which most never need:';

/**
 * Every setting with its meaning: those of `given` as they are, the others as comments that show what holds. What a newcomer needs
 * and what is given come first, then schedules, and below one line all the rest.
 * @param foreign what the file sets for other programs.
 */
export function renderEnvFile(
  given: Environment,
  jobs: readonly Pick<ListedJob, 'name' | 'schedule' | 'schemas' | 'reading'>[],
  foreign: Environment = {},
): string {
  const isFirst = ({ name }: { name: string }) => FIRST.test(name) || Boolean(given[name]);
  const described = ({ name, meaning, fallback, isRequired }: (typeof allSettings)[number]) => [
    `# ${meaning}${isRequired ? ' (required)' : ''}`,
    line(name, given[name], fallback),
  ];
  const first = allSettings.filter(isFirst).map(described);
  const more = allSettings.filter((setting) => !isFirst(setting)).map(described);
  const schedules = [
    `# ${scheduleSetting.meaning}`,
    ...jobs.map((job) => line(settingOf(job.name), given[settingOf(job.name)], job.schedule)),
  ];
  const hints = Object.values(hintSettings).map((setting) => [
    `# ${setting.meaning}`,
    ...jobs
      .filter(({ schemas, reading }) => schemas === null && reading === 'list')
      .map((job) => line(settingOf(job.name, setting), given[settingOf(job.name, setting)])),
  ]);
  const others = Object.entries(foreign).map(([name, value = '']) => `${name}=${quoted(name, value)}`);
  const last = others.length > 0 ? [['# of other programs', ...others]] : [];
  const groups = [[OPENING], ...first, schedules, [MORE], ...more, ...hints, ...last];
  return `${groups.map((lines) => lines.join('\n')).join('\n\n')}\n`;
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
