/** Examines a Redis for `doctor`: its version, and whether it takes writes and keeps them. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { parseRedisUrl, type RedisTarget } from '../config.ts';
import { generalEnvironment } from '../environment.ts';
import { Failure, toError } from '../errors.ts';
import { diagnose, isRefusal, RedisError, type RedisProblem, tlsMismatch } from '../redis.ts';
import { socketPath } from '../socket-path.ts';
import { trialWriter } from './connection.ts';
import { findRedisServer } from './private-redis.ts';

type Version = {
  /** Such as `Redis 7.2.4`. */
  name: string;
  /** False for a version without what BullMQ needs. */
  recent: boolean;
};

/** Null where the host forbids to ask. */
type LiveRedis = Version & {
  policy: string | null;
  appendOnly: boolean | null;
  /** What keeps it from taking the queue's writes, or null. */
  refusal: RedisProblem | null;
};

/** Milliseconds, to connect and to answer. */
const ANSWER_MS = 5_000;
/** BullMQ's least version of Redis; Valkey began above it. */
const LEAST = [6, 2] as const;

/** The server that a daemon would run for itself. @throws Failure `config` where there is none that works. */
export function examineRedisServer(searchPath?: string): Version & { file: string } {
  const file = findRedisServer(searchPath);
  const [, kind, number] = /^(\w+) server v=([\d.]+)/.exec(runForVersion(file)) ?? [];
  if (!number) throw new Failure('config', `${file} --version names no version: install another`);
  return { file, ...versionOf(kind === 'Valkey' ? 'Valkey' : 'Redis', number) };
}

function runForVersion(file: string): string {
  try {
    return execFileSync(file, ['--version'], {
      env: generalEnvironment(),
      encoding: 'utf8',
      timeout: ANSWER_MS,
    });
  } catch (cause) {
    throw new Failure('config', `${file} does not run: install it again, or set REDIS_URL`, { cause });
  }
}

/**
 * Asks the Redis at `url`, or the private one of the daemon that runs on `dir`.
 * @throws Failure `config` where it refuses the user name or password, `incomplete` where it does not answer.
 */
export async function examineRedis(at: { url: string } | { dir: string }): Promise<LiveRedis> {
  // Not `privateTarget`, which makes the folder.
  const target: RedisTarget =
    'url' in at ? parseRedisUrl(at.url) : { path: socketPath(join(at.dir, 'redis'), 'redis.sock') };
  const { info, refusal } = await ask(target);
  const fact = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  const valkey = fact('valkey_version');
  const appendOnly = fact('aof_enabled');
  return {
    ...(valkey ? versionOf('Valkey', valkey) : versionOf('Redis', fact('redis_version'))),
    policy: fact('maxmemory_policy') ?? null,
    appendOnly: appendOnly === undefined ? null : appendOnly === '1',
    refusal,
  };
}

async function ask(target: RedisTarget): Promise<{ info: string; refusal: RedisProblem | null }> {
  const client = new Redis({
    ...target,
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: ANSWER_MS,
    commandTimeout: ANSWER_MS,
  });
  const errors: Error[] = [];
  client.on('error', (error: Error) => void errors.push(error));
  try {
    await client.connect();
    await client.ping();
    const info = await client.info().catch(() => ''); // Some hosts forbid it.
    const refused = await trialWriter(client, 'market-mirror-doctor')().then(() => null, toError);
    return { info, refusal: refused && diagnose(refused) };
  } catch (thrown) {
    const mismatch = await tlsMismatch(target);
    throw failureOf([...(mismatch ? [mismatch] : []), ...errors, toError(thrown)]);
  } finally {
    client.disconnect();
  }
}

function failureOf(errors: Error[]): Failure {
  if (errors.some(isRefusal)) return new Failure('config', 'it refuses the user name or password');
  const [first] = errors;
  if (first instanceof RedisError)
    return new Failure('config', `${first.problem.message}: ${first.problem.advice}`);
  return new Failure('incomplete', `it does not answer (${first?.message})`);
}

function versionOf(kind: 'Redis' | 'Valkey', number = ''): Version {
  const [major = 0, minor = 0] = number.split('.').map(Number);
  const recent = major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1]);
  return {
    name: number === '' ? `${kind} of an unknown version` : `${kind} ${number}`,
    recent: kind === 'Valkey' || number === '' || recent,
  };
}
