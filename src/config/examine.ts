/** The settings looked over one by one, where `readConfig` ends with the first that is wrong. */

import {
  readAccount,
  readKey,
  readSchedules,
  readServe,
  readSetting,
  refuseDangers,
  withoutEmpty,
} from '../config.ts';
import { Failure } from '../errors.ts';
import { readTlsFiles } from './service.ts';
import { allSettings, type Environment, type Setting, settingOf, settings } from './settings.ts';

/** A setting as it is, without anything secret: what it comes to, or what is wrong with it. */
export type SettingFound = { name: string; shown: string; wrong: Failure | null };

/** @param schedules each job's own schedule, by name. */
export function examineSettings(environment: Environment, schedules: Record<string, string>): SettingFound[] {
  const given = withoutEmpty(environment);
  const { keyText, keyFile } = settings;
  const key = given[keyFile.name] === undefined ? keyText : keyFile;
  const others = allSettings.filter((setting) => setting !== keyText && setting !== keyFile);
  return [
    examine('environment', () => {
      refuseDangers(given);
      return 'no misspelt or dangerous setting';
    }),
    examine(key.name, () => {
      readKey(given);
      return key.show(given[key.name] ?? '');
    }),
    ...others.map((setting) =>
      examine(setting.name, () => {
        readSetting(setting, given);
        const text = given[setting.name];
        return text === undefined ? (setting.fallback ?? 'unset') : setting.show(text);
      }),
    ),
    examine('schedules', () => {
      const jobs = Object.keys(readSchedules(environment, schedules));
      return jobs.map((job) => `${job} ${given[settingOf(job)] ?? schedules[job]}`).join(', ');
    }),
    ...examineAccount(given),
    ...examineService(given, Object.keys(schedules)),
  ];
}

/** The same of the account. */
function examineAccount(given: Environment): SettingFound[] {
  const found = examine('account', () => {
    const account = readAccount(given);
    return account ? `its limits are shared as ${account.name}` : 'its limits are not shared';
  });
  const alone = [settings.account, settings.redisUrl].map((setting: Setting) =>
    examine(setting.name, () => String(readSetting(setting, given))),
  );
  return given[settings.account.name] === undefined || alone.some(({ wrong }) => wrong) ? [] : [found];
}

/** What is wrong with settings of the service only beside each other: said where each of them is right. */
function examineService(given: Environment, jobs: readonly string[]): SettingFound[] {
  const alone = Object.values(settings.serve).map((setting: Setting) =>
    examine(setting.name, () => String(readSetting(setting, given))),
  );
  if (alone.some(({ wrong }) => wrong)) return [];
  const together = examine('service', () => {
    const { address, tls } = readServe(given, jobs);
    if (tls) readTlsFiles(tls);
    return address ? `run by start on ${address.host}, port ${address.port}` : 'not run by start';
  });
  return [together];
}

function examine(name: string, read: () => string): SettingFound {
  try {
    return { name, shown: read(), wrong: null };
  } catch (thrown) {
    if (thrown instanceof Failure) return { name, shown: '', wrong: thrown };
    throw thrown;
  }
}
