/** setup.sh on machines that lack one thing or another: its programs are stand-ins that write down how they are called. */

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { type BareMachine, bareMachine } from './helpers/bare-machine.ts';

let { folder, bin, program, quietProgram, setUp } = {} as BareMachine;

beforeEach(() => {
  ({ folder, bin, program, quietProgram, setUp } = bareMachine());
});

test('a machine that has everything needs the packages, once', async () => {
  program('redis-server');
  const first = await setUp();
  expect(first).toMatchObject({ code: 0, called: ['npm ci --include=dev'], complained: [] });
  expect(first.said.at(-1)).toBe('ready; next: npm run demo, or for your own data: npx market-mirror init');
  expect(await setUp()).toEqual({
    code: 0,
    said: ['ready; next: npm run demo, or for your own data: npx market-mirror init'],
    called: [],
    complained: [],
  });
});

describe('a checkout that was set up before', () => {
  const later = new Date(Date.now() + 60_000);

  beforeEach(async () => {
    program('valkey-server');
    await setUp();
  });

  test('is installed again when other packages are asked for', async () => {
    utimesSync(join(folder, 'package-lock.json'), later, later);
    expect((await setUp()).called).toEqual(['npm ci --include=dev']);
  });

  test('is installed again when SQLite does not load, as after a change of Node.js', async () => {
    writeFileSync(join(folder, 'node_modules/better-sqlite3/index.js'), 'throw new Error("other version");');
    expect((await setUp()).called).toEqual(['npm ci --include=dev']);
  });

  test('is built again when a source has changed', async () => {
    writeFileSync(join(folder, 'src/cli.ts'), '');
    utimesSync(join(folder, 'src/cli.ts'), later, later);
    expect((await setUp()).called).toEqual(['npm run build']);
  });

  test('is built again when the last build failed', async () => {
    chmodSync(join(folder, 'dist/src/cli.js'), 0o644);
    expect((await setUp()).called).toEqual(['npm run build']);
  });
});

describe('Redis is installed where it is missing, and it is said before it is done', () => {
  const install = (server: string) =>
    `case "$*" in *install*|*add*) : > "${bin}/${server}"; chmod +x "${bin}/${server}";; esac`;

  test.each([
    ['apt-get', 'redis-server', ['apt-get update', 'apt-get install -y redis-server']],
    ['dnf', 'valkey-server', ['dnf install -y valkey']],
    ['apk', 'redis-server', ['apk add --no-cache redis']],
    ['brew', 'redis-server', ['brew install redis']],
  ])('with %s', async (manager, server, calls) => {
    program(manager, install(server));
    const { code, said, called } = await setUp();
    expect(code).toBe(0);
    expect(called).toEqual([...calls, 'npm ci --include=dev']);
    expect(said[0]).toMatch(/^found no redis-server: installing .* with /);
  });

  test('with sudo only where the user is not root', async () => {
    quietProgram('id', 'echo 1000');
    program('sudo', '"$@"');
    program('apk', install('redis-server'));
    const { code, said, called } = await setUp();
    expect(code).toBe(0);
    expect(called).toEqual([
      'sudo apk add --no-cache redis',
      'apk add --no-cache redis',
      'npm ci --include=dev',
    ]);
    expect(said).toContain('running as root: apk add --no-cache redis');
  });
});

describe('what it cannot do it says in one line', () => {
  const again = 'install redis-server or valkey-server, then run this again';

  test('an option that is none', async () => {
    expect(await setUp('--test')).toMatchObject({
      code: 1,
      called: [],
      complained: ['setup: unknown option --test: there is only --tests, for what only the tests use'],
    });
  });

  test('without Node.js', async () => {
    rmSync(join(bin, 'node'));
    expect(await setUp()).toMatchObject({
      code: 1,
      complained: [
        'setup: Node.js is missing: install version 20.19 or newer (https://nodejs.org), then run this again',
      ],
    });
  });

  test('with a Node.js that is too old', async () => {
    quietProgram('node', '[ "$1" = --version ] && echo v18.20.8 && exit; exit 1');
    expect(await setUp()).toMatchObject({
      code: 1,
      complained: ['setup: Node.js v18.20.8 is too old: install version 20.19 or newer, then run this again'],
    });
  });

  test('without Redis and a way to install it', async () => {
    expect(await setUp()).toMatchObject({
      code: 1,
      complained: [
        `setup: found no redis-server and no apt-get, dnf, apk or brew to install it with: ${again}`,
      ],
    });
  });

  test('where Redis cannot be installed', async () => {
    program('apt-get', 'exit 100');
    const { code, complained } = await setUp();
    expect([code, complained]).toEqual([
      1,
      [`setup: redis-server could not be installed (see above): ${again}`],
    ]);
  });

  test('where it needs root and there is no sudo', async () => {
    quietProgram('id', 'echo 1000');
    program('apt-get');
    const { code, said, called } = await setUp();
    expect([code, called]).toEqual([1, []]);
    expect(said).toContain('this needs root, and there is no sudo');
  });

  test('where npm fails', async () => {
    program('redis-server');
    program('npm', 'exit 1');
    const { code, complained } = await setUp();
    expect([code, complained]).toEqual([
      1,
      ['setup: npm ci failed (see above); to compile SQLite it needs python3, make and a C++ compiler'],
    ]);
  });
});

test('it is a script for any POSIX shell, asks for the version that the package asks for, and may be run', () => {
  const script = readFileSync('setup.sh', 'utf8');
  expect(script).toMatch(/^#!\/bin\/sh\n/);
  for (const shell of ['/bin/dash', '/bin/sh'])
    if (existsSync(shell)) execFileSync(shell, ['-n', 'setup.sh']);
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
  expect(script).toContain(`version ${engines.node.replace('>=', '')} or newer`);
});
