/** The environments of the programs that we start: lists of what each may know, so that no secret is passed on unnamed. */

import { generalEnvironment } from '../environment.ts';
import { allSettings, type Environment, isSchedule, serviceSettings, type Variables } from './settings.ts';

/**
 * For a command of the user: general variables, and those that the user names. A market-mirror that runs in it reads this
 * mirror, and starts no command in turn, whatever its `.env` file says.
 */
export function forCommands(
  environment: Environment,
  dir: string,
  named: Variables = () => false,
): Environment {
  const own = Object.entries(environment).filter(([name, text = '']) => named(name, text));
  return {
    ...generalEnvironment(environment),
    ...Object.fromEntries(own),
    MIRROR_DIR: dir,
    MIRROR_ON_CHANGE: '',
  };
}

/**
 * For the service: general variables and its own settings. Whatever else its `.env` file may set is set to nothing here, which
 * goes before that file.
 */
export function forService(environment: Environment, dir: string): Environment {
  const names = new Set(serviceSettings.map(({ name }) => name));
  const isOwn = (name: string) => names.has(name) || isSchedule(name);
  const own = Object.entries(environment).filter(([name]) => isOwn(name));
  const others = [...allSettings.map(({ name }) => name), ...Object.keys(environment).filter(isOfAws)];
  return {
    ...generalEnvironment(environment),
    ...Object.fromEntries(others.filter((name) => !isOwn(name)).map((name) => [name, ''])),
    ...Object.fromEntries(own),
    MIRROR_DIR: dir,
  };
}

const isOfAws = (name: string) => name.startsWith('AWS_');
