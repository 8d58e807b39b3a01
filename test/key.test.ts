import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, inspect } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { Failure } from '../src/base/errors.ts';
import { keyFromFile, keyFromValue, secret } from '../src/base/key.ts';
import { temporaryFolder } from './helpers/folder.ts';

let file: string;

beforeEach(() => {
  const folder = temporaryFolder();
  file = join(folder, 'key');
});

function write(text: string, mode = 0o600): void {
  // Whoever is not root may not write over one that is read-only.
  rmSync(file, { force: true });
  writeFileSync(file, text);
  chmodSync(file, mode);
}

function refusal(work: () => unknown): Failure {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown;
  }
  throw new Error('it was not refused');
}

describe('a key file', () => {
  test.each(['k-1234', 'k-1234\n', 'k-1234\r\n'])('may end with a line break: %j', (text) => {
    write(text);
    expect(keyFromFile(file).current().reveal()).toBe('k-1234');
  });

  test('may begin with a byte order mark', () => {
    write('\uFEFFk-1234\r\n');
    expect(keyFromFile(file).current().reveal()).toBe('k-1234');
  });

  test('in UTF-16 is named as such, without the key', () => {
    write('');
    writeFileSync(file, Buffer.from('\uFEFFcanary-1\r\n', 'utf16le'));
    const { kind, message } = refusal(() => keyFromFile(file));
    expect([kind, message]).toEqual([
      'config',
      expect.stringMatching(
        /^MARKET_API_KEY_FILE: .+ is written in UTF-16 \(little-endian\): save it as UTF-8/,
      ),
    ]);
    expect(message).not.toContain('canary');
  });

  test('is read again when it changes, and only then', () => {
    write('first');
    const key = keyFromFile(file);
    expect(key.reload()).toBe(false);
    writeFileSync(`${file}.new`, 'second', { mode: 0o600 });
    renameSync(`${file}.new`, file);
    expect(key.reload()).toBe(true);
    expect(key.current().reveal()).toBe('second');
    expect(key.reload()).toBe(false);
  });

  test('that has become unusable is named, and the next look takes a mended one', () => {
    write('first');
    const key = keyFromFile(file);
    write('two words');
    expect(refusal(() => key.reload()).message).toContain('MARKET_API_KEY_FILE');
    write('second and last'.replaceAll(' ', '-'));
    expect(key.reload()).toBe(true);
    expect(key.current().reveal()).toBe('second-and-last');
  });

  test('is taken where no other user may use it, and refused otherwise', () => {
    for (const mode of [0o600, 0o400, 0o640, 0o440]) {
      write('k-1234', mode);
      expect(keyFromFile(file).current().reveal()).toBe('k-1234');
    }
    for (const mode of [0o644, 0o604, 0o666, 0o602, 0o601]) {
      write('k-1234', mode);
      const { kind, message } = refusal(() => keyFromFile(file));
      expect([mode, kind]).toEqual([mode, 'config']);
      expect(message).toContain(`${file} can be used by every user: chmod 600 it`);
    }
  });

  test('that is not there is named', () => {
    expect(refusal(() => keyFromFile(file)).message).toBe(
      `MARKET_API_KEY_FILE: ${file} cannot be read (ENOENT): name a file that this user may read`,
    );
  });

  test.each(['canary-1', 'canary/1+x=='])('that is the key itself, by mistake (%s), is not shown', (key) => {
    const { kind, message } = refusal(() => keyFromFile(key));
    expect(kind).toBe('config');
    expect(message).toMatch(/^MARKET_API_KEY_FILE: what it names .* cannot be read \(ENOENT\): name a file/);
    expect(message).not.toContain(key);
  });
});

test.each([
  ['nothing', ''],
  ['a space', 'canary 1'],
  ['a line break', 'canary-1\n'],
  ['two lines', 'canary-1\r\nX-Injected: 1'],
  ['a NUL', 'canary-1\0'],
  ['an umlaut', 'canary-ü'],
  ['too many characters', 'canary-'.padEnd(5_000, '1')],
])('a key with %s is refused and not shown', (_, value) => {
  write(value);
  for (const { kind, message } of [
    refusal(() => keyFromValue(value)),
    ...(value.endsWith('1\n') ? [] : [refusal(() => keyFromFile(file))]),
  ]) {
    expect(kind).toBe('config');
    expect(message).toMatch(/^MARKET_API_KEY(_FILE)? is empty or holds a space, a line break/);
    expect(message).not.toContain('canary');
  }
});

describe('a secret', () => {
  const value = 'canary-7c1f';
  const wrapped = secret(value);

  test.each([
    ['a string', () => `${wrapped}`],
    ['JSON', () => JSON.stringify({ headers: { wrapped } })],
    ['a look at it', () => inspect({ wrapped }, { depth: null, showHidden: true })],
    ['a formatted line', () => format('%s %o %j', wrapped, wrapped, wrapped)],
    ['its members', () => inspect({ ...wrapped }, { showHidden: true })],
    ['an error', () => inspect(new Error('failed', { cause: wrapped }))],
  ])('it does not show in %s', (_, show) => {
    expect(show()).not.toContain(value);
  });

  test('its digest tells it from others, with the same salt alone, and is too short to confirm a guess', () => {
    expect(wrapped.digest('salt')).toBe(secret(value).digest('salt'));
    expect(wrapped.digest('salt')).not.toBe(secret(`${value}!`).digest('salt'));
    expect(wrapped.digest('salt')).not.toBe(wrapped.digest('another'));
    expect(wrapped.digest('salt')).toMatch(/^[0-9a-f]{4}$/);
  });
});
