import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { examineSettings, forCommands, forService, readConfig, readServeConfig } from '../../src/config.ts';
import { runMain } from '../helpers/main.ts';

const HOUR = 3_600_000;
const jobs = { 'ai-signals': 'every 2m', news: 'every 5m' };
const serve = (settings: Record<string, string>) => readServeConfig(settings, jobs).serve;
const tls = { MIRROR_SERVE_TLS_CERT: '/etc/mirror/tls.crt', MIRROR_SERVE_TLS_KEY: '/etc/mirror/tls.key' };

describe('the settings of the service', () => {
  test('need neither address nor key of the API, and bound nothing by themselves', () => {
    const { serve, schedules } = readServeConfig({}, jobs);
    expect(serve).toEqual({
      address: undefined,
      maxAgeMs: {},
      tls: undefined,
      hosts: [],
      trusted: [],
      query: false,
      page: 'token',
    });
    expect(Object.keys(schedules)).toEqual(['ai-signals', 'news']);
  });

  test('are taken as given', () => {
    expect(
      serve({
        ...tls,
        MIRROR_SERVE: '0.0.0.0:443',
        MIRROR_SERVE_MAX_AGE: '1h, news=15m',
        MIRROR_SERVE_HOSTS: 'Mirror.Example.com,[2001:DB8::1],10.0.0.9',
        MIRROR_SERVE_TRUST: '10.0.0.7, 192.0.2.0/24,2001:DB8::/32',
        MIRROR_SERVE_QUERY: 'on',
      }),
    ).toEqual({
      address: { host: '0.0.0.0', port: 443 },
      maxAgeMs: { 'ai-signals': HOUR, news: HOUR / 4 },
      tls: { certFile: '/etc/mirror/tls.crt', keyFile: '/etc/mirror/tls.key' },
      hosts: ['mirror.example.com', '2001:db8::1', '10.0.0.9'],
      trusted: ['10.0.0.7', '192.0.2.0/24', '2001:db8::/32'],
      query: true,
      page: 'token',
    });
  });

  test('bound the age of every dataset, or of those that are named', () => {
    expect(serve({ MIRROR_SERVE_MAX_AGE: '2h' }).maxAgeMs).toEqual({
      'ai-signals': 2 * HOUR,
      news: 2 * HOUR,
    });
    expect(serve({ MIRROR_SERVE_MAX_AGE: 'news=90s' }).maxAgeMs).toEqual({ news: 90_000 });
  });

  test.each([
    ['127.0.0.1:4020', { host: '127.0.0.1', port: 4020 }],
    ['[::1]:4020', { host: '::1', port: 4020 }],
  ])('let it listen on loopback without TLS: %s', (text, address) => {
    expect(serve({ MIRROR_SERVE: text }).address).toEqual(address);
  });

  test('let it listen elsewhere behind a proxy that is named', () => {
    expect(serve({ MIRROR_SERVE: '10.0.0.2:80', MIRROR_SERVE_TRUST: '10.0.0.1' }).address?.host).toBe(
      '10.0.0.2',
    );
  });

  test.each([
    [{ MIRROR_SERVE: 'localhost' }, /^MIRROR_SERVE is not host:port, such as 127/],
    [{ MIRROR_SERVE: '::1:4020' }, /^MIRROR_SERVE is not host:port/],
    [{ MIRROR_SERVE: '0.0.0.0:80' }, /^0\.0\.0\.0 is not loopback.*: set MIRROR_SERVE_TLS_CERT and/],
    [{ MIRROR_SERVE: '127.0.0.1.example.com:80' }, /is not loopback/],
    [{ MIRROR_SERVE_TLS_CERT: '/c' }, /^MIRROR_SERVE_TLS_CERT is set without MIRROR_SERVE_TLS_KEY: set both/],
    [{ MIRROR_SERVE_MAX_AGE: 'news' }, /^MIRROR_SERVE_MAX_AGE holds 'news', which is no age/],
    [{ MIRROR_SERVE_MAX_AGE: '1h,2h' }, /^MIRROR_SERVE_MAX_AGE says twice how old data may be/],
    [
      { MIRROR_SERVE_MAX_AGE: 'nwes=1h' },
      /^MIRROR_SERVE_MAX_AGE names no job with 'nwes' \(did you mean news\?\)/,
    ],
    [{ MIRROR_SERVE_HOSTS: 'a.example:80' }, /^MIRROR_SERVE_HOSTS holds 'a.example:80', which is no name/],
    [{ MIRROR_SERVE_TRUST: '10.0.0.0/33' }, /^MIRROR_SERVE_TRUST holds '10.0.0.0\/33', which/],
    [{ MIRROR_SERVE_TRUST: '0.0.0.0/0' }, /^MIRROR_SERVE_TRUST holds .*anybody could claim/],
    [
      { MIRROR_SERVE_PAGE: 'open', MIRROR_SERVE_TRUST: '127.0.0.1' },
      /^MIRROR_SERVE_PAGE is open, and MIRROR_SERVE_TRUST names a proxy: .* set MIRROR_SERVE_PAGE to token/,
    ],
    [
      { MIRROR_SERVE_PAGE: 'open', MIRROR_SERVE_HOSTS: 'mirror.example.com' },
      /^MIRROR_SERVE_PAGE is open, and MIRROR_SERVE_HOSTS names .* set MIRROR_SERVE_PAGE to token/,
    ],
  ] as const)('that are wrong end daemon and sync with 78 and one line: %j', async (wrong, line) => {
    expect(() => readServeConfig(wrong, jobs)).toThrow(line);
    const good = { MARKET_API_URL: 'https://api.example.com', MARKET_API_KEY: 'canary' };
    expect(() => readConfig({ ...good, ...wrong }, jobs)).toThrow(line);
    const { code, stdout, stderr } = await runMain(['sync'], { ...good, ...wrong }, systemClock);
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toMatch(/^market-mirror: [^\n]+\n$/);
  });
});

describe('doctor', () => {
  const found = (name: string, settings: Record<string, string>) =>
    examineSettings(settings, jobs).find((one) => one.name === name);
  const service = (settings: Record<string, string>) => found('service', settings);

  test('says whether the daemon runs the service, and what does not go together', () => {
    expect(service({})?.shown).toBe('not run by start');
    expect(service({ MIRROR_SERVE: '[::1]:4020' })?.shown).toBe('run by start on ::1, port 4020');
    expect(service({ MIRROR_SERVE: '0.0.0.0:80' })?.wrong?.message).toMatch(/^0\.0\.0\.0 is not loopback/);
    expect(service({ MIRROR_SERVE: 'nonsense' })).toBeUndefined();
  });

  test('names a certificate that cannot be read', () => {
    expect(found('certificate', tls)?.wrong?.message).toMatch(
      /^MIRROR_SERVE_TLS_CERT: \/etc\/mirror\/tls\.crt cannot be read \(ENOENT\)/,
    );
  });
});

describe('what programs that we start are told', () => {
  const secrets = {
    MARKET_API_KEY: 'canary',
    REDIS_URL: 'redis://:canary@redis',
    MIRROR_ON_CHANGE: 'canary',
    MIRROR_SHIP: 'postgres://u:canary@db/market',
    AWS_SECRET_ACCESS_KEY: 'canary',
    AWS_SESSION_TOKEN: 'canary',
  };
  const others = {
    PGPASSWORD: 'canary',
    NOTIFY_SOCKET: '/canary',
    CREDENTIALS_DIRECTORY: '/canary',
    UNHEARD_OF: 'canary',
  };
  const own = { MIRROR_SERVE: 'localhost:1', MIRROR_SCHEDULE_NEWS: 'off', LOG_LEVEL: 'warn' };
  const environment = { PATH: '/bin', ...secrets, ...others, ...own };
  const named = (list: string) =>
    readConfig({ ...needed, MIRROR_ON_CHANGE_ENV: list }, jobs).onChangeVariables;
  const needed = { MARKET_API_URL: 'https://api.example.com', MARKET_API_KEY: 'k' };

  test('of the service: general variables and its settings; what its .env file may set besides is set to nothing', () => {
    const told = forService(environment, '/srv/mirror');
    expect(JSON.stringify(told)).not.toContain('canary');
    expect(told).toMatchObject({ PATH: '/bin', ...own, MIRROR_DIR: '/srv/mirror' });
    const nothing = Object.fromEntries(Object.keys(secrets).map((name) => [name, '']));
    expect(told).toMatchObject({ ...nothing, MIRROR_SHIP_FILE: '', MARKET_API_KEY_FILE: '' });
    expect(Object.keys(told)).not.toEqual(expect.arrayContaining(['PGPASSWORD']));
  });

  test('of a command: general variables, this mirror, and what MIRROR_ON_CHANGE_ENV names', () => {
    const plain = { PATH: '/bin', MIRROR_DIR: '/srv/mirror', MIRROR_ON_CHANGE: '' };
    expect(forCommands(environment, '/srv/mirror')).toEqual(plain);
    expect(forCommands(environment, '/srv/mirror', named('AWS_*, UNHEARD_OF'))).toEqual({
      ...plain,
      AWS_SECRET_ACCESS_KEY: 'canary',
      AWS_SESSION_TOKEN: 'canary',
      UNHEARD_OF: 'canary',
    });
  });

  test('of a command: a secret setting of ours only where its whole name is written out', () => {
    expect(forCommands(environment, '/srv', named('M*'))).toEqual({
      PATH: '/bin',
      MIRROR_SERVE: 'localhost:1',
      MIRROR_SCHEDULE_NEWS: 'off',
      MIRROR_DIR: '/srv',
      MIRROR_ON_CHANGE: '',
    });
    expect(forCommands(environment, '/srv', named('MIRROR_SHIP'))).toMatchObject({
      MIRROR_SHIP: secrets.MIRROR_SHIP,
    });
  });

  test.each(['*', 'AWS_*,', 'A B', '1', 'A=b', 'AWS_**'])(
    'is refused where it names no variable: %s',
    (list) => {
      expect(() => named(list)).toThrow(
        /^MIRROR_ON_CHANGE_ENV holds '.*', which is neither the name of a variable/,
      );
    },
  );
});
