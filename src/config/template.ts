/** The settings as a `.env` file that explains itself. */

import { parseEnv } from 'node:util';
import { Failure } from '../errors.ts';
import type { Job } from '../job.ts';
import { allSettings, type Environment, scheduleSetting, settingOf } from './settings.ts';

const opening = `# Settings of market-mirror. They are read from this file in the working folder; the environment goes before it.
# Keep the file out of version control, and to yourself: chmod 600.`;

/**
 * Every setting with its meaning: those of `given` as they are, the others as comments that show what holds.
 * @param foreign what the file sets for other programs.
 */
export function renderEnvFile(
  given: Environment,
  jobs: readonly Pick<Job, 'name' | 'schedule'>[],
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
  const others = Object.entries(foreign).map(([name, value = '']) => `${name}=${quoted(name, value)}`);
  const last = others.length > 0 ? [['# of other programs', ...others]] : [];
  return `${[[opening], ...own, schedules, ...last].map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function line(name: string, value: string | undefined, fallback = ''): string {
  return value ? `${name}=${quoted(name, value)}` : `#${name}=${fallback && quoted(name, fallback)}`;
}

/** What an unfinished value would be taken to go on to. */
const quotes = `# ' " \``;

/** The value in the first way of writing it that is read back as it is; shells read most of them alike. */
function quoted(name: string, value: string): string {
  const isPlain = /^[\w.:/@%+,-]*$/.test(value);
  const ways = [...(isPlain ? [value] : []), `'${value}'`, `"${value}"`, `\`${value}\``, value];
  const faithful = ways.find((written) => parseEnv(`${name}=${written}\n${quotes}`)[name] === value);
  if (faithful !== undefined) return faithful;
  throw new Failure('config', `${name} cannot be written into .env: set it in the environment`);
}
