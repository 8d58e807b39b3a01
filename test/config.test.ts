import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../src/base/clock.ts';
import { examineSettings, readConfig, readLocalConfig } from '../src/config.ts';
import { runCli } from './helpers/cli.ts';
import { temporaryFolder } from './helpers/folder.ts';
import { runMain } from './helpers/main.ts';

const canary = 'canary-5e0b';
const DAY = 24 * 3_600_000;
const good = { MARKET_API_URL: 'https://api.example.com', MARKET_API_KEY: canary };
const jobs = { 'ai-signals': 'every 2m', news: '*/5 * * * *' };

describe('settings', () => {
  test('need no more than an address and a key', () => {
    const { key, ...rest } = readConfig(good, jobs);
    expect(key.current().reveal()).toBe(canary);
    expect(rest).toEqual({
      apiUrl: 'https://api.example.com',
      dir: resolve('data'),
      redisUrl: undefined,
      limits: { quota: null, rate: null, concurrency: null },
      schedules: { 'ai-signals': { every: 120_000 }, news: { cron: '*/5 * * * *' } },
      hints: { 'ai-signals': {}, news: {} },
      keep: { historyMs: Number.POSITIVE_INFINITY, recordsMs: 90 * DAY },
      serve: {
        address: undefined,
        maxAgeMs: {},
        tls: undefined,
        hosts: [],
        trusted: [],
        page: 'token',
        query: false,
      },
      logLevel: 'info',
    });
  });

  test('are taken as given', () => {
    const file = join(temporaryFolder(), 'key');
    writeFileSync(file, `${canary}\n`, { mode: 0o600 });
    const config = readConfig(
      {
        MARKET_API_URL: 'https://api.example.com/market/',
        MARKET_API_KEY_FILE: file,
        MIRROR_DIR: '/var/lib/mirror',
        REDIS_URL: 'rediss://user:password@redis.example.com:6380/2',
        MIRROR_SCHEDULE_AI_SIGNALS: 'every 30s',
        MIRROR_SCHEDULE_NEWS: 'off',
        MIRROR_KEY_NEWS: 'chain,token.address',
        MIRROR_ROWS_NEWS: 'data.results',
        MIRROR_VOLATILE_NEWS: 'views, stats.rank',
        MIRROR_VOLATILE_AI_SIGNALS: 'none',
        MIRROR_KEEP_RECORDS: 'forever',
        MIRROR_KEEP_HISTORY: '1y',
        MARKET_API_QUOTA: '1000/1d@06:30',
        MARKET_API_RATE: '5/1s',
        MARKET_API_CONCURRENCY: '2',
        LOG_LEVEL: 'debug',
      },
      jobs,
    );
    expect(config.key.current().reveal()).toBe(canary);
    expect(config).toMatchObject({
      apiUrl: 'https://api.example.com/market',
      dir: '/var/lib/mirror',
      redisUrl: 'rediss://user:password@redis.example.com:6380/2',
      schedules: { 'ai-signals': { every: 30_000 }, news: 'off' },
      hints: {
        'ai-signals': { volatile: [] },
        news: {
          key: [['chain'], ['token', 'address']],
          place: ['data', 'results'],
          volatile: [['views'], ['stats', 'rank']],
        },
      },
      keep: { recordsMs: Number.POSITIVE_INFINITY, historyMs: 365.25 * DAY },
      limits: {
        quota: { calls: 1_000, periodMs: DAY, startMs: 6.5 * 3_600_000 },
        rate: { calls: 5, periodMs: 1_000, startMs: null },
        concurrency: 2,
      },
      logLevel: 'debug',
    });
  });

  test.each(['http://localhost:8080', 'http://127.0.0.1', 'http://127.9.8.7:1/api', 'http://[::1]:8080'])(
    'may name an API on this machine without TLS: %s',
    (url) => {
      expect(readConfig({ ...good, MARKET_API_URL: url }, jobs).apiUrl).toBe(url);
    },
  );

  test('that are empty count as unset', () => {
    const config = readConfig({ ...good, MARKET_API_KEY_FILE: '', MIRROR_DIR: '', MIRROR_OTHER: '' }, jobs);
    expect(config.dir).toBe(resolve('data'));
  });

  test('of this machine need neither address nor key', () => {
    expect(readLocalConfig({ MIRROR_DIR: '/var/lib/mirror' })).toEqual({
      dir: '/var/lib/mirror',
      logLevel: 'info',
    });
  });
});

describe('a wrong setting ends the command with exit code 78 and one line that names it', () => {
  const exposed = join(tmpdir(), `mirror-exposed-key-${process.pid}`);

  test.each([
    [{ MARKET_API_URL: '' }, /^MARKET_API_URL is missing: set it/],
    [{ MARKET_API_URL: 'api.example.com' }, /^MARKET_API_URL is not an address such as https/],
    [{ MARKET_API_URL: 'http://api.example.com' }, /^MARKET_API_URL uses http:\/\//],
    [{ MARKET_API_URL: `https://me:${canary}@a.example` }, /^MARKET_API_URL holds a user/],
    [{ MARKET_API_URL: `https://a.example/?key=${canary}` }, /^MARKET_API_URL holds a query/],
    [{ MARKET_API_KEY: '' }, /^MARKET_API_KEY is missing: set it, or MARKET_API_KEY_FILE/],
    [{ MARKET_API_KEY_FILE: '/run/key' }, /^MARKET_API_KEY and MARKET_API_KEY_FILE are both set/],
    [{ MARKET_API_KEY: `${canary}\nX: 1` }, /^MARKET_API_KEY is empty or holds a space, a line/],
    [
      { MARKET_API_KEY: '', MARKET_API_KEY_FILE: '/none/key' },
      /^MARKET_API_KEY_FILE: what it names .* cannot be read/,
    ],
    [{ MARKET_API_KEY: '', MARKET_API_KEY_FILE: exposed }, /^MARKET_API_KEY_FILE: .*chmod 600/],
    [{ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, /^NODE_TLS_REJECT_UNAUTHORIZED=0 would hand the key/],
    [{ REDIS_URL: `http://:${canary}@redis` }, /^REDIS_URL is not of the form redis:/],
    [{ MARKET_API_QUOTA: '1000' }, /^MARKET_API_QUOTA is no quota such as 1000\/1d/],
    [{ MARKET_API_QUOTA: '0/1d' }, /^MARKET_API_QUOTA is no quota/],
    [{ MARKET_API_QUOTA: '1000/1 M' }, /^MARKET_API_QUOTA is no quota/],
    [{ MARKET_API_RATE: '5/0.5ms' }, /^MARKET_API_RATE is no rate/],
    [{ MARKET_API_QUOTA: '1000/30d@00:00' }, /^MARKET_API_QUOTA begins anew at a time of the day/],
    [{ MARKET_API_RATE: '5/1s@00:00' }, /^MARKET_API_RATE is no rate such as 5\/1s/],
    [{ MARKET_API_CONCURRENCY: '0' }, /^MARKET_API_CONCURRENCY is no number of calls/],
    [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL is not one of fatal, error, warn, info/],
    [{ MIRROR_SCHEDULE_NEWS: 'hourly' }, /^MIRROR_SCHEDULE_NEWS: a schedule is "every 2m", a/],
    [
      { MIRROR_SCHEDULE_NEW: 'off' },
      /^MIRROR_SCHEDULE_NEW names no job \(did you mean MIRROR_SCHEDULE_NEWS\b.*known are .*_NEWS/,
    ],
    [{ MIRROR_ROWS_NEWS: 'a..b' }, /^MIRROR_ROWS_NEWS holds 'a..b', which is no path such as data/],
    [
      { MIRROR_DRI: '/srv' },
      /^MIRROR_DRI is no setting \(did you mean MIRROR_DIR\?\): correct or unset it\n$/,
    ],
    [
      { MARKET_API_TOKEN: canary },
      /^MARKET_API_TOKEN is no setting \(did you mean .*\): correct or unset it\n$/,
    ],
  ] as const)('%j', async (wrong, line) => {
    writeFileSync(exposed, canary);
    chmodSync(exposed, 0o644);
    onTestFinished(() => rmSync(exposed));
    const { code, stdout, stderr } = await runMain(['sync'], { ...good, ...wrong }, systemClock);
    expect(code).toBe(78);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^market-mirror: [^\n]+\n$/);
    expect(stderr.replace('market-mirror: ', '')).toMatch(line);
    expect(stderr).not.toContain(canary);
  });

  test('of a reading command too', async () => {
    const { code, stderr } = await runMain(['status'], { MIRROR_DRI: '/srv' }, systemClock);
    expect([code, stderr]).toEqual([
      78,
      expect.stringMatching(/^market-mirror: MIRROR_DRI is no setting[^\n]*\n$/),
    ]);
  });
});

test('a .env file in the working folder holds settings, and the environment goes before them', async () => {
  const folder = temporaryFolder();
  const file = join(folder, '.env');
  writeFileSync(file, `MARKET_API_URL="http://api.example.com"\nMARKET_API_KEY=${canary}\n`, { mode: 0o600 });
  const ended = async (environment: Record<string, string> = {}) => {
    const { code, stderr } = await runCli(['sync'], environment, folder);
    return [code, stderr];
  };
  expect(await ended()).toEqual([78, expect.stringContaining('MARKET_API_URL uses http://')]);
  const overruled = await ended({ MARKET_API_URL: 'nonsense' });
  expect(overruled).toEqual([78, expect.stringContaining('is not an address')]);
});

test('an address is shown as it was written, and a letter that looks like another is spelt out', () => {
  const shown = (name: string, text: string) =>
    examineSettings({ [name]: text }, {}).find((found) => found.name === name)?.shown;
  const plain = 'https://API.example.com/v1/';
  expect(shown('MARKET_API_URL', plain)).toBe(plain);
  // The first letter is Cyrillic.
  const lookalike = '\u0430pi.example.com';
  expect(shown('MARKET_API_URL', `https://${lookalike}`)).toBe(
    'https://xn--pi-6kc.example.com (mind: it is written with \\u{430}, not with letters of ASCII)',
  );
  expect(shown('REDIS_URL', `redis://${lookalike}:6379`)).toBe('redis://\\u{430}pi.example.com:6379');
});
