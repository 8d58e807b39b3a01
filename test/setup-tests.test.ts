/** setup.sh --tests on machines that lack what only the tests use. */

import { beforeEach, describe, expect, test } from 'vitest';
import { type BareMachine, bareMachine, placeOf } from './helpers/bare-machine.ts';
import { libfaketime, needs } from './helpers/tools.ts';

let { folder, bin, program, quietProgram, setUp } = {} as BareMachine;
const find = placeOf('find');

describe('with --tests it installs what only the tests use', () => {
  const programs = 'zsh fish python3 sqlite3 openssl ps script systemd-notify promtool chromium initdb'.split(
    ' ',
  );
  const install = (...tools: string[]) =>
    tools.map((tool) => `: > "${bin}/${tool}"; chmod +x "${bin}/${tool}"`).join('; ');
  /** Whether libfaketime is in its folder, to whom asks. */
  const faketime = (isThere: string) =>
    quietProgram('find', `case "$*" in *faketime*) ${isThere} ;; *initdb*) ;; *) exec ${find} "$@" ;; esac`);

  beforeEach(() => {
    ({ folder, bin, program, quietProgram, setUp } = bareMachine());
    program('redis-server');
    faketime(`[ ! -e "${bin}/faketime" ] || echo found`);
  });

  test('and only then', async () => {
    program('dnf');
    expect((await setUp()).called).toEqual(['npm ci --include=dev']);
  });

  test.each([
    [
      'dnf',
      'dnf install -y',
      'zsh fish python3 sqlite openssl procps-ng util-linux-script systemd libfaketime golang-github-prometheus chromium postgresql-server',
    ],
    [
      'apk',
      'apk add --no-cache',
      'zsh fish python3 sqlite openssl procps util-linux libfaketime prometheus chromium postgresql17',
    ],
    ['brew', 'brew install', 'zsh fish python sqlite openssl libfaketime prometheus chromium postgresql@17'],
  ])('with %s, all at once, and nothing the second time', async (manager, command, packages) => {
    program(manager, install(...programs, 'faketime'));
    const { code, said, called } = await setUp('--tests');
    expect([code, called]).toEqual([0, [`${command} ${packages}`, 'npm ci --include=dev']]);
    expect(said[0]).toBe(
      'installing what only the tests use: zsh, fish, python3, sqlite3, openssl, ps, script, systemd-notify, libfaketime, promtool, chromium, initdb',
    );
    expect((await setUp('--tests')).called).toEqual([]);
  });

  test('with apt-get, of whose package prometheus only promtool is taken, so that no service starts', async () => {
    program('rm');
    quietProgram('mktemp', `echo "${folder}/src"`);
    program(
      'apt-get',
      `case "$*" in *prometheus) : > prometheus_1.deb ;; *install*) ${install(...programs.filter((tool) => tool !== 'promtool'), 'faketime')} ;; esac`,
    );
    program('dpkg-deb');
    program('install', install('promtool'));
    const { code, called } = await setUp('--tests');
    expect([code, called]).toEqual([
      0,
      [
        'apt-get update',
        'apt-get download prometheus',
        'dpkg-deb --extract prometheus_1.deb .',
        'install -D -m 755 usr/bin/promtool /usr/local/bin/promtool',
        `rm -rf ${folder}/src`,
        'install -D -m 644 /dev/stdin /etc/postgresql-common/createcluster.conf',
        'apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold zsh fish python3 sqlite3 openssl procps bsdutils systemd libfaketime chromium-headless-shell postgresql',
        'npm ci --include=dev',
      ],
    ]);
  });

  test('the missing ones alone, with sudo where the user is not root', async () => {
    quietProgram('id', 'echo 1000');
    for (const tool of programs.filter((tool) => tool !== 'fish')) program(tool);
    faketime('echo found');
    program('sudo', '"$@"');
    program('apk', install('fish'));
    const { code, said, called } = await setUp('--tests');
    expect([code, said[0]]).toEqual([0, 'installing what only the tests use: fish']);
    expect(called.slice(0, 2)).toEqual(['sudo apk add --no-cache fish', 'apk add --no-cache fish']);
  });

  test('and says what it could not', async () => {
    program('dnf', `${install(...programs)}; exit 1`);
    const { code, said, complained } = await setUp('--tests');
    expect(said).toContain('not everything could be installed (see above)');
    expect([code, complained]).toEqual([
      1,
      ['setup: still missing: libfaketime; install what you can, for the tests that use it fail without it'],
    ]);
  });

  test('and says so where nothing installs', async () => {
    for (const tool of programs.slice(1)) program(tool);
    faketime('echo found');
    expect(await setUp('--tests')).toMatchObject({
      code: 1,
      complained: [
        'setup: found no apt-get, dnf, apk or brew to install it with: install zsh, then run this again',
      ],
    });
  });

  test('each of which a test that needs it names where it is missing', () => {
    expect(() => needs('sh', 'no-such-tool')).toThrow('no-such-tool is missing: run ./setup.sh --tests');
    expect(libfaketime()).toMatch(/libfaketime/);
  });
});
