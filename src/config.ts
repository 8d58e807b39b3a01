/** The settings: read from the environment once, checked, each described. */

import { resolve } from 'node:path';
import { z } from 'zod';
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
  keep: { requestsMs: number; historyMs: number };
  logLevel: string;
};

export type Environment = Record<string, string | undefined>;

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** What each may be and means. */
export const settings = z.object({
  MARKET_API_URL: z
    .string({
      error:
        'is missing: set it to the base address of the API, such as https://api.example.com; market-mirror init asks for it',
    })
    .transform(checkApiUrl)
    .describe('base address; https, or http on loopback only'),
  MARKET_API_KEY: z.string().optional().describe('the Bearer key'),
  MARKET_API_KEY_FILE: z
    .string()
    .optional()
    .describe('instead of the key, a file that holds it; re-read when it changes'),
  MIRROR_DIR: z
    .string()
    .default('./data')
    .transform((dir) => resolve(dir))
    .describe('folder of `mirror.db` and of the private Redis, created for this user alone'),
  REDIS_URL: z
    .string()
    .optional()
    .transform(checkRedisUrl)
    .describe('a Redis or Valkey of yours; unset: the daemon runs one of its own'),
  MIRROR_ON_CHANGE: z
    .string()
    .optional()
    .describe('a command for the shell, run after each proven walk that changed something'),
  MIRROR_KEEP_REQUESTS: z
    .string()
    .default('90d')
    .transform(checkKeeping)
    .describe('how long calls stay in `requests`: a day or longer, or `forever`'),
  MIRROR_KEEP_HISTORY: z
    .string()
    .default('forever')
    .transform(checkKeeping)
    .describe('how long superseded and removed rows stay in `<table>_history`: such as `365d`, or `forever`'),
  LOG_LEVEL: z
    .enum(logLevels, { error: `is not one of ${logLevels.join(', ')}` })
    .default('info')
    .describe('how much is logged: `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`'),
});

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
  const read = check(settings, given);
  return {
    apiUrl: read.MARKET_API_URL,
    key: readKey(read.MARKET_API_KEY, read.MARKET_API_KEY_FILE),
    dir: read.MIRROR_DIR,
    redisUrl: read.REDIS_URL,
    schedules: readSchedules(environment, schedules),
    onChange: read.MIRROR_ON_CHANGE,
    keep: { requestsMs: read.MIRROR_KEEP_REQUESTS, historyMs: read.MIRROR_KEEP_HISTORY },
    logLevel: read.LOG_LEVEL,
  };
}

/** Reads only the settings that concern this machine. @throws Failure `config`, as `readConfig` does. */
export function readLocalConfig(environment: Environment): LocalConfig {
  const given = withoutEmpty(environment);
  refuseUnknown(given);
  const read = check(settings.pick({ MIRROR_DIR: true, LOG_LEVEL: true }), given);
  return { dir: read.MIRROR_DIR, logLevel: read.LOG_LEVEL };
}

/** The folder of the mirror, whatever is wrong with other settings. */
export function readDir(environment: Environment): string {
  return check(settings.pick({ MIRROR_DIR: true }), withoutEmpty(environment)).MIRROR_DIR;
}

/** `fallback` is what holds where the setting is not given; undefined where nothing does. */
export type SettingDescribed = { name: string; meaning: string; fallback: string | undefined };

/** The settings and their meaning, for documentation. */
export function describeSettings(): SettingDescribed[] {
  const described = Object.entries(settings.shape).map(([name, type]) => {
    const written = type instanceof z.ZodPipe ? type.in : type;
    const fallback = z.string().safeParse(written.safeParse(undefined).data).data;
    return { name, meaning: type.description ?? '', fallback };
  });
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
  const known = Object.keys(settings.shape);
  for (const name of Object.keys(given))
    if (/^(MARKET_API|MIRROR)_/.test(name) && !name.startsWith(SCHEDULE) && !known.includes(name))
      throw new Failure(
        'config',
        `${name} is no setting${nearest(name, known)}; known are ${known.join(', ')}, ${SCHEDULE}<JOB>`,
      );
}

export function check<Schema extends z.ZodType>(schema: Schema, given: Environment): z.output<Schema> {
  const checked = schema.safeParse(given);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  throw new Failure('config', `${issue?.path.join('.')} ${issue?.message}`);
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

function checkApiUrl(text: string, context: z.RefinementCtx): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem = !url
    ? 'is not an address such as https://api.example.com'
    : url.username || url.password
      ? 'holds a user name or password: the key goes into MARKET_API_KEY'
      : url.search || url.hash
        ? 'holds a query or fragment: give the base address alone'
        : url.protocol === 'http:' && !isLoopback(url.hostname)
          ? 'uses http://, which would show the key to the network: use https://'
          : url.protocol !== 'http:' && url.protocol !== 'https:'
            ? 'is not an https:// address'
            : undefined;
  if (problem) context.addIssue({ code: 'custom', message: problem });
  return url ? `${url.origin}${url.pathname}`.replace(/\/+$/, '') : text;
}

function checkRedisUrl(text: string | undefined, context: z.RefinementCtx): string | undefined {
  if (text !== undefined && !/^(rediss?:\/\/|unix:\/\/\/)./.test(text))
    context.addIssue({
      code: 'custom',
      message: 'is not of the form redis://user:password@host:6379/0, rediss://… (TLS) or unix:///path',
    });
  return text;
}

const DAY_MS = 24 * 3_600_000;

function checkKeeping(text: string, context: z.RefinementCtx): number {
  if (text.trim() === 'forever') return Number.POSITIVE_INFINITY;
  const kept = millisecondsOf(text.trim());
  if (kept !== undefined && kept >= DAY_MS && kept <= 1_000 * 365 * DAY_MS) return kept;
  context.addIssue({
    code: 'custom',
    message: 'is no time to keep: set it to 1d or longer, such as 90d, or to forever',
  });
  return z.NEVER;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

export function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
}
