/** What an error of Redis, or of the way to it, means, and what an operator does about it. */

import { Failure } from '../errors.ts';

export type Trouble = {
  /** Such as `OOM`: Redis's own word where it has one. Stable, for monitoring. */
  code: string;
  message: string;
  advice: string;
};

/** A reply of Redis begins with its word, but within a reply of a script of Redis 6 it comes after a dash. */
const reply = (code: string) => new RegExp(`(?:^|[\\s-])${code}\\b`);

/** By code, in the order in which they are looked for: what Redis replies where that is not the code itself. */
const replies: Record<string, Omit<Trouble, 'code'> & { pattern?: RegExp }> = {
  MISCONF: {
    message: 'Redis cannot write to its disk, and therefore takes no writes',
    advice: 'free space on the disk of Redis, or see its log',
  },
  OOM: {
    message: 'Redis is at its memory limit',
    advice: 'raise maxmemory, or remove what else is kept there',
  },
  READONLY: {
    // Whoever waits in a blocking read as Redis becomes a replica gets the other word.
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
  LOADING: {
    message: 'Redis still loads its data',
    advice: 'wait until it has',
  },
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

/** Trouble that is no reply of Redis: of the way to it, or with what lies there. */
const ways = {
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
  ended: {
    code: 'ended',
    message: 'the private Redis ended',
    advice: 'it is started again by itself; see the disk and the memory of this machine where it goes on',
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
} as const satisfies Record<string, Trouble>;

/** An error that says by itself which trouble it is. */
export class WayError extends Error {
  readonly trouble: Trouble;

  constructor(way: keyof typeof ways, detail: string) {
    super(detail);
    this.trouble = ways[way];
  }
}

export function diagnose(error: Error): Trouble {
  if (error instanceof WayError) return error.trouble;
  for (const [code, { pattern = reply(code), message, advice }] of Object.entries(replies))
    if (pattern.test(error.message)) return { code, message, advice };
  if (isConnectionError(error)) return ways.lost;
  return {
    code: 'other',
    message: 'a step of the queue failed',
    advice: 'see the error; market-mirror doctor looks at Redis',
  };
}

/**
 * False where `later` says less than what is known already: that Redis cannot be reached, where the reason is known, or
 * that a connection was closed, which follows from many a trouble.
 */
export function saysMore(later: Trouble, known: Trouble): boolean {
  if (later.code === ways.lost.code) return false;
  const vague: Trouble[] = [ways.unreachable, ways.silent];
  const isOneOf = (some: Trouble[], { code }: Trouble) => some.some((one) => one.code === code);
  return later.code !== known.code && !(isOneOf(vague, later) && isOneOf(Object.values(ways), known));
}

export function isRefusal(error: Error): boolean {
  return diagnose(error).code === 'NOAUTH';
}

/** True for what the link reports: the connection, not a command. */
export function isConnectionError(error: Error): boolean {
  return 'syscall' in error || /^(Connection is closed|Socket timeout|connect E)/.test(error.message);
}

/** True for what no waiting mends. */
export function isOfSettings({ code }: Trouble): boolean {
  return ['NOAUTH', 'NOPERM', 'CLUSTER', 'WRONGTYPE', 'unsupported', 'newer', 'tls'].includes(code);
}

/** The failure of a start that no waiting can mend. */
export function settingFailure(address: string, error: Error): Failure {
  const { message, advice } = diagnose(error);
  return new Failure('config', `REDIS_URL: ${address}: ${message}: ${advice}`);
}
