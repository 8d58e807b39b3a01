/** The settings: read from the environment once, checked, each described. */

import { resolve } from 'node:path';
import { Failure, toError } from './errors.ts';
import { type KeySource, keyFromFile, keyFromValue } from './key.ts';
import { nearest } from './near.ts';
import { millisecondsOf, parseSchedule, type Schedule } from './schedule.ts';

export type Config = {
  /** Base address without a slash at its end. */
  apiUrl: string;
  key: KeySource;
  /** Folder of `mirror.db` and of the private Redis. */
  dir: string;
  /** Undefined: the daemon runs a Redis of its own. May hold a password. */
  redisUrl: string | undefined;
  schedules: Record<string, Schedule>;
  /** What a shell runs after a walk that changed something. */
  onChange: string | undefined;
  /** For how long, in milliseconds; infinite for ever. */
  keep: {
    requestsMs: number;
    historyMs: number;
    walksMs: number;
    usageMs: number;
    quarantineMs: number;
    driftMs: number;
  };
  logLevel: string;
};

export type Environment = Record<string, string | undefined>;

/** What a setting means, and what its text comes to. Plain data: a library of schemas would take every command as long to load as to run. */
type Setting<Value> = {
  meaning: string;
  /** What holds where it is not set; undefined where nothing does. */
  fallback: string | undefined;
  isRequired: boolean;
  /** @throws Failure `config` whose message goes on from the name of the setting. */
  read(text: string | undefined): Value;
};

export const settings = {
  MARKET_API_URL: required(
    'base address; https, or http on loopback only',
    'is missing: set it to the base address of the API, such as https://api.example.com; market-mirror init asks for it',
    readApiUrl,
  ),
  MARKET_API_KEY: optional('the Bearer key', asItIs),
  MARKET_API_KEY_FILE: optional('instead of the key, a file that holds it; re-read when it changes', asItIs),
  MIRROR_DIR: preset(
    'folder of `mirror.db` and of the private Redis, created for this user alone',
    './data',
    (dir) => resolve(dir),
  ),
  REDIS_URL: optional('a Redis or Valkey of yours; unset: the daemon runs one of its own', readRedisUrl),
  MIRROR_ON_CHANGE: optional(
    'a command for the shell, run after each proven walk that changed something',
    asItIs,
  ),
  MIRROR_KEEP_REQUESTS: preset(
    'how long calls stay in `requests`: a day or longer, or `forever`',
    '90d',
    readKeeping,
  ),
  MIRROR_KEEP_HISTORY: preset(
    'how long superseded and removed rows stay in `<table>_history`: such as `365d`, or `forever`',
    'forever',
    readKeeping,
  ),
  MIRROR_KEEP_WALKS: preset(
    'how long walks to which nothing refers any longer stay in `walks`',
    '400d',
    readKeeping,
  ),
  MIRROR_KEEP_USAGE: preset('how long snapshots stay in `usage`', 'forever', readKeeping),
  MIRROR_KEEP_QUARANTINE: preset(
    'how long refused rows stay in `quarantine` once they are resolved',
    '90d',
    readKeeping,
  ),
  MIRROR_KEEP_DRIFT: preset(
    'how long differences stay in `drift` once they are no longer seen',
    '90d',
    readKeeping,
  ),
  LOG_LEVEL: preset(
    'how much is logged: `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`',
    'info',
    readLogLevel,
  ),
} satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof settings;

export const settingNames = Object.keys(settings) as SettingName[];

function required<Value>(meaning: string, missing: string, read: (text: string) => Value): Setting<Value> {
  const readGiven = (text: string | undefined) => (text === undefined ? refuse(missing) : read(text));
  return { meaning, fallback: undefined, isRequired: true, read: readGiven };
}

function optional<Value>(meaning: string, read: (text: string) => Value): Setting<Value | undefined> {
  const readGiven = (text: string | undefined) => (text === undefined ? undefined : read(text));
  return { meaning, fallback: undefined, isRequired: false, read: readGiven };
}

function preset<Value>(meaning: string, fallback: string, read: (text: string) => Value): Setting<Value> {
  return { meaning, fallback, isRequired: false, read: (text = fallback) => read(text) };
}

const SCHEDULE = 'MIRROR_SCHEDULE_';

/** What a reading command needs: no address, no key. */
export type LocalConfig = Pick<Config, 'dir' | 'logLevel'>;

/**
 * Reads every setting. An empty value counts as unset.
 * @param schedules each job's own schedule, by name; `MIRROR_SCHEDULE_<JOB>` replaces it.
 * @throws Failure `config`: one line that names the setting, never a secret value.
 */
export function readConfig(environment: Environment, schedules: Record<string, string>): Config {
  const given = withoutEmpty(environment);
  refuseDangers(given);
  const read = <Name extends SettingName>(name: Name) => readSetting(name, given);
  return {
    apiUrl: read('MARKET_API_URL'),
    dir: read('MIRROR_DIR'),
    redisUrl: read('REDIS_URL'),
    onChange: read('MIRROR_ON_CHANGE'),
    keep: {
      requestsMs: read('MIRROR_KEEP_REQUESTS'),
      historyMs: read('MIRROR_KEEP_HISTORY'),
      walksMs: read('MIRROR_KEEP_WALKS'),
      usageMs: read('MIRROR_KEEP_USAGE'),
      quarantineMs: read('MIRROR_KEEP_QUARANTINE'),
      driftMs: read('MIRROR_KEEP_DRIFT'),
    },
    logLevel: read('LOG_LEVEL'),
    key: readKey(read('MARKET_API_KEY'), read('MARKET_API_KEY_FILE')),
    schedules: readSchedules(environment, schedules),
  };
}

/** Reads only the settings that concern this machine. @throws Failure `config`, as `readConfig` does. */
export function readLocalConfig(environment: Environment): LocalConfig {
  const given = withoutEmpty(environment);
  refuseUnknown(given);
  return { dir: readSetting('MIRROR_DIR', given), logLevel: readSetting('LOG_LEVEL', given) };
}

/** The folder of the mirror, whatever is wrong with other settings. */
export function readDir(environment: Environment): string {
  return readSetting('MIRROR_DIR', withoutEmpty(environment));
}

/** `fallback` is what holds where the setting is not given; undefined where nothing does. */
export type SettingDescribed = { name: string; meaning: string; fallback: string | undefined };

/** The settings and their meaning, for documentation. */
export function describeSettings(): SettingDescribed[] {
  const described = Object.entries(settings).map(([name, { meaning, fallback }]) => ({
    name,
    meaning,
    fallback,
  }));
  const schedule = 'when a job runs: `every 2m`, a cron pattern (UTC), or `off`';
  return [...described, { name: `${SCHEDULE}<JOB>`, meaning: schedule, fallback: undefined }];
}

export function refuseDangers(given: Environment): void {
  if (given['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    throw new Failure('config', 'NODE_TLS_REJECT_UNAUTHORIZED=0 would hand the key to anyone: unset it');
  refuseUnknown(given);
}

/** A misspelt setting would be ignored in silence. */
function refuseUnknown(given: Environment): void {
  const known = settingNames as readonly string[];
  for (const name of Object.keys(given))
    if (/^(MARKET_API|MIRROR)_/.test(name) && !name.startsWith(SCHEDULE) && !known.includes(name))
      throw new Failure(
        'config',
        `${name} is no setting${nearest(name, known)}; known are ${known.join(', ')}, ${SCHEDULE}<JOB>`,
      );
}

export function isSetting(name: string): name is SettingName {
  return Object.hasOwn(settings, name);
}

/** What the setting comes to. @throws Failure `config` that names it. */
export function readSetting<Name extends SettingName>(
  name: Name,
  given: Environment,
): ReturnType<(typeof settings)[Name]['read']> {
  try {
    return settings[name].read(given[name]) as ReturnType<(typeof settings)[Name]['read']>;
  } catch (thrown) {
    throw thrown instanceof Failure ? new Failure('config', `${name} ${thrown.message}`) : thrown;
  }
}

export function readKey(value: string | undefined, file: string | undefined): KeySource {
  if (value !== undefined && file !== undefined)
    throw new Failure('config', 'MARKET_API_KEY and MARKET_API_KEY_FILE are both set: unset one');
  if (value !== undefined) return keyFromValue(value);
  if (file !== undefined) return keyFromFile(file);
  throw new Failure(
    'config',
    'MARKET_API_KEY is missing: set it, or MARKET_API_KEY_FILE to a file that holds the key; market-mirror init asks for it',
  );
}

/**
 * When each job runs.
 * @param own each job's own schedule, by name; `MIRROR_SCHEDULE_<JOB>` replaces it.
 * @throws Failure `config` that names the setting.
 */
export function readSchedules(
  environment: Environment,
  own: Record<string, string>,
): Record<string, Schedule> {
  const given = withoutEmpty(environment);
  const known = new Set(Object.keys(own).map(settingOf));
  for (const name of Object.keys(given))
    if (name.startsWith(SCHEDULE) && !known.has(name))
      throw new Failure(
        'config',
        `${name} names no job${nearest(name, [...known])}; known are ${[...known].join(', ')}`,
      );
  return Object.fromEntries(
    Object.entries(own).map(([job, schedule]) => {
      const name = settingOf(job);
      try {
        return [job, parseSchedule(given[name] ?? schedule)];
      } catch (thrown) {
        throw new Failure('config', `${name}: ${toError(thrown).message}`);
      }
    }),
  );
}

/** The name of the setting that says when the job runs. */
export function settingOf(job: string): string {
  return `${SCHEDULE}${job.replaceAll('-', '_').toUpperCase()}`;
}

function asItIs(text: string): string {
  return text;
}

function refuse(problem: string): never {
  throw new Failure('config', problem);
}

function readApiUrl(text: string): string {
  if (!URL.canParse(text)) refuse('is not an address such as https://api.example.com');
  const { username, password, search, hash, protocol, hostname, origin, pathname } = new URL(text);
  if (username || password) refuse('holds a user name or password: the key goes into MARKET_API_KEY');
  if (search || hash) refuse('holds a query or fragment: give the base address alone');
  if (protocol === 'http:' && !isLoopback(hostname))
    refuse('uses http://, which would show the key to the network: use https://');
  if (protocol !== 'http:' && protocol !== 'https:') refuse('is not an https:// address');
  return `${origin}${pathname}`.replace(/\/+$/, '');
}

function readRedisUrl(text: string): string {
  if (!/^(rediss?:\/\/|unix:\/\/\/)./.test(text))
    refuse('is not of the form redis://user:password@host:6379/0, rediss://… (TLS) or unix:///path');
  return text;
}

function readLogLevel(text: string): string {
  const known = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
  return known.includes(text) ? text : refuse(`is not one of ${known.join(', ')}`);
}

const DAY_MS = 24 * 3_600_000;

/** Milliseconds; infinite for ever. */
function readKeeping(text: string): number {
  if (text.trim() === 'forever') return Number.POSITIVE_INFINITY;
  const kept = millisecondsOf(text.trim());
  if (kept !== undefined && kept >= DAY_MS && kept <= 1_000 * 365 * DAY_MS) return kept;
  return refuse('is no time to keep: set it to 1d or longer, such as 90d, or to forever');
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

export function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
}
