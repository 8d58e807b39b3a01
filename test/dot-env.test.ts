import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readDotEnv } from '../src/config/dot-env.ts';
import { allSettings } from '../src/config/settings.ts';
import { temporaryFolder } from './helpers/folder.ts';

function fileWith(text: string, mode = 0o600): string {
  const folder = temporaryFolder('mirror env ');
  const file = join(folder, '.env');
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

const refusal = (message: string) =>
  expect.objectContaining({ kind: 'config', message: expect.stringContaining(message) });

test('every setting is taken from it', () => {
  const names = [...allSettings.map(({ name }) => name), 'MIRROR_SCHEDULE_NEWS'];
  const text = names.map((name) => `${name}=x`).join('\n');
  expect(Object.keys(readDotEnv(fileWith(text))).sort()).toEqual(names.sort());
});

test('a byte order mark before the first setting is no part of its name', () => {
  expect(readDotEnv(fileWith('\uFEFFMIRROR_DIR=x\nLOG_LEVEL=info'))).toEqual({
    MIRROR_DIR: 'x',
    LOG_LEVEL: 'info',
  });
});

describe('in another encoding than UTF-8 it is refused, and told in which', () => {
  const text = 'MARKET_API_URL=https://api.example.com\r\n# Ключ\r\nLOG_LEVEL=info\r\n';
  const little = (written: string) => Buffer.from(written, 'utf16le');
  const big = (written: string) => little(written).swap16();
  test.each([
    ['UTF-16 (little-endian)', little(`\uFEFF${text}`)],
    ['UTF-16 (big-endian)', big(`\uFEFF${text}`)],
    ['UTF-32', Buffer.concat([little('\uFEFF\0'), little('A\0B\0')])],
  ])('%s', (encoding, bytes) => {
    const file = fileWith('');
    writeFileSync(file, bytes);
    expect(() => readDotEnv(file)).toThrow(refusal(`${file} is written in ${encoding}: save it as UTF-8`));
  });

  test.each([
    ['nothing', ''],
    ['a mark alone', '\uFEFF'],
    ['letters beyond ASCII', 'LOG_LEVEL=info # Ключ №\n'],
  ])('but not %s', (_, written) => {
    expect(() => readDotEnv(fileWith(written))).not.toThrow();
  });
});

test('without it nothing is set', () => {
  expect(readDotEnv(`${fileWith('')}.not-there`)).toEqual({});
});

test('AWS_* is taken, misspelt settings are left to be refused, and names of other programs are left alone', () => {
  const text =
    'AWS_REGION=eu\nMIRROR_DRI=x\nPATH=/evil\nPOSTGRES_PASSWORD=x\nNOTIFY_SOCKET=x\nNO_COLOR=1\nREDIS_URLS=x\n';
  expect(readDotEnv(fileWith(text))).toEqual({ AWS_REGION: 'eu', MIRROR_DRI: 'x' });
});

test.each(['NODE_OPTIONS', 'NODE_TLS_REJECT_UNAUTHORIZED', 'LD_PRELOAD', 'LD_LIBRARY_PATH'])(
  '%s is refused by its name',
  (name) => {
    const file = fileWith(`MIRROR_DIR=x\n${name}=/tmp/evil.so\n`);
    expect(() => readDotEnv(file)).toThrow(refusal(`${file}: ${name} `));
  },
);

describe('a file that others may write is refused, and told how to mend it', () => {
  test.each([0o620, 0o602])('mode %o', (mode) => {
    const file = fileWith('MIRROR_ON_CHANGE=evil', mode);
    expect(() => readDotEnv(file)).toThrow(refusal(`chmod 600 ${file}`));
  });

  test.each([0o644, 0o400])('mode %o is fine', (mode) => {
    expect(readDotEnv(fileWith('LOG_LEVEL=info', mode))).toEqual({ LOG_LEVEL: 'info' });
  });

  test('so is one of another user; one of root is trusted', () => {
    const file = fileWith('LOG_LEVEL=info');
    const me = process.getuid?.() ?? 0;
    if (me === 0) chownSync(file, 12_345, 12_345);
    expect(() => readDotEnv(file, me === 0 ? 0 : me + 1)).toThrow(refusal('belongs to another user'));
    if (me === 0) {
      chownSync(file, 0, 0);
      expect(readDotEnv(file, 12_345)).toEqual({ LOG_LEVEL: 'info' });
    }
  });
});
