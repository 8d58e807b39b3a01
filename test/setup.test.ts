/** setup.sh on machines that lack one thing or another: their programs are stand-ins that write down how they are called. */

import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from './helpers/folder.ts';
import { libfaketime, needs } from './helpers/tools.ts';

/** The checkout, in a folder with a space in its path, and the only folder that programs are looked for in. */
let folder: string;
let bin: string;

const placeOf = (tool: string) =>
  execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim();
const find = placeOf('find');

const INSTALL = 'npm ci --include=dev';
const BUILD = 'npm run build';
const READY = 'ready; next: npm run demo, or for your own data: npx market-mirror init';

/** What `npm ci` and the build leave. */
const npmThatWorks = `
mkdir -p node_modules/better-sqlite3 dist/src
echo 'module.exports = class {}' > node_modules/better-sqlite3/index.js
touch node_modules/.package-lock.json dist/src/cli.js
chmod +x dist/src/cli.js`;

beforeEach(() => {
  const root = temporaryFolder('mirror setup-');
  bin = join(root, 'bin');
  folder = join(root, 'a checkout');
  for (const made of [bin, ...['src', 'jobs', 'model-api', 'web'].map((name) => join(folder, name))])
    mkdirSync(made, { recursive: true });
  for (const file of ['setup.sh', 'package.json', 'package-lock.json', 'tsconfig.json'])
    copyFileSync(file, join(folder, file));
  for (const tool of ['dirname', 'env', 'mkdir', 'touch', 'chmod', 'sh'])
    symlinkSync(placeOf(tool), join(bin, tool));
  symlinkSync(process.execPath, join(bin, 'node'));
  quietProgram('id', 'echo 0');
  program('npm', npmThatWorks);
  // This machine may have the two that are looked for outside of PATH.
  quietProgram(
    'find',
    `case "$*" in *faketime*) [ ! -e "${bin}/faketime" ] || echo found ;; *initdb*) ;; *) exec ${find} "$@" ;; esac`,
  );
});

/** Adds a program that only does what the script says. */
function quietProgram(name: string, script: string): void {
  // The place may be taken by a link to a real program.
  rmSync(join(bin, name), { force: true });
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** Adds one that says how it was called first. */
function program(name: string, script = ''): void {
  quietProgram(name, `echo "called: ${name} $*"\n${script}`);
}

/** A script that puts these programs into place. */
const puts = (...tools: string[]) =>
  tools.map((tool) => `: > "${bin}/${tool}"; chmod +x "${bin}/${tool}"`).join('; ');

/** Runs setup.sh from another folder. */
function setUp(...args: string[]) {
  return new Promise<{ code: number | null; said: string[]; called: string[]; complained: string[] }>(
    (resolve) => {
      const options = { cwd: tmpdir(), env: { PATH: bin, HOME: folder } };
      const child = execFile(
        join(bin, 'sh'),
        [join(folder, 'setup.sh'), ...args],
        options,
        (_, stdout, stderr) => {
          const after = (start: string) =>
            stdout.split('\n').flatMap((line) => (line.startsWith(start) ? [line.slice(start.length)] : []));
          resolve({
            code: child.exitCode,
            said: after('setup: '),
            called: after('called: '),
            complained: stderr.split('\n').filter(Boolean),
          });
        },
      );
      child.stdin?.end();
    },
  );
}

/** What only the tests use; libfaketime is a file. */
const testTools = [
  ...['python3', 'sqlite3', 'openssl', 'ps', 'script', 'systemd-notify', 'libfaketime'],
  ...['promtool', 'chromium', 'initdb'],
];
const files = testTools.map((tool) => (tool === 'libfaketime' ? 'faketime' : tool));

test('a checkout is set up once, and again where something has changed', async () => {
  program('redis-server');
  const age = (file: string) => utimesSync(join(folder, file), 0, 0);
  expect(await setUp()).toMatchObject({ code: 0, called: [INSTALL], complained: [] });
  expect(await setUp()).toEqual({ code: 0, said: [READY], called: [], complained: [] });
  for (const [why, change, called] of [
    ['other packages are asked for', () => age('node_modules/.package-lock.json'), INSTALL],
    [
      'SQLite does not load, as after a change of Node.js',
      () => writeFileSync(join(folder, 'node_modules/better-sqlite3/index.js'), 'throw new Error()'),
      INSTALL,
    ],
    ['a source has changed', () => age('dist/src/cli.js'), BUILD],
    ['the last build failed', () => chmodSync(join(folder, 'dist/src/cli.js'), 0o644), BUILD],
  ] as const) {
    change();
    const { code, called: calls } = await setUp();
    expect([why, code, calls]).toEqual([why, 0, [called]]);
  }
});

test.each([
  ['redis alone without --tests', [], [], 'apk', ['apk add --no-cache redis']],
  [
    'with apt-get, of whose package prometheus only promtool is taken, so that no service starts',
    ['--tests'],
    [],
    'apt-get',
    [
      'apt-get update',
      'apt-get install -y redis-server',
      'apt-get download prometheus',
      'dpkg-deb --extract prometheus_1.deb .',
      'install -D -m 755 usr/bin/promtool /usr/local/bin/promtool',
      'rm -rf made',
      'install -D -m 644 /dev/stdin /etc/postgresql-common/createcluster.conf',
      'apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold python3 sqlite3 openssl procps bsdutils systemd libfaketime chromium-headless-shell postgresql',
    ],
  ],
  [
    'one tool, with sudo where the user is not root',
    ['--tests'],
    files.filter((file) => file !== 'sqlite3'),
    'apk',
    [
      ...['sudo apk add --no-cache redis', 'apk add --no-cache redis'],
      ...['sudo apk add --no-cache sqlite', 'apk add --no-cache sqlite'],
    ],
  ],
])(
  'what is missing is installed, all at once, and nothing the second time: %s',
  async (_, options, present, manager, calls) => {
    if (present.length > 0) {
      quietProgram('id', 'echo 1000');
      program('sudo', '"$@"');
    }
    for (const tool of present) program(tool);
    if (manager === 'apt-get') {
      quietProgram('mktemp', `mkdir -p "${folder}/made"; echo "${folder}/made"`);
      for (const tool of ['rm', 'dpkg-deb']) program(tool);
      program('install', `case "$*" in *promtool) ${puts('promtool')} ;; esac`);
    }
    const tools = files.filter((file) => manager !== 'apt-get' || file !== 'promtool');
    program(
      manager,
      `case "$*" in
      *download*) : > prometheus_1.deb ;;
      *redis*) ${puts('redis-server')} ;;
      *install*|*add*) ${puts(...tools)} ;;
    esac`,
    );
    const { code, said, called } = await setUp(...options);
    expect([code, called.map((call) => call.replace(`${folder}/`, ''))]).toEqual([0, [...calls, INSTALL]]);
    expect(said[0]).toMatch(/^found no redis-server: installing .* with /);
    const missing = testTools.filter((_, at) => !present.includes(files[at] ?? ''));
    if (options.length > 0)
      expect(said).toContain(`installing what only the tests use: ${missing.join(', ')}`);
    if (present.length > 0) expect(said).toContain('running as root: apk add --no-cache redis');
    if (manager === 'apt-get') expect((await setUp(...options)).called).toEqual([]);
  },
);

test.each<[string, string[], () => void, string]>([
  [
    'an option that is none',
    ['--test'],
    () => undefined,
    'unknown option --test: there is only --tests, for what only the tests use',
  ],
  [
    'with a Node.js that is too old',
    [],
    () => quietProgram('node', '[ "$1" = --version ] && echo v18.20.8 && exit; exit 1'),
    'Node.js v18.20.8 is too old: install version 20.19 or newer, then run this again',
  ],
  [
    'where npm fails',
    [],
    () => {
      program('redis-server');
      program('npm', 'exit 1');
    },
    'npm ci failed (see above); to compile SQLite it needs python3, make and a C++ compiler',
  ],
  [
    'where a tool of the tests cannot be installed',
    ['--tests'],
    () => {
      program('redis-server');
      program('dnf', `${puts(...files.filter((file) => file !== 'faketime'))}; exit 1`);
    },
    'still missing: libfaketime; install what you can, for the tests that use it fail without it',
  ],
])('what it cannot do it says in one line %s', async (_, options, lack, line) => {
  lack();
  expect(await setUp(...options)).toMatchObject({ code: 1, complained: [`setup: ${line}`] });
});

test('it is a script for any POSIX shell, asks for the version that the package asks for, and may be run', () => {
  const script = readFileSync('setup.sh', 'utf8');
  expect(script).toMatch(/^#!\/bin\/sh\n/);
  for (const shell of ['/bin/dash', '/bin/sh'])
    if (existsSync(shell)) execFileSync(shell, ['-n', 'setup.sh']);
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
  expect(script).toContain(`version ${engines.node.replace('>=', '')} or newer`);
});

test('a test that needs a tool names it where it is missing', () => {
  expect(() => needs('sh', 'no-such-tool')).toThrow('no-such-tool is missing: run ./setup.sh --tests');
  expect(libfaketime()).toMatch(/libfaketime/);
});
