/** Examines a Redis for `doctor`: its version, and whether it takes writes. */

import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { generalEnvironment } from '../base/environment.ts';
import { Failure, toError } from '../base/errors.ts';
import { parseRedisUrl } from '../config.ts';
import { findRedisServer } from './private-redis.ts';

type Version = {
  /** Such as `Redis 7.2.4`. */
  name: string;
  /** False for a version without what BullMQ needs. */
  recent: boolean;
};

/** Milliseconds, to connect and to answer. */
const ANSWER_MS = 5_000;
/** As the queue writes: by a script. The key expires after a minute. */
const TRIAL = "return redis.call('SET', KEYS[1], '1', 'PX', 60000)";

const REFUSAL = /(?:^|[\s-])(WRONGPASS|NOAUTH)\b|ERR invalid password/;

/** The server that a daemon would run for itself. @throws Failure `config` where there is none that works. */
export function examineRedisServer(searchPath?: string): Version & { file: string } {
  const file = findRedisServer(searchPath);
  const options = { env: generalEnvironment(), encoding: 'utf8', timeout: ANSWER_MS } as const;
  let said: string;
  try {
    said = execFileSync(file, ['--version'], options);
  } catch (cause) {
    throw new Failure('config', `${file} does not run: install it again, or set REDIS_URL`, { cause });
  }
  const [, kind, number] = /^(\w+) server v=([\d.]+)/.exec(said) ?? [];
  if (!number) throw new Failure('config', `${file} --version names no version: install another`);
  return { file, ...versionOf(kind === 'Valkey' ? 'Valkey' : 'Redis', number) };
}

/**
 * Writes to the Redis at `url`, or to the private one of the daemon that runs on `dir`.
 * @throws Failure `config` where it refuses the user name or password, `incomplete` with its own words where it takes no writes.
 */
export async function examineRedis(at: { url: string } | { dir: string }): Promise<Version> {
  const target =
    'url' in at ? parseRedisUrl(at.url) : { path: join(realpathSync(at.dir), 'redis', 'redis.sock') };
  const once = { lazyConnect: true, enableReadyCheck: false, retryStrategy: () => null };
  const limits = { maxRetriesPerRequest: 0, connectTimeout: ANSWER_MS, commandTimeout: ANSWER_MS };
  const client = new Redis({ ...target, ...once, ...limits });
  const errors: Error[] = [];
  client.on('error', (error: Error) => void errors.push(error));
  try {
    await client.connect();
    await client.eval(TRIAL, 1, 'market-mirror-doctor:trial');
    const info = await client.info().catch(() => ''); // Some hosts forbid it.
    const fact = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
    const valkey = fact('valkey_version');
    return valkey ? versionOf('Valkey', valkey) : versionOf('Redis', fact('redis_version'));
  } catch (thrown) {
    const error = errors[0] ?? toError(thrown);
    if (REFUSAL.test(error.message)) throw new Failure('config', 'it refuses the user name or password');
    throw new Failure('incomplete', `it takes no writes (${error.message})`);
  } finally {
    client.disconnect();
  }
}

/** BullMQ needs Redis 6.2; Valkey began above it. */
function versionOf(kind: 'Redis' | 'Valkey', number?: string): Version {
  if (number === undefined) return { name: `${kind} of an unknown version`, recent: true };
  const [major = 0, minor = 0] = number.split('.').map(Number);
  const recent = kind === 'Valkey' || major > 6 || (major === 6 && minor >= 2);
  return { name: `${kind} ${number}`, recent };
}
