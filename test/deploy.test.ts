/** The files in `deploy/`, held to the program that they run: no machine of ours can try them whole. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { describeSettings } from '../src/config.ts';
import { exitCodes } from '../src/errors.ts';

const read = (name: string) => readFileSync(join('deploy', name), 'utf8');
const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found);
const settings = describeSettings().map(({ name }) => name);
const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { bin: Record<string, string> };
const program = bin['market-mirror'] ?? '';

describe('the unit', () => {
  const unit = read('market-mirror.service');
  const value = (name: string) => matches(unit, new RegExp(`^${name}=(.*)$`, 'gm'));

  test('starts the program that the package has', () => {
    expect(value('ExecStart')).toEqual([`/usr/bin/node /opt/market-mirror/${program} start`]);
  });

  test('sets only settings that there are, and hands over the key that it loads', () => {
    const environment = value('Environment').map((line) => line.split('='));
    for (const [name = ''] of environment) expect(settings).toContain(name);
    const [credential = ''] = value('LoadCredential');
    expect(environment).toContainEqual(['MARKET_API_KEY_FILE', `%d/${credential.split(':')[0]}`]);
  });

  test('waits for the daemon to be ready, lets its helper speak for it, and watches it', () => {
    expect([value('Type'), value('NotifyAccess'), value('WatchdogSec')]).toEqual([
      ['notify'],
      ['all'],
      ['2min'],
    ]);
  });

  test('does not try again what trying again cannot mend', () => {
    const { usage, disk, config } = exitCodes;
    expect(value('RestartPreventExitStatus')).toEqual([`${usage} ${disk} ${config}`]);
  });
});

describe('the image', () => {
  const image = read('Dockerfile');
  const context = read('Dockerfile.dockerignore');

  test('is built from what is there, and from nothing else', () => {
    const [all, ...allowed] = context.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(all).toBe('*');
    for (const path of allowed) expect(existsSync(path.slice(1)), path).toBe(true);
    // What the build reads: the files of the TypeScript project, and what npm looks at.
    const { include } = JSON.parse(readFileSync('tsconfig.build.json', 'utf8')) as { include: string[] };
    expect(allowed).toEqual(
      expect.arrayContaining([...include, 'package-lock.json'].map((path) => `!${path}`)),
    );
  });

  test('holds all that the package ships, and runs its program as a user without rights', () => {
    const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] };
    const copied = matches(image, /^COPY --from=build \/opt\/market-mirror\/(\S+)/gm);
    expect(copied).toEqual(expect.arrayContaining([...files, 'node_modules', 'package.json']));
    expect(image).toContain(`ln -s /opt/market-mirror/${program} /usr/local/bin/market-mirror`);
    expect(matches(image, /^USER (.*)$/gm)).toEqual(['node']);
    expect(image).toMatch(/^ENTRYPOINT \["tini", "--", "market-mirror"\]\nCMD \["start"\]$/m);
  });
});

describe('the composition', () => {
  const compose = read('compose.yaml');

  test('sets only settings that there are, and the key as a file that is a secret', () => {
    const [environment = ''] = matches(compose, /environment:\n((?: {6}\S.*\n)+)/g);
    const names = matches(environment, /^ +(\w+):/gm);
    expect(names).toHaveLength(3);
    for (const name of names) expect(settings).toContain(name);
    expect(environment).toContain('MARKET_API_KEY_FILE: /run/secrets/market-api.key');
    expect(compose).toMatch(/^secrets:\n {2}market-api\.key:\n/m);
    expect(existsSync(join('deploy', /dockerfile: deploy\/(.*)/.exec(compose)?.[1] ?? 'none'))).toBe(true);
  });

  test('brings a Redis that evicts nothing and keeps a file', () => {
    expect(compose).toContain('--appendonly, "yes"');
    expect(compose).toContain('--maxmemory-policy, noeviction');
  });
});

test('docs/operations.md names every file', () => {
  const page = readFileSync('docs/operations.md', 'utf8');
  for (const name of ['market-mirror.service', 'Dockerfile', 'compose.yaml'])
    expect(page).toContain(`(../deploy/${name})`);
});
