/** The files in `deploy/`, held to the program that they run: no machine of ours can try them whole. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { exitCodes } from '../src/base/errors.ts';
import { allSettings, scheduleSetting } from '../src/config/settings.ts';

const read = (name: string) => readFileSync(join('deploy', name), 'utf8');
const settings = [...allSettings, scheduleSetting].map(({ name }) => name);
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  bin: Record<string, string>;
  files: string[];
};
const program = `/opt/market-mirror/${manifest.bin['market-mirror']}`;

describe('the unit', () => {
  const { Service = {} } = unitOf(read('market-mirror.service'));
  const environment = new Map(
    (Service['Environment'] ?? []).map((line) => line.split('=', 2) as [string, string]),
  );

  test('starts the program that the package has', () => {
    expect(Service['ExecStart']).toEqual([`/usr/bin/node ${program} start`]);
  });

  test('sets only settings that there are, and hands over the key that it loads', () => {
    expect(settings).toEqual(expect.arrayContaining([...environment.keys()]));
    const [credential = ''] = Service['LoadCredential'] ?? [];
    expect(environment.get('MARKET_API_KEY_FILE')).toBe(`%d/${credential.split(':')[0]}`);
  });

  test('keeps the mirror in its own folder, which it may write to as its only one', () => {
    expect(environment.get('MIRROR_DIR')).toBe(`%S/${Service['StateDirectory']}`);
    expect(Service).toMatchObject({
      ProtectSystem: ['strict'],
      StateDirectoryMode: ['0700'],
      UMask: ['0077'],
    });
  });

  test('waits for the daemon to be ready, lets its helper speak for it, and watches it', () => {
    expect(Service).toMatchObject({ Type: ['notify'], NotifyAccess: ['all'], WatchdogSec: ['2min'] });
  });

  test('lets no memory, which holds the key, come into a file, and neither does the composition', () => {
    expect(Service['LimitCORE']).toEqual(['0']);
    expect(parse(read('compose.yaml'))).toMatchObject({ services: { mirror: { ulimits: { core: 0 } } } });
  });

  test('does not try again what trying again cannot mend', () => {
    const { usage, disk, config } = exitCodes;
    expect(Service['RestartPreventExitStatus']).toEqual([`${usage} ${disk} ${config}`]);
  });
});

describe('the composition', () => {
  const { services, secrets } = parse(read('compose.yaml')) as Composition;
  const { mirror, redis } = services;

  test('sets only settings that there are, and the key as a file that is a secret', () => {
    const { environment = {}, build, secrets: given = [] } = mirror;
    expect(settings).toEqual(expect.arrayContaining(Object.keys(environment)));
    const [key = ''] = given;
    expect(environment['MARKET_API_KEY_FILE']).toBe(`/run/secrets/${key}`);
    expect(Object.keys(secrets)).toEqual([key]);
    expect(environment['REDIS_URL']).toMatch(/^redis:\/\/redis:6379\b/);
    expect(existsSync(join('deploy', build.context, build.dockerfile))).toBe(true);
  });

  test('brings a Redis that evicts nothing, and keeps nothing that could be lost', () => {
    const [server, ...options] = redis.command;
    const pairs = options.flatMap((name, at) => (at % 2 === 0 ? [[name, options[at + 1]]] : []));
    expect(server).toBe('redis-server');
    expect(Object.fromEntries(pairs)).toMatchObject({
      '--appendonly': 'no',
      '--maxmemory-policy': 'noeviction',
    });
    expect(redis.volumes).toBeUndefined();
  });
});

/** The sections of a unit, with every value of each of their settings. */
function unitOf(text: string): Record<string, Record<string, string[]>> {
  const sections: Record<string, Record<string, string[]>> = {};
  let section: Record<string, string[]> = {};
  for (const line of text.split('\n')) {
    const [, header] = /^\[(.*)\]$/.exec(line) ?? [];
    const [, name, value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (header) {
      section = {};
      sections[header] = section;
    } else if (name) section[name] = [...(section[name] ?? []), value];
  }
  return sections;
}

type Composition = {
  services: {
    mirror: {
      build: { context: string; dockerfile: string };
      environment?: Record<string, string>;
      secrets?: string[];
    };
    redis: { command: string[]; volumes: string[] };
  };
  secrets: Record<string, unknown>;
};
