/** The addresses among the settings: what they must be, and how they are shown without what is secret. */

import { resolve } from 'node:path';
import { Failure } from '../errors.ts';
import { isLoopback } from '../loopback.ts';

/** The base address without a slash at its end. @throws Failure `config`, like `readRedisUrl`. */
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

export function readRedisUrl(text: string): string {
  if (!/^(rediss?:\/\/|unix:\/\/\/)./.test(text))
    refuse('is not of the form redis://user:password@host:6379/0, rediss://… (TLS) or unix:///path');
  return text;
}

/** Where a Postgres is that follows the mirror, and the schema there that is the mirror's own. */
export type ShipAddress = {
  /** It may hold a password. */
  url: string;
  schema: string;
};

/** `?schema=` is ours; the rest is what Postgres's own programs take. @throws Failure `config`. */
export function readShipUrl(text: string): ShipAddress {
  const form = 'is not of the form postgres://user:password@host:5432/database?schema=market_mirror';
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) refuse(form);
  const url = new URL(text);
  const schema = url.searchParams.get('schema') ?? 'market_mirror';
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema) || /^pg_|^information_schema$|^public$/.test(schema))
    refuse(
      "names a schema that cannot be the mirror's own: small letters, digits and _, not public, nothing of Postgres",
    );
  url.searchParams.delete('schema');
  return { url: url.href, schema };
}

/** Where a lake is: a folder of this machine, or a part of a bucket. Nothing of it is secret. */
export type LakeAddress =
  | { kind: 'disk'; folder: string }
  /** `prefix` is empty, or ends with a slash. */
  | { kind: 's3'; bucket: string; prefix: string };

/** @throws Failure `config`. */
export function readLakeAddress(text: string): LakeAddress {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return { kind: 'disk', folder: resolve(text) };
  const { bucket = '', path = '' } =
    /^s3:\/\/(?<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?<path>(?:\/[^/?#]+)*)\/?$/.exec(text)?.groups ?? {};
  if (bucket === '')
    refuse(
      'is neither a folder nor of the form s3://bucket/prefix; keys and endpoint come from the AWS variables',
    );
  return { kind: 's3', bucket, prefix: path === '' ? '' : `${path.slice(1)}/` };
}

function refuse(problem: string): never {
  throw new Failure('config', problem);
}

/** A letter of another alphabet may look like one of ours: the address that is called shows it, in the form that DNS knows. */
export function showApiUrl(given: string): string {
  const letters = [...new Set(given.match(BEYOND_ASCII))].map(spelt);
  return letters.length === 0
    ? given
    : `${readApiUrl(given)} (mind: it is written with ${letters.join(' ')}, not with letters of ASCII)`;
}

/** It may hold a user name and a password; nothing of either is shown, however it was written. */
export function showRedisUrl(given: string): string {
  if (!/[@?#]/.test(given)) return spelt(given);
  const { protocol, host, pathname, search, hash } = URL.canParse(given) ? new URL(given) : { search: given };
  const mayHoldSecret = search || hash || pathname?.includes('@');
  return mayHoldSecret ? 'is set (not shown)' : spelt(`${protocol}//${host}${pathname}`);
}

/** The same of a Postgres. */
export function showShipUrl(given: string): string {
  if (!URL.canParse(given)) return 'is set (not shown)';
  const { protocol, host, pathname } = new URL(given);
  return pathname.includes('@') ? 'is set (not shown)' : spelt(`${protocol}//${host}${pathname}`);
}

/** Whether an address, or the text of a file with one, holds a password. One that cannot be read may. */
export function holdsPassword(text: string): boolean {
  if (!URL.canParse(text.trim())) return true;
  const { password, search, hash } = new URL(text.trim());
  return password !== '' || /password/i.test(search) || hash !== '';
}

const BEYOND_ASCII = /[^ -~]/gu;

const spelt = (text: string) =>
  text.replace(BEYOND_ASCII, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);
