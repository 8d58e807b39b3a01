/** The addresses among the settings: what they must be, and how they are shown without what is secret. */

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

const BEYOND_ASCII = /[^ -~]/gu;

const spelt = (text: string) =>
  text.replace(BEYOND_ASCII, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);
