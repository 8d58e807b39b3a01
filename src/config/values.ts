/** How the text of a setting is read, and what of it may be shown. A refusal continues the name of the setting. */

import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { domainToASCII } from 'node:url';
import { DAY_MS } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { isLoopback, parseNetwork } from '../base/networks.ts';
import { printable } from '../base/printable.ts';
import { millisecondsOf } from '../base/time.ts';

export function refuse(problem: string): never {
  throw new Failure('config', problem);
}

/** One of some words. */
export const oneOf =
  <const Word extends string>(words: readonly Word[], problem: string) =>
  (text: string): Word =>
    words.find((word) => word === text) ?? refuse(problem);

export const readSwitch = (text: string): boolean =>
  oneOf(['on', 'off'], 'is neither on nor off')(text) === 'on';

/** Milliseconds. */
export function readLakeInterval(text: string): number {
  const interval = millisecondsOf(text.trim());
  if (interval !== undefined && interval <= DAY_MS) return interval;
  return refuse('is no duration up to a day, such as 15m');
}

/** Milliseconds; infinite for ever. */
export function readRetention(text: string): number {
  if (text.trim() === 'forever') return Number.POSITIVE_INFINITY;
  const kept = millisecondsOf(text.trim());
  if (kept !== undefined && kept >= DAY_MS && kept <= 1_000 * 365 * DAY_MS) return kept;
  return refuse('is no time to keep: set it to 1d or longer, such as 90d, or to forever');
}

/** So many calls in a time; `startMs`: where its periods begin, from midnight UTC on, null where it slides. */
export type CallLimit = { calls: number; periodMs: number; startMs: number | null };

/** The limits of the account that its owner knows; null for those that he does not. */
export type AccountLimits = { quota: CallLimit | null; rate: CallLimit | null; concurrency: number | null };

const LIMIT =
  /^(?<calls>\d{1,9})\s*\/\s*(?<period>[\d.]+\s*[a-z]+|[a-z]+)(?:\s*@\s*(?<hour>\d{1,2}):(?<minute>\d\d))?$/i;
const LONGEST_PERIOD_MS = 400 * DAY_MS;

/** `1000/1d`, `1000/1d@00:00`. */
export function readQuota(text: string): CallLimit {
  const limit = readCallLimit(text);
  if (limit === null)
    return refuse('is no quota such as 1000/1d, or 1000/1d@00:00 with the UTC time at which it begins anew');
  const { startMs, periodMs } = limit;
  if (startMs !== null && (periodMs > DAY_MS || DAY_MS % periodMs !== 0))
    refuse(
      'begins anew at a time of the day, so its time is a day or a part of one: leave out the @ for any other',
    );
  return limit;
}

/** `5/1s`. */
export function readRate(text: string): CallLimit {
  const limit = readCallLimit(text);
  return limit === null || limit.startMs !== null ? refuse('is no rate such as 5/1s') : limit;
}

export function readConcurrency(text: string): number {
  const calls = Number(text);
  return /^\d{1,4}$/.test(text.trim()) && calls > 0 ? calls : refuse('is no number of calls such as 2');
}

function readCallLimit(text: string): CallLimit | null {
  const { calls = '', period = '', hour, minute } = LIMIT.exec(text.trim())?.groups ?? {};
  // `M` may mean a month, and is a minute elsewhere.
  if (/^\d*\s*M$/.test(period)) return null;
  const periodMs = millisecondsOf(/^[a-z]/i.test(period) ? `1${period}` : period) ?? 0;
  if (!(Number(calls) > 0) || periodMs < 1 || periodMs > LONGEST_PERIOD_MS) return null;
  if (hour === undefined) return { calls: Number(calls), periodMs, startMs: null };
  if (Number(hour) > 23 || Number(minute) > 59) return null;
  return { calls: Number(calls), periodMs, startMs: (Number(hour) * 60 + Number(minute)) * 60_000 };
}

/** The base address without a slash at its end. */
export function readApiUrl(text: string): string {
  if (!URL.canParse(text)) refuse('is not an address such as https://api.example.com');
  const { username, password, search, hash, protocol, hostname, origin, pathname } = new URL(text);
  if (username || password) refuse('holds a user name or password: the key goes into MARKET_API_KEY');
  if (search || hash) refuse('holds a query or fragment: give the base address alone');
  if (protocol === 'http:' && !isLoopback(hostname))
    refuse('uses http://, which would show the key to the network: use https://');
  if (protocol !== 'http:' && protocol !== 'https:') refuse('is not an https:// address');
  return `${origin}${pathname}`.replace(/\/+$/, '');
}

/** The address of a webhook, which is a secret: a refusal never shows it. */
export function readWebhookUrl(text: string): string {
  const written = text.trim();
  if (!URL.canParse(written)) refuse('is not an address such as https://hooks.example.com/services/…');
  const { username, password, protocol, hostname, hash, href } = new URL(written);
  if (username || password || hash)
    refuse('holds a user name, a password or a fragment, which no webhook takes');
  if (protocol === 'http:' && !isLoopback(hostname))
    refuse('uses http://, which would show it to the network: use https://');
  if (protocol !== 'http:' && protocol !== 'https:') refuse('is not an https:// address');
  return href;
}

/** Where a proxy is. */
export type ProxyAddress = {
  /** Without user name and password. */
  url: string;
  /** Name or address, and port. */
  host: string;
  /** What it wants in `Proxy-Authorization`; undefined for nothing. */
  authorization: string | undefined;
};

/** `http://[user:password@]host[:port]`, `https://…` for TLS to the proxy; `http://` may be left out. A refusal never shows the text. */
export function readProxyUrl(text: string): ProxyAddress {
  const form =
    'is not of the form http://user:password@proxy.example.com:3128 (with %2F for / in a password, and the like): correct it, or unset it';
  const url = text.includes('://') ? text.trim() : `http://${text.trim()}`;
  if (!URL.canParse(url)) refuse(form);
  const { protocol, origin, host, pathname, search, hash, username, password } = new URL(url);
  if (!/^https?:$/.test(protocol))
    refuse('names a proxy that is neither http:// nor https://: no other is used');
  if (pathname !== '/' || search !== '' || hash !== '') refuse(form);
  try {
    const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const authorization = login === ':' ? undefined : `Basic ${Buffer.from(login).toString('base64')}`;
    return { url: origin, host, authorization };
  } catch {
    return refuse(form);
  }
}

/** Whether the address of a proxy may hold a password. */
export function holdsProxyPassword(text: string): boolean {
  return text.includes('@') || showProxyUrl(text) === NOT_SHOWN;
}

export function showProxyUrl(text: string): string {
  try {
    return readProxyUrl(text).host;
  } catch {
    return NOT_SHOWN;
  }
}

/** Where a Redis is, as its client takes it. */
export type RedisTarget = {
  path?: string;
  host?: string;
  port?: number;
  db?: number;
  username?: string;
  password?: string;
  tls?: object;
};

/** `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, `unix:///path`. A refusal never shows the text. */
export function parseRedisUrl(text: string): RedisTarget {
  const form = 'is not of the form redis://user:password@host:6379/0, rediss://… (TLS) or unix:///path';
  if (!URL.canParse(text)) refuse(form);
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text);
  try {
    const login = {
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
    };
    const db = /^\/?(\d*)$/.exec(pathname)?.[1];
    if (search !== '' || hash !== '') refuse(form);
    if (protocol === 'unix:' && hostname === '' && pathname.length > 1)
      return { path: decodeURIComponent(pathname), ...login };
    if (!/^rediss?:$/.test(protocol) || hostname === '' || db === undefined) refuse(form);
    return {
      // Letters beyond ASCII in the form that DNS knows, which also tells a name from one that looks the same.
      host: (domainToASCII(decodeURIComponent(hostname)) || hostname).replace(/^\[|\]$/g, ''),
      port: Number(port || 6379),
      db: Number(db),
      ...login,
      ...(protocol === 'rediss:' && { tls: {} }),
    };
  } catch {
    return refuse(form);
  }
}

export function readRedisUrl(text: string): string {
  parseRedisUrl(text);
  return text;
}

/** Where a Postgres is that follows the mirror, and the schema there that is the mirror's own. */
export type ShipAddress = {
  /** It may hold a password. */
  url: string;
  schema: string;
};

/** `?schema=` is ours; the rest is what Postgres's own programs take. */
export function readShipUrl(text: string): ShipAddress {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text))
    refuse('is not of the form postgres://user:password@host:5432/database?schema=market_mirror');
  const url = new URL(text);
  const schema = url.searchParams.get('schema') ?? 'market_mirror';
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema) || /^pg_|^information_schema$|^public$/.test(schema))
    refuse(
      "names a schema that cannot be the mirror's own: small letters, digits and _, not public, nothing of Postgres",
    );
  url.searchParams.delete('schema');
  return { url: url.href, schema };
}

/** A folder of this machine. */
export function readLakeFolder(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text))
    refuse('is no folder: a lake is one, and rclone copies it into a bucket (docs/lake.md)');
  return resolve(text);
}

/** Whether an address, or the text of a file with one, may hold a password. */
export function holdsPassword(text: string): boolean {
  if (!URL.canParse(text.trim())) return true;
  const { password, search, hash } = new URL(text.trim());
  return password !== '' || /password/i.test(search) || hash !== '';
}

export const NOT_SHOWN = 'is set (not shown)';

/** The address without user name and password, however they were written. */
export function showWithoutLogin(text: string): string {
  if (!/[@?#]/.test(text)) return withLettersSpelt(text);
  if (!URL.canParse(text)) return NOT_SHOWN;
  const { protocol, host, pathname } = new URL(text);
  return pathname.includes('@') ? NOT_SHOWN : withLettersSpelt(`${protocol}//${host}${pathname}`);
}

/** The address, with a warning where letters of another alphabet may look like ASCII; DNS's own form shows them. */
export function showApiUrl(text: string): string {
  const letters = [...new Set(text.match(BEYOND_ASCII))].map(withLettersSpelt);
  return letters.length === 0
    ? text
    : `${readApiUrl(text)} (mind: it is written with ${letters.join(' ')}, not with letters of ASCII)`;
}

const BEYOND_ASCII = /[^ -~]/gu;

const withLettersSpelt = (text: string) =>
  text.replace(BEYOND_ASCII, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);

/** Variables of the environment: some by their whole names, some by the beginnings of their names. */
export type VariableList = { readonly names: readonly string[]; readonly beginnings: readonly string[] };

export function readVariables(text: string): VariableList {
  const entries = text.split(',').map((entry) => entry.trim());
  const wrong = entries.find((entry) => !/^[A-Za-z_][A-Za-z0-9_]*\*?$/.test(entry));
  if (wrong !== undefined)
    refuse(
      `holds '${printable(wrong)}', which is neither the name of a variable nor the beginning of one, such as AWS_*`,
    );
  return {
    names: entries.filter((entry) => !entry.endsWith('*')),
    beginnings: entries.filter((entry) => entry.endsWith('*')).map((entry) => entry.slice(0, -1)),
  };
}

export type ServeAddress = { readonly host: string; readonly port: number };

/** `127.0.0.1:4020`, `mirror.internal:4020`, `[::1]:4020`. */
export function readListenAddress(text: string): ServeAddress {
  const [, inBrackets, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text.trim()) ?? [];
  const host = readHost(inBrackets ?? plain ?? '');
  const port = Number(digits);
  if (host === undefined || (inBrackets !== undefined && isIP(host) !== 6) || port > 65_535)
    refuse('is not host:port, such as 127.0.0.1:4020 or [::1]:4020');
  return { host, port };
}

/** An address or a name to listen on, without a port; undefined for a text that is neither. */
export function readHost(text: string): string | undefined {
  const host = text.trim().toLowerCase();
  return isIP(host) !== 0 || isName(host) ? host : undefined;
}

/** A text of digits and dots must be an address instead. */
const isName = (text: string) =>
  text.length <= 253 &&
  !/^[\d.]+$/.test(text) &&
  /^[a-z0-9]([a-z0-9-]{0,62})(\.[a-z0-9]([a-z0-9-]{0,62}))*$/.test(text);

/** How old data may be, in milliseconds. */
export type MaxAges = { readonly all: number | undefined; readonly byJob: ReadonlyMap<string, number> };

export function readMaxAges(text: string): MaxAges {
  const byJob = new Map<string, number>();
  let all: number | undefined;
  for (const part of listed(text)) {
    const [, job, age = ''] = /^(?:([^=]+)=)?([^=]+)$/.exec(part) ?? [];
    const ms = millisecondsOf(age.trim());
    if (!ms) refuse(`holds '${part}', which is no age such as 1h or news=15m`);
    if (job === undefined ? all !== undefined : byJob.has(job.trim()))
      refuse(`says twice how old ${job ?? 'data'} may be`);
    if (job === undefined) all = ms;
    else byJob.set(job.trim(), ms);
  }
  return { all, byJob };
}

export function readHosts(text: string): readonly string[] {
  return listed(text).map(
    (host) =>
      readHost(host.replace(/^\[(.*)\]$/, '$1')) ??
      refuse(`holds '${host}', which is no name such as mirror.example.com: without port or path`),
  );
}

/** Networks of proxies. */
export function readProxies(text: string): readonly string[] {
  return listed(text).map((written) => {
    const { network, bits } =
      parseNetwork(written) ??
      refuse(`holds '${written}', which is no address or network such as 10.0.0.7 or 192.0.2.0/24`);
    if (bits === 0) refuse(`holds '${written}', by which anybody could claim any address: name the proxies`);
    return network;
  });
}

function listed(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  return parts.includes('') ? refuse('holds an empty entry: separate entries by one comma') : parts;
}

/** The names that lead to a field or an array, from the outermost: `data.results`. */
export function readPath(text: string): readonly string[] {
  const names = text.split('.').map((name) => name.trim());
  return names.includes('') ? refuse(`holds '${text}', which is no path such as data.results`) : names;
}

/** Several fields: `chain,address`. */
export const readPaths = (text: string): readonly (readonly string[])[] => listed(text).map(readPath);
