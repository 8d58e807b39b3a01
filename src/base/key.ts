/** The Bearer key: where it comes from, and how it is kept from being shown. */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { inspect } from 'node:util';
import { Failure } from './errors.ts';
import { textIn } from './text-file.ts';

/** The rights of every user, which a file with a secret must not give; its group may read it. */
export const WORLD_PERMISSION_BITS = 0o007;

/** A value that no log, error or dump can print. */
export type Secret = {
  /** The value itself; only the HTTP client, which sends it, may ask for it. */
  reveal(): string;
  /** Four hexadecimal digits that tell it from most others, and reveal next to nothing. */
  digest(salt: string): string;
  /** The bytes or the text with `[key]` in place of the value, also where JSON, an address or HTML escapes its signs. */
  hideIn<Of extends string | Buffer>(received: Of): Of;
};

export type KeySource = {
  current(): Secret;
  /** Takes a key that has changed since the last call. Returns whether it has. */
  reload(): boolean;
};

export function keyFromValue(value: string): KeySource {
  const key = checkKey(value, 'MARKET_API_KEY');
  return { current: () => key, reload: () => false };
}

/** A file that holds nothing but the key; a line break at its end is allowed. */
export function keyFromFile(file: string): KeySource {
  let stamp = stampOf(file);
  let key = readKeyFile(file);
  return {
    current: () => key,
    reload() {
      const now = stampOf(file);
      if (now === stamp) return false;
      key = readKeyFile(file);
      stamp = now;
      return true;
    },
  };
}

function readKeyFile(file: string): Secret {
  const bytes = attempt(file, () => readFileSync(file));
  const { mode } = attempt(file, () => statSync(file));
  if (mode & WORLD_PERMISSION_BITS)
    throw new Failure('config', `MARKET_API_KEY_FILE: ${file} can be used by every user: chmod 600 it`);
  const text = textIn(bytes, `MARKET_API_KEY_FILE: ${file}`);
  return checkKey(text.replace(/\r?\n$/, ''), 'MARKET_API_KEY_FILE');
}

// The specification does not say what a key looks like: this is what an HTTP header can carry.
function checkKey(value: string, setting: string): Secret {
  if (!/^[\x21-\x7e]{1,4096}$/.test(value))
    throw new Failure(
      'config',
      `${setting} is empty or holds a space, a line break or another character no key has: set it to the key alone`,
    );
  return secret(value);
}

function stampOf(file: string): string {
  const { mtimeMs, ino, size } = attempt(file, () => statSync(file));
  return `${mtimeMs} ${ino} ${size}`;
}

function attempt<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    throw new Failure(
      'config',
      `MARKET_API_KEY_FILE: ${shown(file)} cannot be read (${code}): name a file that this user may read`,
    );
  }
}

/** The name, if it can be that of a file: it may be the key itself, by mistake. */
function shown(file: string): string {
  const isPath = file.includes('/') && existsSync(dirname(file));
  return isPath ? file : 'what it names (a file that holds the key is meant, by its path)';
}

const HIDDEN = '[redacted]';
const HIDDEN_KEY = '[key]';
/** A shorter one would hide ordinary words. */
const SHORTEST_HIDDEN = 8;

export function secret(value: string): Secret {
  const hide = hiding(value);
  return {
    reveal: () => value,
    digest: (salt) => createHash('sha256').update(salt).update(value).digest('hex').slice(0, 4),
    hideIn<Of extends string | Buffer>(received: Of): Of {
      if (typeof received === 'string') return hide(received) as Of;
      return hideInBytes(received, value, hide) as Of;
    },
    toString: () => HIDDEN,
    toJSON: () => HIDDEN,
    [inspect.custom]: () => HIDDEN,
  } as Secret;
}

function hiding(value: string): (text: string) => string {
  if (value.length < SHORTEST_HIDDEN) return (text) => text;
  const spelt = new RegExp([...value].map(spellings).join(''), 'g');
  return (text) => text.replace(spelt, HIDDEN_KEY);
}

/** Most bytes are cleared by one search for the longest run of letters and digits, which nothing escapes. */
function hideInBytes(bytes: Buffer, value: string, hide: (text: string) => string): Buffer {
  const runs = value.match(/[a-z0-9]+/gi) ?? [''];
  const longest = runs.reduce((one, other) => (other.length > one.length ? other : one));
  if (!bytes.includes(longest)) return bytes;
  const text = bytes.toString('latin1');
  const hidden = hide(text);
  return hidden === text ? bytes : Buffer.from(hidden, 'latin1');
}

const namesInHtml: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };

/** A pattern for one character of a key, plain and as JSON (also within JSON), addresses and HTML escape it. */
function spellings(character: string): string {
  if (/[a-z0-9]/i.test(character)) return character;
  const code = character.charCodeAt(0);
  const hex = code.toString(16).replace(/[a-f]/, (digit) => `[${digit}${digit.toUpperCase()}]`);
  const inHtml = [`#x0*${hex}`, `#0*${code}`, namesInHtml[character] ?? []].flat();
  return `(?:\\\\{0,3}\\x${code.toString(16)}|\\\\{1,2}u00${hex}|%(?:25)?${hex}|&(?:${inHtml.join('|')});)`;
}
