/** The Bearer key: where it comes from, and how it is kept from being shown. */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { inspect } from 'node:util';
import { Failure } from './errors.ts';

/** A value that no log, error or dump can print. */
export type Secret = {
  /** The value itself; only the HTTP client, which sends it, may ask for it. */
  reveal(): string;
  /**
   * Four hexadecimal digits that tell it from another one. They say next to nothing of it; one in 65,536 others
   * looks the same.
   */
  digest(salt: string): string;
};

export type KeySource = {
  /** The key as it is now. */
  current(): Secret;
  /** Looks whether the key has changed since the last look, and takes the new one. */
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
  const { mode } = attempt(file, () => statSync(file));
  if (mode & 0o007)
    throw new Failure('config', `MARKET_API_KEY_FILE: ${file} can be used by every user: chmod 600 it`);
  const text = attempt(file, () => readFileSync(file, 'utf8'));
  return checkKey(text.replace(/\r?\n$/, ''), 'MARKET_API_KEY_FILE');
}

// The key's format is not shown in the specification; this is only what an HTTP header can carry.
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
    throw new Failure('config', `MARKET_API_KEY_FILE: ${shown(file)} cannot be read (${code})`);
  }
}

/** The name as given where it can be that of a file: a key may have been put there by mistake. */
function shown(file: string): string {
  const isPath = file.includes('/') && existsSync(dirname(file));
  return isPath ? file : 'what it names (a file that holds the key is meant, by its path)';
}

const HIDDEN = '[redacted]';

export function secret(value: string): Secret {
  return {
    reveal: () => value,
    digest: (salt) => createHash('sha256').update(salt).update(value).digest('hex').slice(0, 4),
    toString: () => HIDDEN,
    toJSON: () => HIDDEN,
    [inspect.custom]: () => HIDDEN,
  } as Secret;
}
