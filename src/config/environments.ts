/** The environment of programs that we start: without what may hold a secret, or speaks to systemd for us. */

import type { Environment } from './settings.ts';

/** What only those need who call the API, plan runs or send the mirror elsewhere. */
const ownSettings = [
  'MARKET_API_KEY',
  'MARKET_API_KEY_FILE',
  'REDIS_URL',
  'MIRROR_ON_CHANGE',
  'MIRROR_SHIP',
  'MIRROR_SHIP_FILE',
  'MIRROR_LAKE',
];

const ofSystemd = ['CREDENTIALS_DIRECTORY', 'NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID'];

/** What begins no command in a market-mirror that a command of ours starts, whatever its `.env` file says. */
const noCommand = { MIRROR_ON_CHANGE: '' };

/** For commands of the user. A market-mirror that runs in it reads this mirror. */
export function forCommands(environment: Environment, dir: string): Environment {
  return { ...withoutOwn(environment), ...noCommand, MIRROR_DIR: dir };
}

/** For the service: what it must not know is set to nothing, which goes before what `.env` says. */
export function forService(environment: Environment, dir: string): Environment {
  const nothing = Object.fromEntries(ownSettings.map((name) => [name, '']));
  return { ...withoutOwn(environment), ...nothing, MIRROR_DIR: dir };
}

function withoutOwn(environment: Environment): Environment {
  const left = Object.entries(environment).filter(([name]) => ![...ownSettings, ...ofSystemd].includes(name));
  return Object.fromEntries(left);
}
