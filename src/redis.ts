/** Where a Redis is, whether it and we agree on TLS, and what its errors mean to an operator. */

import { once } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { RedisTarget } from './config.ts';

/** Without credentials. */
export function addressOf({ path, host, port, db }: RedisTarget): string {
  return path ?? `${host}:${port}/${db}`;
}

const TLS_MS = 1_500;

/** Finds out whether one side speaks TLS alone, since a greeting then never ends. Undefined where that is not known. */
export async function tlsMismatch({ host, port, path, tls }: RedisTarget): Promise<Error | undefined> {
  if (path !== undefined || host === undefined || port === undefined) return undefined;
  if (tls && (await answersPlainly(host, port))) return new RedisError('plain', 'it answers without TLS');
  if (!tls && (await answersTls(host, port))) return new RedisError('encrypted', 'it answers with TLS alone');
  return undefined;
}

/** Redis answers a PING even where it wants a password first. */
async function answersPlainly(host: string, port: number): Promise<boolean> {
  const socket = connectPlain({ host, port });
  socket.write('PING\r\n');
  const [answer] = await first(socket, 'data').catch(() => ['']);
  return /^[+-]/.test(String(answer));
}

/** Any error of TLS comes from a server that speaks it, but for the one that the response is no TLS. */
async function answersTls(host: string, port: number): Promise<boolean> {
  try {
    // The certificate does not matter: nothing is sent.
    await first(connectTls({ host, port, rejectUnauthorized: false }), 'secureConnect');
    return true;
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    return code.startsWith('ERR_SSL') && code !== 'ERR_SSL_WRONG_VERSION_NUMBER';
  }
}

/** The arguments of the first such event; then the socket is closed. */
async function first(socket: Socket, event: string): Promise<unknown[]> {
  try {
    return await once(socket, event, { signal: AbortSignal.timeout(TLS_MS) });
  } finally {
    socket.on('error', () => undefined).destroy();
  }
}

export type RedisProblem = {
  /** Redis's own word where it has one, such as `OOM`. Stable, for monitoring. */
  code: string;
  message: string;
  advice: string;
};

/** A reply begins with its word; in one of a script, Redis 6 puts it behind a dash. */
const reply = (code: string) => new RegExp(`(?:^|[\\s-])${code}\\b`);

/** By code, in the order in which they are looked for. `pattern`: the reply, where the code is not its word. */
const replies: Record<string, Omit<RedisProblem, 'code'> & { pattern?: RegExp }> = {
  MISCONF: {
    message: 'Redis cannot write to its disk, and therefore takes no writes',
    advice: 'free space on the disk of Redis, or see its log',
  },
  OOM: {
    message: 'Redis is at its memory limit',
    advice: 'raise maxmemory, or remove what else is kept there',
  },
  READONLY: {
    // A blocking read gets UNBLOCKED when Redis becomes a replica.
    pattern: reply('(READONLY|UNBLOCKED)'),
    message: 'Redis is a read-only replica',
    advice: 'set REDIS_URL to the primary, or promote this one (REPLICAOF NO ONE)',
  },
  NOAUTH: {
    pattern: /(?:^|[\s-])(WRONGPASS|NOAUTH)\b|ERR invalid password/,
    message: 'Redis refuses the user name or password of REDIS_URL',
    advice: 'mend REDIS_URL and start again, or let Redis accept them',
  },
  NOPERM: {
    message: 'Redis forbids its user a command or a key',
    advice: "allow that user all commands on this mirror's keys, EVAL and EVALSHA among them (ACL SETUSER)",
  },
  NOSCRIPT: {
    message: 'Redis does not keep the scripts of the queue',
    advice: 'see what removes them, such as a proxy before Redis, and let EVAL pass',
  },
  LOADING: { message: 'Redis still loads its data', advice: 'wait until it has' },
  BUSY: {
    message: 'Redis is kept busy by a script of somebody else',
    advice: 'wait, or end it by SCRIPT KILL',
  },
  WRONGTYPE: {
    message: 'Redis holds something else under our key',
    advice: 'remove that key there, or choose another name',
  },
  MASTERDOWN: {
    message: 'Redis is a replica that has lost its primary',
    advice: 'set REDIS_URL to the primary, or mend the link between them',
  },
  NOREPLICAS: {
    message: 'Redis has too few replicas to take writes',
    advice: 'mend its replicas, or lower min-replicas-to-write',
  },
  CLUSTER: {
    pattern: /(?:^|[\s-])(CLUSTERDOWN|MOVED|ASK|CROSSSLOT)\b/,
    message: 'Redis is a cluster, which the queue cannot use',
    advice: 'set REDIS_URL to a Redis that is no cluster',
  },
  unsupported: {
    pattern: /ERR unknown command/,
    message: 'Redis lacks a command that the queue needs',
    advice: 'use Redis 6.2 or newer, or Valkey, with no command renamed',
  },
};

/** Problems that are no reply of Redis. */
const otherProblems = {
  lost: {
    code: 'lost',
    message: 'the connection to Redis is lost',
    advice: 'see whether Redis runs; it is tried again by itself',
  },
  unreachable: {
    code: 'unreachable',
    message: 'Redis is not reachable',
    advice: 'start it, or mend REDIS_URL; it is tried again by itself',
  },
  silent: {
    code: 'silent',
    message: 'Redis does not answer',
    advice: 'see whether it is stopped or kept busy; it is tried again by itself',
  },
  newer: {
    code: 'newer',
    message: 'a newer market-mirror keeps the state of this account',
    advice: 'upgrade this one, or choose another name',
  },
  contended: {
    code: 'contended',
    message: 'too many processes write to one key of Redis',
    advice: 'it is tried again by itself; run fewer at once where it goes on',
  },
  plain: {
    code: 'tls',
    message: 'Redis speaks no TLS',
    advice: 'write redis:// instead of rediss:// in REDIS_URL, or switch TLS on there',
  },
  encrypted: {
    code: 'tls',
    message: 'Redis speaks TLS only',
    advice: 'write rediss:// instead of redis:// in REDIS_URL',
  },
} as const satisfies Record<string, RedisProblem>;

/** An error that says by itself which problem it is. */
export class RedisError extends Error {
  readonly problem: RedisProblem;

  constructor(problem: keyof typeof otherProblems, detail: string) {
    super(detail);
    this.problem = otherProblems[problem];
  }
}

export function diagnose(error: Error): RedisProblem {
  if (error instanceof RedisError) return error.problem;
  for (const [code, { pattern = reply(code), message, advice }] of Object.entries(replies))
    if (pattern.test(error.message)) return { code, message, advice };
  if (isConnectionError(error)) return otherProblems.lost;
  return {
    code: 'other',
    message: 'a step of the queue failed',
    advice: 'see the error; market-mirror doctor looks at Redis',
  };
}

/** False where `later` is vaguer than what is known: that Redis cannot be reached, or that a connection was closed. */
export function saysMore(later: RedisProblem, known: RedisProblem): boolean {
  if (later.code === 'lost' || later.code === known.code) return false;
  const isVague = later.code === 'unreachable' || later.code === 'silent';
  return !(isVague && Object.values(otherProblems).some(({ code }) => code === known.code));
}

export function isRefusal(error: Error): boolean {
  return diagnose(error).code === 'NOAUTH';
}

/** True for an error of the connection, not of a command. */
export function isConnectionError(error: Error): boolean {
  return 'syscall' in error || /^(Connection is closed|Socket timeout|connect E)/.test(error.message);
}

/** True for a problem of the settings, here or in Redis: waiting does not help. */
export function isOfSettings({ code }: RedisProblem): boolean {
  return ['NOAUTH', 'NOPERM', 'CLUSTER', 'WRONGTYPE', 'unsupported', 'newer', 'tls'].includes(code);
}

/** The result of `work`. @throws RedisError `silent` where it takes longer than `ms`. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new RedisError('silent', `no answer in ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
