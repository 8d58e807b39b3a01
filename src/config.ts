/** The settings: read from the environment once and checked. `config/settings.ts` describes each. */

import type { LakeAddress, ShipAddress } from './config/addresses.ts';
import { type AwsAccess, readAws } from './config/aws.ts';
import { type ServeSettings, serveSettingsOf } from './config/service.ts';
import {
  allSettings,
  type Environment,
  isSchedule,
  type Setting,
  scheduleSetting,
  settingOf,
  settings,
} from './config/settings.ts';
import { readShipAddress } from './config/ship.ts';
import { Failure, toError } from './errors.ts';
import { type KeySource, keyFromFile, keyFromValue } from './key.ts';
import { nearest } from './near.ts';
import { parseSchedule, type Schedule } from './schedule.ts';

export type { LakeAddress, ShipAddress } from './config/addresses.ts';
export type { AwsAccess } from './config/aws.ts';
export { forCommands, forService } from './config/environments.ts';
export {
  readTlsFiles,
  refuseOpenAddress,
  type ServeSettings,
  type TlsFiles,
} from './config/service.ts';
export { readHost, type ServeAddress } from './config/service-values.ts';
export { type Environment, settingOf } from './config/settings.ts';

type Values<Entries> = {
  [Name in keyof Entries]: Entries[Name] extends Setting<infer Value> ? Value : Values<Entries[Name]>;
};

export type Config = Omit<
  Values<typeof settings>,
  'keyText' | 'keyFile' | 'serve' | 'ship' | 'lake' | 'account'
> & {
  key: KeySource;
  /** The account whose limits this mirror shares with others, where it does. */
  account: { name: string; redisUrl: string } | undefined;
  /** The Postgres that follows the mirror, where there is one. */
  ship: ShipAddress | undefined;
  /** The lake that follows it, where there is one. */
  lake: LakeSettings | undefined;
  schedules: Record<string, Schedule>;
  serve: ServeSettings;
};

/** In milliseconds; `keepMs` is infinite for ever. */
export type LakeSettings = {
  address: LakeAddress;
  /** To its bucket, where it is in one. */
  access: AwsAccess | undefined;
  everyMs: number;
  keepMs: number;
};

/** What a reading command needs: no address, no key. */
export type LocalConfig = Pick<Config, 'dir' | 'logLevel' | 'spending'>;

/** What the service needs. */
export type ServeConfig = LocalConfig & Pick<Config, 'schedules' | 'serve'>;

/**
 * Reads every setting. An empty value counts as unset.
 * @param schedules each job's own schedule, by name; `MIRROR_SCHEDULE_<JOB>` replaces it.
 * @throws Failure `config`: one line that names the setting, never a secret value.
 */
export function readConfig(environment: Environment, schedules: Record<string, string>): Config {
  const given = withoutEmpty(environment);
  refuseDangers(given);
  const { keyText, keyFile, serve, ship, lake, account, ...others } = settings;
  return {
    ...readAll(others, given),
    account: readAccount(given),
    ship: readShip(given),
    lake: readLake(given),
    key: readKey(given),
    schedules: readSchedules(environment, schedules),
    serve: readServe(given, Object.keys(schedules)),
  };
}

function readAll<Entries extends object>(entries: Entries, given: Environment): Values<Entries> {
  const values = Object.entries(entries).map(([name, entry]) => [
    name,
    'read' in entry ? readSetting(entry, given) : readAll(entry, given),
  ]);
  return Object.fromEntries(values) as Values<Entries>;
}

/** Reads only the settings that concern this machine. @throws Failure `config`, as `readConfig` does. */
export function readLocalConfig(environment: Environment): LocalConfig {
  const given = withoutEmpty(environment);
  refuseUnknown(given);
  const { dir, logLevel, spending } = settings;
  return readAll({ dir, logLevel, spending }, given);
}

/** Reads what the service needs, and no key. @throws Failure `config`, as `readConfig` does. */
export function readServeConfig(environment: Environment, schedules: Record<string, string>): ServeConfig {
  return {
    ...readLocalConfig(environment),
    schedules: readSchedules(environment, schedules),
    serve: readServe(withoutEmpty(environment), Object.keys(schedules)),
  };
}

/** @throws Failure `config` for settings that are wrong, or do not go together. */
export function readServe(given: Environment, jobs: readonly string[]): ServeSettings {
  return serveSettingsOf(readAll(settings.serve, given), jobs);
}

/** The Postgres that follows the mirror, where there is one. @throws Failure `config` that never shows its password. */
export function readShip(environment: Environment): ShipAddress | undefined {
  const given = withoutEmpty(environment);
  return readShipAddress(readAll(settings.ship, given));
}

/** The lake that follows the mirror, where there is one. @throws Failure `config`. */
export function readLake(environment: Environment): LakeSettings | undefined {
  const given = withoutEmpty(environment);
  const { address, ...others } = readAll(settings.lake, given);
  return address && { address, access: address.kind === 's3' ? readAws(given) : undefined, ...others };
}

/** Whose limits are shared, and by which Redis. @throws Failure `config` where there is none that others could share. */
export function readAccount(environment: Environment): Config['account'] {
  const given = withoutEmpty(environment);
  const name = readSetting(settings.account, given);
  if (name === undefined) return undefined;
  const redisUrl = readSetting(settings.redisUrl, given);
  if (redisUrl === undefined)
    throw new Failure(
      'config',
      'MIRROR_ACCOUNT needs REDIS_URL: set it to a Redis that all machines of the account reach',
    );
  return { name, redisUrl };
}

/** The folder of the mirror, whatever is wrong with other settings. */
export function readDir(environment: Environment): string {
  return readSetting(settings.dir, withoutEmpty(environment));
}

/** What the setting comes to. @throws Failure `config` that names it. */
export function readSetting<Value>({ name, read }: Setting<Value>, given: Environment): Value {
  try {
    return read(given[name]);
  } catch (thrown) {
    throw thrown instanceof Failure ? new Failure('config', `${name} ${thrown.message}`) : thrown;
  }
}

export function readKey(given: Environment): KeySource {
  const text = readSetting(settings.keyText, given);
  const file = readSetting(settings.keyFile, given);
  if (text !== undefined && file !== undefined)
    throw new Failure('config', 'MARKET_API_KEY and MARKET_API_KEY_FILE are both set: unset one');
  if (text !== undefined) return keyFromValue(text);
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
    if (isSchedule(name) && !known.has(name))
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

export function refuseDangers(given: Environment): void {
  if (given['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    throw new Failure('config', 'NODE_TLS_REJECT_UNAUTHORIZED=0 would hand the key to anyone: unset it');
  refuseUnknown(given);
}

/** A misspelt setting would be ignored in silence. */
function refuseUnknown(given: Environment): void {
  for (const name of Object.keys(given))
    if (isOurs(name) && !isSchedule(name) && !isSetting(name)) {
      const known = allSettings.map((setting) => setting.name);
      throw new Failure(
        'config',
        `${name} is no setting${nearest(name, known)}; known are ${known.join(', ')}, ${scheduleSetting.name}`,
      );
    }
}

/** Whether the variable of the environment is meant for this program, misspelt or not. */
export function isOurs(name: string): boolean {
  return isSetting(name) || /^(MARKET_API|MIRROR)_/.test(name);
}

export function isSetting(name: string): boolean {
  return allSettings.some((setting) => setting.name === name);
}

export function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
}
