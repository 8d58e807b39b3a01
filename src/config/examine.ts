/** The settings looked over one by one, where `readConfig` ends with the first that is wrong. */

import {
  type Environment,
  readKey,
  readSchedules,
  readSetting,
  refuseDangers,
  settingNames,
  settingOf,
  settings,
  withoutEmpty,
} from '../config.ts';
import { Failure } from '../errors.ts';

/** A setting as it is, without anything secret: what it comes to, or what is wrong with it. */
export type SettingFound = { name: string; shown: string; wrong: Failure | null };

const KEYS = ['MARKET_API_KEY', 'MARKET_API_KEY_FILE'];
/** What users write into a command may be anything. */
const WRITTEN = ['MIRROR_ON_CHANGE'];
const HIDDEN = 'is set (not shown)';

/** @param schedules each job's own schedule, by name. */
export function examineSettings(environment: Environment, schedules: Record<string, string>): SettingFound[] {
  const given = withoutEmpty(environment);
  const keyFile = given['MARKET_API_KEY_FILE'];
  const plain = settingNames.filter((name) => !KEYS.includes(name));
  return [
    examine('environment', () => {
      refuseDangers(given);
      return 'no misspelt or dangerous setting';
    }),
    examine(keyFile ? 'MARKET_API_KEY_FILE' : 'MARKET_API_KEY', () => {
      readKey(given['MARKET_API_KEY'], keyFile);
      return keyFile ?? HIDDEN;
    }),
    ...plain.map((name) =>
      examine(name, () => {
        const read = readSetting(name, given);
        const shown = given[name] ?? settings[name].fallback ?? 'unset';
        if (name === 'MARKET_API_URL') return unmistakable(shown, String(read));
        if (name === 'REDIS_URL') return spelt(withoutLogin(shown));
        return given[name] && WRITTEN.includes(name) ? HIDDEN : shown;
      }),
    ),
    examine('schedules', () => {
      const jobs = Object.keys(readSchedules(environment, schedules));
      return jobs.map((job) => `${job} ${given[settingOf(job)] ?? schedules[job]}`).join(', ');
    }),
  ];
}

function examine(name: string, read: () => string): SettingFound {
  try {
    return { name, shown: read(), wrong: null };
  } catch (thrown) {
    if (thrown instanceof Failure) return { name, shown: '', wrong: thrown };
    throw thrown;
  }
}

/** An address of Redis may hold a user name and a password; nothing of either is shown, however it was written. */
function withoutLogin(shown: string): string {
  if (!/[@?#]/.test(shown)) return shown;
  if (!URL.canParse(shown)) return HIDDEN;
  const { protocol, host, pathname, search, hash } = new URL(shown);
  return search || hash || pathname.includes('@') ? HIDDEN : `${protocol}//${host}${pathname}`;
}

/** A letter of another alphabet may look like one of ours: the address that is called shows it, in the form that DNS knows. */
function unmistakable(given: string, called: string): string {
  const letters = [...new Set(given.match(BEYOND_ASCII))].map(spelt);
  return letters.length === 0
    ? given
    : `${called} (mind: it is written with ${letters.join(' ')}, not with letters of ASCII)`;
}

const BEYOND_ASCII = /[^ -~]/gu;

const spelt = (text: string) =>
  text.replace(BEYOND_ASCII, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);
