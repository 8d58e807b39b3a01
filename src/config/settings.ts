/** Every setting: its name, meaning, default, and how it is read. A new one is one entry here. */

import { resolve } from 'node:path';
import type { Environment } from '../base/environment.ts';
import {
  type AccountLimits,
  holdsPassword,
  holdsProxyPassword,
  NOT_SHOWN,
  oneOf,
  readApiUrl,
  readConcurrency,
  readHosts,
  readLakeFolder,
  readLakeInterval,
  readListenAddress,
  readMaxAges,
  readProxies,
  readProxyUrl,
  readQuota,
  readRate,
  readRedisUrl,
  readRetention,
  readShipUrl,
  readSwitch,
  readVariables,
  readWebhookUrl,
  refuse,
  showApiUrl,
  showProxyUrl,
  showWithoutLogin,
} from './values.ts';

export type { Environment } from '../base/environment.ts';

/** Plain data: a library of schemas would take every command as long to load as to run. */
export type Setting<Value = unknown> = {
  name: string;
  meaning: string;
  /** Its default; undefined where there is none. */
  fallback: string | undefined;
  isRequired: boolean;
  /** @throws Failure `config` whose message continues the name of the setting. */
  read(text: string | undefined): Value;
  /** What of a given text may be shown: nothing secret. */
  show(text: string): string;
  /** The secret that a given text holds, such as `the key`; undefined where it holds none. */
  secretIn(text: string): string | undefined;
  /** Whether it names a file; `secretIn` then takes the text of that file. */
  isFile: boolean;
};

/** By the names that the program has for their values. */
export const settings = {
  /** Base address without a slash at its end. */
  apiUrl: required(
    'MARKET_API_URL',
    'base address; https, or http on loopback only',
    'is missing: set it to the base address of the API, such as https://api.example.com; market-mirror init asks for it',
    readApiUrl,
    { show: showApiUrl },
  ),
  /** `readKey` puts them together. */
  key: {
    text: optional('MARKET_API_KEY', 'the Bearer key', asItIs, { secret: 'the key' }),
    file: optional(
      'MARKET_API_KEY_FILE',
      'instead of the key, a file that holds it; re-read when it changes',
      asItIs,
      { secret: 'the key', isFile: true },
    ),
  },
  /** Of the account, as its owner knows them. */
  limits: {
    quota: optional(
      'MARKET_API_QUOTA',
      "the account's quota, if you know it: `1000/1d`; with `@00:00`, the UTC time at which it begins anew, else it counts over any such time (`31d` for a month of the calendar); unset: learnt",
      readQuota,
    ),
    rate: optional(
      'MARKET_API_RATE',
      'requests in a time, `5/1s` (`1/200ms` where none may follow at once); unset: learnt',
      readRate,
    ),
    concurrency: optional(
      'MARKET_API_CONCURRENCY',
      'requests in flight at once, `2`; unset: learnt',
      readConcurrency,
    ),
    // What the governor does not count would be read, and heeded by nobody.
  } satisfies Record<keyof AccountLimits, unknown>,
  /** `readProxy` puts them together. */
  proxy: {
    address: optional(
      'HTTPS_PROXY',
      'a proxy through which an https API is reached, `http://user:password@host:3128`; none is used for an API on this machine',
      readProxyUrl,
      { secret: 'the password of the proxy', isSecret: holdsProxyPassword, show: showProxyUrl },
    ),
    exceptions: optional(
      'NO_PROXY',
      'hosts that are reached without that proxy, and those below them: `example.com,192.0.2.7`; `*`: all',
      asItIs,
    ),
  },
  /** Folder of `mirror.db` and of the private Redis. */
  dir: preset(
    'MIRROR_DIR',
    'folder of `mirror.db` and of the private Redis, created for this user alone',
    './data',
    toPath,
  ),
  redisUrl: optional(
    'REDIS_URL',
    'a Redis or Valkey of yours; unset: the daemon runs one of its own',
    readRedisUrl,
    { secret: 'the password of Redis', isSecret: holdsPassword, show: showWithoutLogin },
  ),
  onChange: optional(
    'MIRROR_ON_CHANGE',
    'a command for the shell, run after each proven walk that changed something',
    asItIs,
    { secret: 'a command, which may hold a secret' },
  ),
  onChangeVariables: optional(
    'MIRROR_ON_CHANGE_ENV',
    'further variables that this command gets, by name or by their beginning: `AWS_*,PGHOST`',
    readVariables,
  ),
  /** `readShip` puts them together. */
  ship: {
    address: optional(
      'MIRROR_SHIP',
      'a Postgres that follows the mirror, `postgres://user@host/database`; `?schema=` names the schema, `market_mirror` unless given',
      readShipUrl,
      { secret: 'the password of Postgres', isSecret: holdsPassword, show: showWithoutLogin },
    ),
    file: optional(
      'MIRROR_SHIP_FILE',
      'a file with the address: use it if the address contains a password',
      toPath,
      { secret: 'the password of Postgres', isSecret: holdsPassword, isFile: true },
    ),
  },
  /** `readReporting` puts them together. */
  reports: {
    folder: optional(
      'MIRROR_REPORTS',
      'a folder of reports and alerts, a `.sql` file each, that `start` and `report` run; examples are in `deploy/reports`',
      toPath,
    ),
    to: optional(
      'MIRROR_REPORTS_TO',
      'folder of their files; `reports` in `MIRROR_DIR` unless given',
      toPath,
    ),
    notify: optional(
      'MIRROR_NOTIFY',
      'a webhook that gets what they tell; https, or http on loopback only',
      readWebhookUrl,
      { secret: 'the address of a webhook' },
    ),
    notifyFile: optional(
      'MIRROR_NOTIFY_FILE',
      'instead of the webhook, a file that holds its address',
      toPath,
      {
        secret: 'the address of a webhook',
        isFile: true,
      },
    ),
  },
  lake: {
    folder: optional(
      'MIRROR_LAKE',
      'a folder that receives Parquet: changes, and a snapshot a day',
      readLakeFolder,
    ),
    everyMs: preset(
      'MIRROR_LAKE_EVERY',
      'shortest time between two files of one dataset by `start`; each has what changed',
      '15m',
      readLakeInterval,
    ),
    keepMs: preset(
      'MIRROR_KEEP_SNAPSHOTS',
      'how long the daily snapshots stay in the lake; changes stay',
      '90d',
      readRetention,
    ),
  },
  /** In milliseconds; infinite for ever. */
  keep: {
    historyMs: preset(
      'MIRROR_KEEP_HISTORY',
      'how long superseded and removed rows stay in `<table>_history`, and snapshots in `usage`: such as `365d`, or `forever`',
      'forever',
      readRetention,
    ),
    recordsMs: preset(
      'MIRROR_KEEP_RECORDS',
      'how long records stay: calls in `requests`, old reads in `walks`, differences in `drift`, and refused rows in `quarantine` once they are resolved or gone',
      '90d',
      readRetention,
    ),
  },
  /** `readServe` puts them together. */
  serve: {
    address: optional(
      'MIRROR_SERVE',
      '`host:port`: `start` runs `serve` there, and starts it again if it ends',
      readListenAddress,
    ),
    maxAges: optional(
      'MIRROR_SERVE_MAX_AGE',
      '`serve` answers 503 instead of data proven longer ago: `1h`, or by job: `1h,news=15m`',
      readMaxAges,
    ),
    certFile: optional(
      'MIRROR_SERVE_TLS_CERT',
      'file of the certificate with its chain (PEM), read at the start; with the next, `serve` speaks TLS alone',
      toPath,
    ),
    keyFile: optional('MIRROR_SERVE_TLS_KEY', 'file of its private key (PEM), without a password', toPath, {
      secret: 'the private key of TLS',
      isFile: true,
    }),
    hosts: optional(
      'MIRROR_SERVE_HOSTS',
      'further names by which `serve` may be called: `mirror.example.com,mirror.internal`',
      readHosts,
    ),
    trusted: optional(
      'MIRROR_SERVE_TRUST',
      'addresses or networks of proxies whose X-Forwarded-For is believed: `10.0.0.7,192.0.2.0/24`',
      readProxies,
    ),
    query: preset(
      'MIRROR_SERVE_QUERY',
      "`on`: `serve` also answers `/mirror/v1`, in PostgREST's read syntax: filters, order, rows by key, changes",
      'off',
      readSwitch,
    ),
    page: preset(
      'MIRROR_SERVE_PAGE',
      'who sees the page of `serve`. `token`: who has its link or a key; `open`: everybody on this machine, unless a proxy or host is named; `off`: nobody',
      'token',
      oneOf(['token', 'open', 'off'], 'is none of token, open and off'),
    ),
  },
  logLevel: preset(
    'LOG_LEVEL',
    'how much is logged: `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`',
    'info',
    oneOf(
      ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      'is not one of fatal, error, warn, info, debug, trace, silent',
    ),
  ),
};

/** Names that other programs know in small letters; those count before the names in capitals, as for curl. */
export const smallNames: Readonly<Record<string, string>> = {
  https_proxy: settings.proxy.address.name,
  no_proxy: settings.proxy.exceptions.name,
};

/** In the order in which they are listed. */
export const allSettings: readonly Setting[] = Object.values(settings).flatMap((entry): Setting[] =>
  isSettingEntry(entry) ? [entry] : Object.values(entry),
);

/** Whether an entry of `settings` is a setting, and no group of them. */
export function isSettingEntry(entry: object): entry is Setting {
  return 'name' in entry;
}

/** What `serve` reads, beside the schedules. */
export const serviceSettings: readonly Setting[] = [
  ...[settings.dir, settings.logLevel],
  ...Object.values(settings.serve),
];

type JobSetting = { name: string; prefix: string; meaning: string };

const ofJob = (prefix: string, meaning: string): JobSetting => ({ name: `${prefix}<JOB>`, prefix, meaning });

/** One for each job: `MIRROR_SCHEDULE_NEWS`. */
export const scheduleSetting = ofJob(
  'MIRROR_SCHEDULE_',
  'when a job runs: `every 2m`, a cron pattern (UTC), or `off`',
);

/** What the user may say of a list that the specification does not describe. By the names that the program has for them. */
export const hintSettings = {
  key: ofJob(
    'MIRROR_KEY_',
    'the field or fields that name a row of a list without a contract: `chain,address`; found unless given',
  ),
  place: ofJob('MIRROR_ROWS_', 'where its rows are in the response: `data.results`; found unless given'),
  volatile: ofJob(
    'MIRROR_VOLATILE_',
    'its fields that are kept current and make no version: `views,stats.rank`; `none` keeps every change; found unless given',
  ),
} as const;

export const jobSettings: readonly JobSetting[] = [scheduleSetting, ...Object.values(hintSettings)];

/** Whether it is a setting of a job, even of an unknown one. */
export const isOfJob = (name: string) => jobSettings.some(({ prefix }) => name.startsWith(prefix));

/** The name of a job's setting; of its schedule unless another is given. */
export const settingOf = (job: string, { prefix }: JobSetting = scheduleSetting): string =>
  `${prefix}${job.replaceAll('-', '_').toUpperCase()}`;

type Traits = {
  /** The secret that it holds, such as `the key`. */
  secret?: string;
  /** Whether a given text holds it; always unless given. */
  isSecret?: (text: string) => boolean;
  isFile?: boolean;
  show?: (text: string) => string;
};

function required<Value>(
  name: string,
  meaning: string,
  missing: string,
  read: (text: string) => Value,
  traits: Traits,
): Setting<Value> {
  const readOrRefuse = (text: string | undefined) => read(text ?? refuse(missing));
  return { ...setting(name, meaning, undefined, readOrRefuse, traits), isRequired: true };
}

function optional<Value>(
  name: string,
  meaning: string,
  read: (text: string) => Value,
  traits?: Traits,
): Setting<Value | undefined> {
  return setting(name, meaning, undefined, (text) => (text === undefined ? text : read(text)), traits);
}

function preset<Value>(
  name: string,
  meaning: string,
  fallback: string,
  read: (text: string) => Value,
): Setting<Value> {
  return setting(name, meaning, fallback, (text = fallback) => read(text));
}

function setting<Value>(
  name: string,
  meaning: string,
  fallback: string | undefined,
  read: (text: string | undefined) => Value,
  { secret, isSecret = () => true, isFile = false, show }: Traits = {},
): Setting<Value> {
  return {
    ...{ name, meaning, fallback, isRequired: false, isFile, read },
    show: show ?? (secret !== undefined && !isFile ? () => NOT_SHOWN : asItIs),
    secretIn: (text) => (secret !== undefined && isSecret(text) ? secret : undefined),
  };
}

function asItIs(text: string): string {
  return text;
}

function toPath(text: string): string {
  return resolve(text);
}

/** The secret that the text of a setting of ours holds. */
export function secretInSetting(name: string, text: string): string | undefined {
  return allSettings.find((setting) => setting.name === name && !setting.isFile)?.secretIn(text);
}

/** Secrets of other programs that this program or its libraries read. */
const foreignSecrets: Readonly<Record<string, string>> = {
  AWS_SECRET_ACCESS_KEY: 'the secret key of AWS',
  AWS_SESSION_TOKEN: 'a session token of AWS',
  PGPASSWORD: 'the password of Postgres',
};

/** The secrets that these variables hold, such as `the key`, each once. */
export function secretsIn(environment: Environment): string[] {
  const found = Object.entries(environment).flatMap(
    ([name, text]) => (text && (secretInSetting(name, text) ?? foreignSecrets[name])) || [],
  );
  return [...new Set(found)];
}
