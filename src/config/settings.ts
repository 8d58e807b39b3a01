/** Every setting: its name, what it means, what holds without it, and what its text comes to. A new one is one entry here. */

import { resolve } from 'node:path';
import { DAY_MS } from '../clock.ts';
import type { Environment } from '../environment.ts';
import { Failure } from '../errors.ts';
import { printable } from '../printable.ts';
import { millisecondsOf } from '../schedule.ts';
import {
  holdsPassword,
  readApiUrl,
  readLakeAddress,
  readRedisUrl,
  readShipUrl,
  showApiUrl,
  showRedisUrl,
  showShipUrl,
} from './addresses.ts';
import {
  readBounds,
  readHosts,
  readListenAddress,
  readNetworks,
  readPageAccess,
  readSwitch,
} from './service-values.ts';

export type { Environment } from '../environment.ts';

/** Plain data: a library of schemas would take every command as long to load as to run. */
export type Setting<Value = unknown> = {
  name: string;
  meaning: string;
  /** What holds where it is not set; undefined where nothing does. */
  fallback: string | undefined;
  isRequired: boolean;
  /** @throws Failure `config` whose message goes on from the name of the setting. */
  read(text: string | undefined): Value;
  /** What of a given text may be shown: nothing secret. */
  show(text: string): string;
  /** The secret that a given text holds, such as `the key`; undefined where it holds none. Files, children and output follow this. */
  secretIn(text: string): string | undefined;
  /** It names a file, and `secretIn` speaks of what that file holds. */
  isFile: boolean;
};

const nothingSecret = { secretIn: () => undefined, isFile: false };

/** By the names that the program has for their values. */
export const settings = {
  /** Base address without a slash at its end. */
  apiUrl: required(
    'MARKET_API_URL',
    'base address; https, or http on loopback only',
    'is missing: set it to the base address of the API, such as https://api.example.com; market-mirror init asks for it',
    readApiUrl,
    showApiUrl,
  ),
  keyText: secret('the key', optional('MARKET_API_KEY', 'the Bearer key', asItIs)),
  keyFile: secretFile(
    'the key',
    optional(
      'MARKET_API_KEY_FILE',
      'instead of the key, a file that holds it; re-read when it changes',
      asItIs,
    ),
  ),
  /** Folder of `mirror.db` and of the private Redis. */
  dir: preset(
    'MIRROR_DIR',
    'folder of `mirror.db` and of the private Redis, created for this user alone',
    './data',
    (text) => resolve(text),
  ),
  redisUrl: secret(
    'the password of Redis',
    optional('REDIS_URL', 'a Redis or Valkey of yours; unset: the daemon runs one of its own', readRedisUrl),
    holdsPassword,
    showRedisUrl,
  ),
  /** Its limits are shared with other machines by way of that Redis. */
  account: optional(
    'MIRROR_ACCOUNT',
    'a name: with `REDIS_URL`, all that are given it keep to the limits of one account together, on whatever machines',
    readAccount,
  ),
  /** What calls are spent on where there are enough. */
  spending: preset(
    'MIRROR_CALLS',
    '`full`: schedules are kept by walks; `thrifty`: by glances where those bring most new rows, and by a walk once an hour',
    'full',
    readSpending,
  ),
  /** What users write into a command may be anything. */
  onChange: secret(
    'a command, which may hold a secret',
    optional(
      'MIRROR_ON_CHANGE',
      'a command for the shell, run after each proven walk that changed something',
      asItIs,
    ),
  ),
  onChangeVariables: optional(
    'MIRROR_ON_CHANGE_ENV',
    'further variables that this command gets, by name or by their beginning: `AWS_*,PGHOST`',
    readVariables,
  ),
  /** `ship.ts` puts them together. */
  ship: {
    address: secret(
      'the password of Postgres',
      optional(
        'MIRROR_SHIP',
        'a Postgres that follows the mirror, `postgres://user@host/database`; `?schema=` names the schema, `market_mirror` unless given',
        readShipUrl,
      ),
      holdsPassword,
      showShipUrl,
    ),
    file: secretFile(
      'the password of Postgres',
      optional(
        'MIRROR_SHIP_FILE',
        'instead of the address, a file that holds it: it may have a password',
        (text) => resolve(text),
      ),
      holdsPassword,
    ),
  },
  lake: {
    address: optional(
      'MIRROR_LAKE',
      'a folder or `s3://bucket/prefix` that receives Parquet: what changed, and a snapshot a day',
      readLakeAddress,
    ),
    everyMs: preset(
      'MIRROR_LAKE_EVERY',
      'how often `start` puts there what is new, at most: a file each time, so not too often',
      '15m',
      readPace,
    ),
    keepMs: preset(
      'MIRROR_KEEP_SNAPSHOTS',
      'how long the daily snapshots stay in the lake; changes stay',
      '90d',
      readKeeping,
    ),
  },
  /** In milliseconds; infinite for ever. */
  keep: {
    requestsMs: preset(
      'MIRROR_KEEP_REQUESTS',
      'how long calls stay in `requests`: a day or longer, or `forever`',
      '90d',
      readKeeping,
    ),
    historyMs: preset(
      'MIRROR_KEEP_HISTORY',
      'how long superseded and removed rows stay in `<table>_history`: such as `365d`, or `forever`',
      'forever',
      readKeeping,
    ),
    walksMs: preset(
      'MIRROR_KEEP_WALKS',
      'how long walks to which nothing refers any longer stay in `walks`',
      '400d',
      readKeeping,
    ),
    usageMs: preset('MIRROR_KEEP_USAGE', 'how long snapshots stay in `usage`', 'forever', readKeeping),
    quarantineMs: preset(
      'MIRROR_KEEP_QUARANTINE',
      'how long refused rows stay in `quarantine` once they are resolved',
      '90d',
      readKeeping,
    ),
    driftMs: preset(
      'MIRROR_KEEP_DRIFT',
      'how long differences stay in `drift` once they are no longer seen',
      '90d',
      readKeeping,
    ),
  },
  /** Of the service; `service.ts` puts them together. */
  serve: {
    address: optional(
      'MIRROR_SERVE',
      '`host:port`: `start` runs `serve` there, and starts it again if it ends',
      readListenAddress,
    ),
    bounds: optional(
      'MIRROR_SERVE_MAX_AGE',
      '`serve` answers 503 instead of data proven longer ago: `1h`, or by job: `1h,news=15m`',
      readBounds,
    ),
    certFile: optional(
      'MIRROR_SERVE_TLS_CERT',
      'file of the certificate with its chain (PEM), re-read when it changes; with the next, `serve` speaks TLS alone',
      (text) => resolve(text),
    ),
    keyFile: secretFile(
      'the private key of TLS',
      optional('MIRROR_SERVE_TLS_KEY', 'file of its private key (PEM), without a password', (text) =>
        resolve(text),
      ),
    ),
    hosts: optional(
      'MIRROR_SERVE_HOSTS',
      'further names by which `serve` may be called: `mirror.example.com,mirror.internal`',
      readHosts,
    ),
    trusted: optional(
      'MIRROR_SERVE_TRUST',
      'addresses or networks of proxies whose X-Forwarded-For is believed: `10.0.0.7,192.0.2.0/24`',
      readNetworks,
    ),
    draftHeaders: preset(
      'MIRROR_SERVE_RATELIMIT',
      "`on`: answers also carry the IETF draft's `RateLimit` fields",
      'off',
      readSwitch,
    ),
    page: preset(
      'MIRROR_SERVE_PAGE',
      '`token`: the page of `serve` opens by the link that it prints, or by a key; `open`: to all on this machine; `off`: there is none',
      'token',
      readPageAccess,
    ),
  },
  logLevel: preset(
    'LOG_LEVEL',
    'how much is logged: `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`',
    'info',
    readLogLevel,
  ),
};

/** In the order in which they are listed. */
export const allSettings: readonly Setting[] = Object.values(settings).flatMap((entry): Setting[] =>
  'name' in entry ? [entry] : Object.values(entry),
);

/** What `serve` reads, beside the schedules. */
export const serviceSettings: readonly Setting[] = [
  ...[settings.dir, settings.spending, settings.logLevel],
  ...Object.values(settings.serve),
];

const SCHEDULE = 'MIRROR_SCHEDULE_';

/** One for each job. */
export const scheduleSetting = {
  name: `${SCHEDULE}<JOB>`,
  meaning: 'when a job runs: `every 2m`, a cron pattern (UTC), or `off`',
};

/** Whether it says when a job runs, be there such a job or not. */
export const isSchedule = (name: string) => name.startsWith(SCHEDULE);

/** The name of the setting that says when the job runs. */
export function settingOf(job: string): string {
  return `${SCHEDULE}${job.replaceAll('-', '_').toUpperCase()}`;
}

function required<Value>(
  name: string,
  meaning: string,
  missing: string,
  read: (text: string) => Value,
  show = asItIs,
): Setting<Value> {
  const readGiven = (text: string | undefined) => {
    if (text === undefined) throw new Failure('config', missing);
    return read(text);
  };
  return { name, meaning, fallback: undefined, isRequired: true, read: readGiven, show, ...nothingSecret };
}

function optional<Value>(
  name: string,
  meaning: string,
  read: (text: string) => Value,
): Setting<Value | undefined> {
  const readGiven = (text: string | undefined) => (text === undefined ? undefined : read(text));
  return {
    ...{ name, meaning, fallback: undefined, isRequired: false },
    ...{ read: readGiven, show: asItIs, ...nothingSecret },
  };
}

function preset<Value>(
  name: string,
  meaning: string,
  fallback: string,
  read: (text: string) => Value,
): Setting<Value> {
  return {
    ...{ name, meaning, fallback, isRequired: false },
    ...{ read: (text = fallback) => read(text), show: asItIs, ...nothingSecret },
  };
}

/** @param isIn whether a given text holds the secret. @param rest what of such a text may be shown. */
function secret<Value>(
  name: string,
  setting: Setting<Value>,
  isIn: (text: string) => boolean = () => true,
  rest: (text: string) => string = () => 'is set (not shown)',
): Setting<Value> {
  const secretIn = (text: string) => (isIn(text) ? name : undefined);
  return { ...setting, secretIn, show: rest };
}

/** A setting that names a file. @param isIn whether its text holds the secret. */
function secretFile<Value>(
  name: string,
  setting: Setting<Value>,
  isIn: (text: string) => boolean = () => true,
): Setting<Value> {
  return { ...setting, isFile: true, secretIn: (text) => (isIn(text) ? name : undefined) };
}

/** Secrets of other programs that may lie beside our settings, and that this program or its libraries read. */
const foreignSecrets: Readonly<Record<string, string>> = {
  AWS_SECRET_ACCESS_KEY: 'the secret key of AWS',
  AWS_SESSION_TOKEN: 'a session token of AWS',
  PGPASSWORD: 'the password of Postgres',
};

/** The secrets that these variables hold, such as `the key`: none twice. */
export function secretsIn(environment: Environment): string[] {
  const found = Object.entries(environment).flatMap(([name, text]) => (text && secretOf(name, text)) || []);
  return [...new Set(found)];
}

function secretOf(name: string, text: string): string | undefined {
  return secretInSetting(name, text) ?? foreignSecrets[name];
}

function secretInSetting(name: string, text: string): string | undefined {
  return allSettings.find((setting) => setting.name === name && !setting.isFile)?.secretIn(text);
}

function asItIs(text: string): string {
  return text;
}

/** Whether a list names the variable, by its name or by its beginning. */
export type Variables = (name: string, text: string) => boolean;

/** The beginning of a name stands for no secret setting of ours: that is handed on where it is written out. */
function readVariables(list: string): Variables {
  const entries = list.split(',').map((entry) => entry.trim());
  const wrong = entries.find((entry) => !/^[A-Za-z_][A-Za-z0-9_]*\*?$/.test(entry));
  if (wrong !== undefined)
    throw new Failure(
      'config',
      `holds '${printable(wrong)}', which is neither the name of a variable nor the beginning of one, such as AWS_*`,
    );
  const beginnings = entries.filter((entry) => entry.endsWith('*')).map((entry) => entry.slice(0, -1));
  return (name, text) =>
    entries.includes(name) ||
    (beginnings.some((beginning) => name.startsWith(beginning)) && secretInSetting(name, text) === undefined);
}

function readAccount(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text)) return text;
  throw new Failure('config', 'is no name: up to 64 letters of ASCII, digits and . _ -, the first no sign');
}

function readSpending(text: string): 'full' | 'thrifty' {
  if (text === 'full' || text === 'thrifty') return text;
  throw new Failure('config', 'is neither full nor thrifty');
}

function readLogLevel(text: string): string {
  const known = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];
  if (known.includes(text)) return text;
  throw new Failure('config', `is not one of ${known.join(', ')}`);
}

function readPace(text: string): number {
  const pace = millisecondsOf(text.trim());
  if (pace !== undefined && pace <= DAY_MS) return pace;
  throw new Failure('config', 'is no duration up to a day, such as 15m');
}

function readKeeping(text: string): number {
  if (text.trim() === 'forever') return Number.POSITIVE_INFINITY;
  const kept = millisecondsOf(text.trim());
  if (kept !== undefined && kept >= DAY_MS && kept <= 1_000 * 365 * DAY_MS) return kept;
  throw new Failure('config', 'is no time to keep: set it to 1d or longer, such as 90d, or to forever');
}
