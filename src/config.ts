/** The settings: read from the environment once and checked. `config/settings.ts` describes each. */

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { generalEnvironment } from './base/environment.ts';
import { Failure, toError } from './base/errors.ts';
import { type KeySource, keyFromFile, keyFromValue, WORLD_PERMISSION_BITS } from './base/key.ts';
import { nearest } from './base/near.ts';
import { isLoopback } from './base/networks.ts';
import { parseSchedule, type Schedule } from './base/schedule.ts';
import {
  allSettings,
  type Environment,
  hintSettings,
  isOfJob,
  isSettingEntry,
  type Setting,
  scheduleSetting,
  secretInSetting,
  serviceSettings,
  settingOf,
  settings,
  smallNames,
} from './config/settings.ts';
import {
  type AccountLimits,
  type MaxAges,
  type ProxyAddress,
  readPath,
  readPaths,
  readShipUrl,
  readWebhookUrl,
  type ServeAddress,
  type ShipAddress,
  type VariableList,
} from './config/values.ts';

export { type Environment, settingOf } from './config/settings.ts';
export {
  parseRedisUrl,
  type RedisTarget,
  readHost,
  type ServeAddress,
  type ShipAddress,
} from './config/values.ts';

/** The values of the entries, in the same groups. */
type Values<Entries> = {
  [Name in keyof Entries]: Entries[Name] extends Setting<infer Value> ? Value : Values<Entries[Name]>;
};

type AllValues = Values<typeof settings>;

export type Config = Omit<AllValues, 'key' | 'limits' | 'proxy' | 'serve' | 'ship' | 'lake' | 'reports'> & {
  key: KeySource;
  /** Through which the API may be reached. */
  proxy: ProxySettings | undefined;
  /** The limits of the account that its owner knows. */
  limits: AccountLimits;
  /** The Postgres that follows the mirror, where there is one. */
  ship: ShipAddress | undefined;
  /** The lake that follows it, where there is one. */
  lake: LakeSettings | undefined;
  /** The reports that run on it, where there are any. */
  reports: ReportSettings | undefined;
  schedules: Record<string, Schedule>;
  /** What the user says of lists without a contract, by job. */
  hints: Record<string, Hints>;
  serve: ServeSettings;
};

/** Where the rows of a list are, which fields name a row, and which of them move by themselves. */
export type Hints = {
  place?: readonly string[];
  key?: readonly (readonly string[])[];
  volatile?: readonly (readonly string[])[];
};

/** `exceptions` as in NO_PROXY. */
export type ProxySettings = ProxyAddress & { exceptions: string };

/** In milliseconds; `keepMs` is infinite for ever. */
export type LakeSettings = {
  folder: string;
  everyMs: number;
  keepMs: number;
};

export type ReportSettings = {
  /** Of their `.sql` files. */
  folder: string;
  /** The folder of their results. */
  to: string;
  webhook: Webhook | undefined;
};

/** Its address is a secret. `proxy`: through which it is reached, where that is so. */
export type Webhook = { url: string; proxy: ProxySettings | undefined };

type ServeSettings = {
  /** Where `start` runs it; undefined where `start` does not. */
  readonly address: ServeAddress | undefined;
  /** By job, in milliseconds; a job that is not named is not bounded. */
  readonly maxAgeMs: Readonly<Record<string, number>>;
  readonly tls: TlsFiles | undefined;
  /** In lower case, without a port. */
  readonly hosts: readonly string[];
  /** Addresses and networks (CIDR) of proxies. */
  readonly trusted: readonly string[];
  /** Whether `/mirror/v1` is answered. */
  readonly query: boolean;
  /** Who may see the page. */
  readonly page: AllValues['serve']['page'];
};

export type TlsFiles = { readonly certFile: string; readonly keyFile: string };

/** What a reading command needs. */
export type LocalConfig = Pick<Config, 'dir' | 'logLevel'>;

/** What the service needs. */
type ServeConfig = LocalConfig & Pick<Config, 'schedules' | 'serve'> & { reportsTo: string | undefined };

/**
 * Reads every setting. An empty value counts as unset.
 * @param schedules each job's own schedule, by name; `MIRROR_SCHEDULE_<JOB>` replaces it.
 * @throws Failure `config` for the first that is wrong: one line that names the setting, never a secret value.
 */
export function readConfig(environment: Environment, schedules: Record<string, string>): Config {
  const { found, config } = readEach(environment, schedules);
  for (const { wrong } of found) if (wrong) throw wrong;
  return config;
}

/** A setting without anything secret, and what is wrong with it. */
type SettingFound = { name: string; shown: string; wrong: Failure | null };

/** All that `readConfig` reads, setting by setting, and the certificate of the service. @param schedules as it takes them. */
export function examineSettings(environment: Environment, schedules: Record<string, string>): SettingFound[] {
  const { found, config } = readEach(environment, schedules);
  const tls = config.serve?.tls;
  if (!tls) return found;
  return [
    ...found,
    finding(
      'certificate',
      () => readTlsFiles(tls),
      () => 'can be read',
    ).found,
  ];
}

/** Reads each setting, so that one error hides no other. Settings that contradict each other are reported where each of them is right. */
function readEach(
  environment: Environment,
  own: Record<string, string>,
): {
  found: SettingFound[];
  /** Without what is wrong. */
  config: Config;
} {
  const given = withoutEmpty(environment);
  const jobs = Object.keys(own);
  const found: SettingFound[] = [];
  const note = <Value>(...[name, read, show]: Parameters<typeof finding<Value>>): Value => {
    const one = finding(name, read, show);
    found.push(one.found);
    return one.value as Value;
  };
  const show = ({ name, fallback, show }: Setting, text = given[name]) =>
    text === undefined ? (fallback ?? 'unset') : show(text);
  const noteSetting = <Value>(setting: Setting<Value>) =>
    note(
      setting.name,
      () => readSetting(setting, given),
      () => show(setting),
    );

  note(
    'environment',
    () => refuseDangers(given),
    () => 'no misspelt or dangerous setting',
  );
  const { apiUrl: url, key: keys, ...others } = settings;
  const apiUrl = noteSetting(url);
  const keySetting: Setting = given[keys.file.name] === undefined ? keys.text : keys.file;
  const key = note(
    keySetting.name,
    () => readKey(given),
    () => show(keySetting),
  );
  const values = readAll(others, noteSetting);
  const hints = note('hints', () => readHints(given, jobs), describeHints);
  const schedules = note(
    'schedules',
    () => readSchedules(environment, own),
    (read) =>
      Object.keys(read)
        .map((job) => `${job} ${given[settingOf(job)] ?? own[job]}`)
        .join(', '),
  );
  const isWrong = ({ name }: Setting) => found.some((one) => one.name === name && one.wrong);
  /** Reads a group whose settings are each right. Unless it is shown, it is noted where it is wrong. */
  const together = <Value>(
    name: string,
    group: Record<string, Setting>,
    read: () => Value,
    show?: (value: Value) => string,
  ): Value | undefined => {
    if (Object.values(group).some(isWrong)) return undefined;
    const one = finding(name, read, show ?? (() => ''));
    if (show || one.found.wrong) found.push(one.found);
    return one.value;
  };
  const { limits, proxy, ship, lake, reports, serve, ...plain } = values;
  const config = {
    ...{ ...plain, apiUrl, key, limits: limitsOf(limits), schedules, hints },
    proxy: apiUrl ? proxyOf(proxy, apiUrl) : undefined,
    serve: together('service', settings.serve, () => serveOf(serve, jobs), describeService) as ServeSettings,
    ship: together('ship', settings.ship, () => shipOf(ship, given)),
    lake: lakeOf(lake),
    reports: together('reports', settings.reports, () => reportsOf(values, given)),
  };
  return { found, config };
}

function finding<Value>(
  name: string,
  read: () => Value,
  show: (value: Value) => string,
): { found: SettingFound; value?: Value } {
  try {
    const value = read();
    return { found: { name, shown: show(value), wrong: null }, value };
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    return { found: { name, shown: '', wrong: thrown } };
  }
}

function describeHints(hints: Record<string, Hints>): string {
  const told = Object.keys(hints).filter((job) => Object.keys(hints[job] ?? {}).length > 0);
  return told.length === 0 ? 'nothing said of lists' : `said of ${told.join(', ')}`;
}

const describeService = ({ address }: ServeSettings) =>
  address ? `run by start on ${address.host}, port ${address.port}` : 'not run by start';

/** The values of the entries, each as `read` gives it. */
function readAll<Entries extends object>(
  entries: Entries,
  read: (setting: Setting) => unknown,
): Values<Entries> {
  const values = Object.entries(entries).map(([name, entry]) => [
    name,
    isSettingEntry(entry) ? read(entry) : readAll(entry, read),
  ]);
  return Object.fromEntries(values) as Values<Entries>;
}

const readGiven = <Entries extends object>(entries: Entries, given: Environment): Values<Entries> =>
  readAll(entries, (setting) => readSetting(setting, given));

/** Reads only the settings that concern this machine. @throws Failure `config`, as `readConfig` does. */
export function readLocalConfig(environment: Environment): LocalConfig {
  const given = withoutEmpty(environment);
  refuseUnknown(given);
  const { dir, logLevel } = settings;
  return readGiven({ dir, logLevel }, given);
}

/** Reads what the service needs, and no key. @throws Failure `config`, as `readConfig` does. */
export function readServeConfig(environment: Environment, schedules: Record<string, string>): ServeConfig {
  const serve = readGiven(settings.serve, withoutEmpty(environment));
  return {
    ...readLocalConfig(environment),
    schedules: readSchedules(environment, schedules),
    serve: serveOf(serve, Object.keys(schedules)),
    reportsTo: readSetting(settings.reports.to, withoutEmpty(environment)),
  };
}

/** The value of the setting. @throws Failure `config` that names it. */
function readSetting<Value>({ name, read }: Setting<Value>, given: Environment): Value {
  try {
    return read(given[name]);
  } catch (thrown) {
    throw thrown instanceof Failure ? new Failure('config', `${name} ${thrown.message}`) : thrown;
  }
}

/** A value is set itself, or by a file that holds it. */
function refuseBoth(text: Setting, file: Setting, given: Environment): void {
  if (given[text.name] !== undefined && given[file.name] !== undefined)
    throw new Failure('config', `${text.name} and ${file.name} are both set: unset one`);
}

function readKey(given: Environment): KeySource {
  const { text, file } = settings.key;
  refuseBoth(text, file, given);
  const [value, path] = [given[text.name], given[file.name]];
  if (value !== undefined) return keyFromValue(value);
  if (path !== undefined) return keyFromFile(path);
  throw new Failure(
    'config',
    'MARKET_API_KEY is missing: set it, or MARKET_API_KEY_FILE to a file that holds the key; market-mirror init asks for it',
  );
}

/** The proxy on the way to the API. Nothing for this machine goes through one; what has no TLS is on this machine. */
function proxyOf(
  { address, exceptions = '' }: AllValues['proxy'],
  apiUrl: string,
): ProxySettings | undefined {
  const { hostname } = new URL(apiUrl);
  return address && !isLoopback(hostname) && !hostname.endsWith('.localhost')
    ? { ...address, exceptions }
    : undefined;
}

/** The Postgres that follows the mirror, where there is one. @throws Failure `config` that never shows its password. */
export function readShip(environment: Environment): ShipAddress | undefined {
  const given = withoutEmpty(environment);
  return shipOf(readGiven(settings.ship, given), given);
}

function shipOf({ address, file: path }: AllValues['ship'], given: Environment): ShipAddress | undefined {
  const { address: text, file } = settings.ship;
  refuseBoth(text, file, given);
  return path === undefined ? address : readIn(path, file, readShipUrl);
}

/** What a file holds instead of its setting. @throws Failure `config` that never shows it. */
function readIn<Value>(path: string, { name }: Setting, read: (text: string) => Value): Value {
  try {
    return read(readFileSync(path, 'utf8').trim());
  } catch (thrown) {
    if (thrown instanceof Failure)
      throw new Failure('config', `${name}: what ${path} holds ${thrown.message}`);
    const { code } = thrown as NodeJS.ErrnoException;
    throw new Failure(
      'config',
      `${name}: ${path} cannot be read (${code}): name a file that this user may read`,
    );
  }
}

/** The reports and whom they tell, where there are any. @throws Failure `config` that never shows the webhook. */
export function readReporting(environment: Environment): ReportSettings | undefined {
  const given = withoutEmpty(environment);
  const { reports, proxy, dir } = settings;
  return reportsOf(readGiven({ reports, proxy, dir }, given), given);
}

function reportsOf(
  { reports: { folder, to, notify, notifyFile }, proxy, dir }: Pick<AllValues, 'reports' | 'proxy' | 'dir'>,
  given: Environment,
): ReportSettings | undefined {
  const { notify: text, notifyFile: file } = settings.reports;
  refuseBoth(text, file, given);
  const url = notifyFile === undefined ? notify : readIn(notifyFile, file, readWebhookUrl);
  if (folder === undefined) return undefined;
  const webhook = url === undefined ? undefined : { url, proxy: proxyOf(proxy, url) };
  return { folder, to: to ?? join(dir, 'reports'), webhook };
}

/** The lake that follows the mirror, where there is one. @throws Failure `config`. */
export const readLake = (environment: Environment): LakeSettings | undefined =>
  lakeOf(readGiven(settings.lake, withoutEmpty(environment)));

const lakeOf = ({ folder, ...others }: AllValues['lake']): LakeSettings | undefined =>
  folder === undefined ? undefined : { folder, ...others };

const limitsOf = ({ quota, rate, concurrency }: AllValues['limits']): AccountLimits => ({
  ...{ quota: quota ?? null, rate: rate ?? null, concurrency: concurrency ?? null },
});

/** The folder of the mirror, even where other settings are wrong. */
export function readDir(environment: Environment): string {
  return readSetting(settings.dir, withoutEmpty(environment));
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
  refuseUnknownJobs(given, Object.keys(own), scheduleSetting);
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

function refuseUnknownJobs(
  given: Environment,
  jobs: readonly string[],
  setting: typeof scheduleSetting,
): void {
  const known = jobs.map((job) => settingOf(job, setting));
  for (const name of Object.keys(given))
    if (name.startsWith(setting.prefix) && !known.includes(name))
      throw new Failure(
        'config',
        `${name} names no job${nearest(name, known)}; known are ${known.join(', ')}`,
      );
}

/** @throws Failure `config` that names the setting. */
function readHints(given: Environment, jobs: readonly string[]): Record<string, Hints> {
  for (const setting of Object.values(hintSettings)) refuseUnknownJobs(given, jobs, setting);
  const read = <Value>(job: string, setting: typeof scheduleSetting, reader: (text: string) => Value) => {
    const name = settingOf(job, setting);
    const text = given[name];
    if (text === undefined) return undefined;
    return readSetting({ name, read: () => reader(text) } as unknown as Setting<Value>, given);
  };
  return Object.fromEntries(
    jobs.map((job): [string, Hints] => {
      const { key, place, volatile } = hintSettings;
      const hints = {
        key: read(job, key, readPaths),
        place: read(job, place, readPath),
        volatile: read(job, volatile, (text) => (text.trim() === 'none' ? [] : readPaths(text))),
      };
      const told = Object.entries(hints).filter(([, value]) => value !== undefined);
      return [job, Object.fromEntries(told)];
    }),
  );
}

/** @throws Failure `config` for settings of the service that are wrong, or do not go together. */
function serveOf(values: AllValues['serve'], jobs: readonly string[]): ServeSettings {
  const { maxAges, certFile, keyFile, hosts = [], trusted = [], ...others } = values;
  const { certFile: certSetting, keyFile: keySetting } = settings.serve;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const [set, unset] = certFile === undefined ? [keySetting, certSetting] : [certSetting, keySetting];
    throw new Failure('config', `${set.name} is set without ${unset.name}: set both, or neither`);
  }
  const tls = certFile !== undefined && keyFile !== undefined ? { certFile, keyFile } : undefined;
  const serve = { ...others, maxAgeMs: maxAgesOf(maxAges, jobs), tls, hosts, trusted };
  refuseOpenProxy(serve);
  if (serve.address) refuseOpenAddress(serve.address, serve);
  return serve;
}

function maxAgesOf(maxAges: MaxAges | undefined, jobs: readonly string[]): Record<string, number> {
  const { all, byJob } = maxAges ?? { all: undefined, byJob: new Map<string, number>() };
  for (const job of byJob.keys())
    if (!jobs.includes(job))
      throw new Failure(
        'config',
        `MIRROR_SERVE_MAX_AGE names no job with '${job}'${nearest(job, [...jobs])}; known are ${jobs.join(', ')}`,
      );
  return Object.fromEntries(
    jobs.flatMap((job) => {
      const age = byJob.get(job) ?? all;
      return age === undefined ? [] : [[job, age]];
    }),
  );
}

/**
 * Whether there may be a proxy. One that adds no header passes on the calls of everybody as if they came from this machine: so
 * nobody counts as on this machine then.
 */
export const mayHaveProxy = ({ hosts, trusted }: Pick<ServeSettings, 'hosts' | 'trusted'>): boolean =>
  hosts.length > 0 || trusted.length > 0;

/** @throws Failure `config` where everybody behind a proxy might see the page. */
function refuseOpenProxy({ page, hosts, trusted }: Pick<ServeSettings, 'page' | 'hosts' | 'trusted'>): void {
  if (page !== 'open' || !mayHaveProxy({ hosts, trusted })) return;
  const sign =
    trusted.length > 0
      ? `${settings.serve.trusted.name} names a proxy`
      : `${settings.serve.hosts.name} names a host of others`;
  throw new Failure(
    'config',
    `MIRROR_SERVE_PAGE is open, and ${sign}: whoever comes through it might see the page; set MIRROR_SERVE_PAGE to token, by which a key is asked for`,
  );
}

/** @throws Failure `config` where a network would see keys and answers unencrypted, or anybody in it the page. */
export function refuseOpenAddress(
  { host }: ServeAddress,
  { tls, trusted, page }: Pick<ServeSettings, 'tls' | 'trusted' | 'page'>,
): void {
  if (isLoopback(host)) return;
  if (page === 'open')
    throw new Failure(
      'config',
      `MIRROR_SERVE_PAGE is open, and ${host} is not loopback: anybody there would see the page; set it to token, by which a key is asked for`,
    );
  if (tls || trusted.length > 0) return;
  throw new Failure(
    'config',
    `${host} is not loopback, and keys would cross the network unencrypted: set MIRROR_SERVE_TLS_CERT and MIRROR_SERVE_TLS_KEY, ` +
      'or MIRROR_SERVE_TRUST to the address of the proxy before it',
  );
}

/** Their text. @throws Failure `config` for one that cannot be read. */
export function readTlsFiles({ certFile, keyFile }: TlsFiles): { cert: string; key: string } {
  const pair = {
    cert: readPem('MIRROR_SERVE_TLS_CERT', certFile),
    key: readPem('MIRROR_SERVE_TLS_KEY', keyFile),
  };
  if (statSync(keyFile).mode & WORLD_PERMISSION_BITS)
    throw new Failure('config', `MIRROR_SERVE_TLS_KEY: ${keyFile} can be used by every user: chmod 600 it`);
  return pair;
}

function readPem(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    throw new Failure('config', `${setting}: ${file} cannot be read (${code}): let this user read it`);
  }
}

function refuseDangers(given: Environment): void {
  if (given['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    throw new Failure('config', 'NODE_TLS_REJECT_UNAUTHORIZED=0 would hand the key to anyone: unset it');
  refuseUnknown(given);
}

/** A misspelt setting would be ignored in silence. */
function refuseUnknown(given: Environment): void {
  for (const name of Object.keys(given))
    if (isOurs(name) && !isOfJob(name) && !isSetting(name)) {
      const [, job] = /^MIRROR_[^_]+_(.+)/.exec(name) ?? [];
      const known = allSettings.map((setting) => setting.name);
      if (job) known.push(`MIRROR_SCHEDULE_${job}`);
      const help = nearest(name, known) || ' (docs/settings.md lists all)';
      throw new Failure('config', `${name} is no setting${help}: correct or unset it`);
    }
}

/** Whether the variable is meant for this program, misspelt or not. */
export function isOurs(name: string): boolean {
  return isSetting(name) || /^(MARKET_API|MIRROR)_/.test(name);
}

export function isSetting(name: string): boolean {
  return allSettings.some((setting) => setting.name === name);
}

/** The variables that are set, each by the name of its setting. */
export function withoutEmpty(environment: Environment): Environment {
  const given = Object.entries(environment).filter(([, value]) => value !== undefined && value !== '');
  const small = given.flatMap(([name, value]) => (name in smallNames ? [[smallNames[name], value]] : []));
  return Object.fromEntries([...given, ...small]);
}

/**
 * The environment of the user's command: general variables, and those that the user names (secrets only by their whole names). A
 * market-mirror in it reads this mirror and starts no command in turn, whatever its `.env` file says.
 */
export function forCommands(
  environment: Environment,
  dir: string,
  { names, beginnings }: VariableList = { names: [], beginnings: [] },
): Environment {
  const isNamed = ([name, text = '']: [string, string | undefined]) =>
    names.includes(name) ||
    (beginnings.some((beginning) => name.startsWith(beginning)) && secretInSetting(name, text) === undefined);
  return {
    ...generalEnvironment(environment),
    ...Object.fromEntries(Object.entries(environment).filter(isNamed)),
    MIRROR_DIR: dir,
    MIRROR_ON_CHANGE: '',
  };
}

/** The environment of the service: general variables and its own settings. All others are empty, which overrides a `.env` file. */
export function forService(environment: Environment, dir: string): Environment {
  const isOwn = (name: string) =>
    name.startsWith(scheduleSetting.prefix) || serviceSettings.some((one) => one.name === name);
  const isOfAws = (name: string) => name.startsWith('AWS_');
  const names = Object.keys(environment);
  const others = [...allSettings.map(({ name }) => name), ...names.filter(isOfAws)];
  return {
    ...generalEnvironment(environment),
    ...Object.fromEntries(others.filter((name) => !isOwn(name)).map((name) => [name, ''])),
    ...Object.fromEntries(names.filter(isOwn).map((name) => [name, environment[name]])),
    MIRROR_DIR: dir,
  };
}
