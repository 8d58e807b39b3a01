/** `market-mirror init`: a `.env` file that explains every setting, with what is known or asked for filled in. */

import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { Command } from 'commander';
import { openAtomicFile, writing } from '../atomic-file.ts';
import { examineSettings } from '../config/examine.ts';
import { renderEnvFile } from '../config/template.ts';
import { type Environment, isOurs, isSetting, withoutEmpty } from '../config.ts';
import type { Failure } from '../errors.ts';
import { listJobs, ownSchedules } from '../job-list.ts';
import type { Input } from './asking.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import { openDialogue } from './init/dialogue.ts';

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
  const { environment, stderr } = context;
  const jobs = await listJobs();
  const schedules = ownSchedules(jobs);
  // The place is taken before anybody is asked.
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
    stderr.write(report(Object.keys(known), given));
  } finally {
    await atomic.discard();
  }
}

/** What a file that is to be replaced sets for other programs. */
function foreignIn(file: string): Environment {
  if (!existsSync(file)) return {};
  const there = Object.entries(parseEnv(readFileSync(file, 'utf8')));
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
