import { chmodSync, chownSync, closeSync, existsSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { faults, type ModelOptions, when } from '../../model-api/index.ts';
import type { Diagnosis } from '../../src/commands/doctor.ts';
import { Database } from '../../src/store/sqlite.ts';
import { runMain } from '../helpers/main.ts';
import { CANARY, read, setupSync } from '../helpers/sync-bench.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';
import { redisServer } from '../queue/setup.ts';

/** By their jobs, as the doctor asks them. */
const endpoints = ['usage', 'ai-signals', 'meme-signals', 'news', 'smart-wallets'];

/** In a working folder of its own. @param aheadMs what the clock of this machine is ahead of the API's. */
async function setup(options: ModelOptions = {}, aheadMs = 0) {
  // The model's answers are dated by the real clock, which goes on while a busy machine keeps the doctor waiting.
  const passed = virtualClock(0);
  const clock = { ...passed, now: () => Date.now() + aheadMs + passed.now() };
  const bench = await setupSync({ rows: 20, ...options }, clock);
  const home = process.cwd();
  process.chdir(bench.cwd);
  onTestFinished(() => process.chdir(home));
  const doctor = async (args: string[] = [], changes: Record<string, string> = {}) => {
    const ended = await bench.run(['doctor', '--json', ...args], changes);
    expect(ended.stdout + ended.stderr).not.toContain(CANARY);
    const { checks, ...diagnosis } = JSON.parse(ended.stdout) as Diagnosis;
    expect(diagnosis).toEqual({ version: 1, at: expect.stringMatching(/Z$/), exitCode: ended.code });
    const wrong = checks.filter(({ level }) => level === 'warning' || level === 'problem');
    // What to do stands beside what is wrong, or in the same sentence.
    for (const { advice, message } of wrong)
      expect(advice ?? message).toMatch(advice ? /./ : /[:;] \w|of the form/);
    const check = (name: string) => checks.find((found) => found.name === name);
    return { ...ended, check, troubles: wrong.map(({ name, level }) => `${level} ${name}`) };
  };
  return { ...bench, doctor };
}

describe('where all is well', () => {
  test('says so in a line, or with --all in a line for each thing, and asks every endpoint once, for one row', async () => {
    const { run, model, file } = await setup();
    const { code, stdout, stderr } = await run(['doctor']);
    expect([code, stderr]).toEqual([
      0,
      'each endpoint is called once, at most 5 calls; --offline makes none\n',
    ]);
    expect(stdout).toMatch(/^\d+ checks ok, \d skipped \(--all lists them\); next: market-mirror sync\n$/);
    const all = await run(['doctor', '--offline', '--all']);
    expect(all.stdout).toMatch(/^ok {7}MARKET_API_KEY +is set \(not shown\)$/m);
    expect(all.stdout).toMatch(/\n\d+ checks ok, \d skipped\n$/);
    expect(all.stdout).not.toContain(CANARY);
    expect(stdout).not.toContain(CANARY);
    expect(model.calls).toHaveLength(endpoints.length);
    expect(read<{ url: string }>(file, 'SELECT url FROM requests').map(({ url }) => url)).toEqual(
      endpoints.map((name) => `/api/v1/${name}${name === 'usage' ? '' : '?limit=1'}`),
    );
  });

  test('makes no call and no mirror with --offline, and asks nothing of a dataset that is switched off', async () => {
    const { doctor, model, file } = await setup();
    const { code, stderr, check } = await doctor(['--offline']);
    expect([code, stderr, model.calls.length, existsSync(file)]).toEqual([0, '', 0, false]);
    expect(check('api')).toMatchObject({ level: 'skipped', message: 'not asked: --offline' });
    expect((await doctor([], { MIRROR_SCHEDULE_NEWS: 'off' })).check('news')?.level).toBe('skipped');
    expect(model.callsTo('/api/v1/news')).toEqual([]);
  });
});

describe('settings', () => {
  test('that are wrong have a line each, and nothing is asked: 78', async () => {
    const { doctor, model } = await setup();
    const { code, stderr, troubles, check } = await doctor([], {
      MARKET_API_URL: 'http://api.example.com',
      MARKET_API_KEY: `${CANARY}\nX: 1`,
      REDIS_URL: `http://:${CANARY}@redis`,
      MIRROR_KEEP_HISTORY: 'long',
      MIRROR_SCHEDULE_NEWS: 'hourly',
      MIRROR_DRI: '/srv',
    });
    expect([code, stderr]).toEqual([78, '']);
    expect(troubles.sort()).toEqual(
      [
        'MARKET_API_KEY',
        'MARKET_API_URL',
        'MIRROR_KEEP_HISTORY',
        'REDIS_URL',
        'environment',
        'schedules',
      ].map((name) => `problem ${name}`),
    );
    expect(check('MARKET_API_URL')?.message).toMatch(/^uses http:\/\/, which would show the key/);
    expect(model.calls).toEqual([]);
  });

  test.each(['MARKET_API_KEY_FILE', 'MIRROR_SHIP_FILE', 'MIRROR_NOTIFY_FILE'])(
    '%s that is a folder is a problem: 78',
    async (name) => {
      const { doctor, cwd } = await setup();
      chmodSync(cwd, 0o755);
      const { code, stdout } = await doctor(['--offline'], { MARKET_API_KEY: '', [name]: cwd });
      expect([code, stdout]).toEqual([78, expect.stringContaining(`${cwd} cannot be read (EISDIR)`)]);
    },
  );

  test('show no password', async () => {
    const { doctor } = await setup();
    const { check } = await doctor(['--offline'], { REDIS_URL: `redis://user:${CANARY}@127.0.0.1:1/2` });
    expect(check('REDIS_URL')?.message).toBe('redis://127.0.0.1:1/2');
    // Not of the form; the bench looks for the canary in all that is said.
    for (const rest of [`127.0.0.1:1/2?password=${CANARY}`, `user:12/${CANARY}@127.0.0.1:1`, `#${CANARY}`])
      expect((await doctor(['--offline'], { REDIS_URL: `redis://${rest}` })).code).toBe(78);
    const told = await doctor(['--offline'], { MIRROR_ON_CHANGE: `notify --token ${CANARY}` });
    expect(told.check('MIRROR_ON_CHANGE')?.message).toBe('is set (not shown)');
  });
});

test.each<[string, (file: string) => void, number, string]>([
  ['damaged', damage, 74, 'damaged'],
  ['newer', (file) => alter(file, 'UPDATE __drizzle_migrations SET created_at = 9e15'), 78, 'newer'],
])(
  'a database that is %s is named and left as it is, and no call is made',
  async (_, spoil, exitCode, words) => {
    const { doctor, sync, file, model } = await setup();
    await sync('news');
    const before = model.calls.length;
    spoil(file);
    const { code, check } = await doctor();
    const message = expect.stringContaining(words);
    expect([code, check('database')]).toMatchObject([exitCode, { level: 'problem', message }]);
    expect([check('api')?.level, model.calls.length]).toEqual(['skipped', before]);
  },
);

describe('files', () => {
  test('that others may read: a warning, and for a key in .env a problem: 78', async () => {
    const { doctor, sync, cwd, file } = await setup();
    await sync('news');
    chmodSync(join(cwd, 'data'), 0o755);
    chmodSync(file, 0o644);
    writeFileSync('.env', `MARKET_API_KEY=${CANARY}\n`);
    chmodSync('.env', 0o644);
    const { code, troubles } = await doctor(['--offline']);
    expect([code, troubles]).toEqual([78, ['problem .env', 'warning folder', 'warning files']]);
    for (const name of ['.env', 'folder', 'files']) {
      const [command, mode = '', ...files] = ((await doctor(['--offline'])).check(name)?.advice ?? '').split(
        ' ',
      );
      expect(command).toBe('chmod');
      for (const each of files) chmodSync(each, Number.parseInt(mode, 8));
    }
    expect((await doctor(['--offline'])).troubles).toEqual([]);
  });

  test.each([
    ['MIRROR_SHIP=postgres://mirror:canary@db/market', 'the password of Postgres'],
    ['REDIS_URL=redis://:canary@redis', 'the password of Redis'],
  ])('.env that every user may read is a problem, whichever secret it holds: %s', async (text, secret) => {
    const { doctor } = await setup();
    writeFileSync('.env', `${text}\n`);
    chmodSync('.env', 0o644);
    const { check, stdout } = await doctor(['--offline']);
    expect(check('.env')).toMatchObject({
      level: 'problem',
      message: `holds ${secret}, and every user may use it (0644)`,
      advice: 'chmod 600 .env',
    });
    expect(stdout).not.toContain('canary');
    chmodSync('.env', 0o640);
    expect((await doctor(['--offline'])).check('.env')?.level).toBe('ok');
    writeFileSync('.env', 'MIRROR_SHIP=postgres://mirror@db/market\nREDIS_URL=redis://redis\n');
    chmodSync('.env', 0o644);
    expect((await doctor(['--offline'])).check('.env')?.level).toBe('ok');
  });

  test.runIf(process.getuid?.() === 0)('of another user than the folder: 74', async () => {
    const { doctor, sync, file } = await setup();
    await sync('news');
    chownSync(file, 65_534, 65_534);
    const { code, check } = await doctor(['--offline']);
    expect([code, check('files')?.advice]).toEqual([74, `chown 0 ${file}`]);
  });
});

describe('a Redis of the user', () => {
  test('that takes writes is well; with a wrong password: 78', async () => {
    const { doctor } = await setup();
    const { url } = await redisServer({ password: CANARY });
    const { code, troubles, check } = await doctor(['--offline'], { REDIS_URL: url });
    expect([code, troubles]).toEqual([0, []]);
    expect(check('redis')?.message).toMatch(/^(Redis|Valkey) [\d.]+ takes writes; /);
    const refused = await doctor(['--offline'], { REDIS_URL: url.replace(CANARY, 'wrong') });
    expect([refused.code, refused.check('redis')?.message]).toEqual([
      78,
      'it refuses the user name or password',
    ]);
  });

  test('that is not there: 75', async () => {
    const { doctor } = await setup();
    const { code, check } = await doctor(['--offline'], { REDIS_URL: 'redis://127.0.0.1:1' });
    expect([code, check('redis')?.message]).toEqual([
      75,
      expect.stringMatching(/^it takes no writes \(.*ECONNREFUSED/),
    ]);
  });

  test('that is not set, and no server to run either: 78', async () => {
    const { doctor } = await setup();
    const { code, troubles } = await doctor(['--offline'], { PATH: '/nowhere' });
    expect([code, troubles]).toEqual([78, ['problem redis']]);
  });
});

/** What is wrong, settings, exit code, troubles, calls, and what is said of one endpoint. */
type Case = [
  title: string,
  spoil: (bench: Awaited<ReturnType<typeof setup>>) => unknown,
  changes: Record<string, string>,
  outcome: [code: number, troubles: string[], calls: number],
  of: string,
  said: RegExp,
];

const answering = (fault: Parameters<typeof when>[1]) => (bench: Awaited<ReturnType<typeof setup>>) =>
  bench.model.faults.push(when({}, fault));
const gone = { MARKET_API_URL: 'http://127.0.0.1:1' };

describe('an API', () => {
  test.each<Case>([
    [
      'that refuses the key is asked once: 77',
      ({ key }) => Object.assign(key, { active: false }),
      {},
      [77, ['problem usage'], 1],
      'usage',
      /refused the key.*X-Request-ID/,
    ],
    [
      'that wants a scope is named with the scope and the ways out: 77',
      ({ key }) => Object.assign(key, { scopes: ['news:read', 'ai-signals:read', 'smart-wallets:read'] }),
      {},
      [77, ['problem meme-signals'], 5],
      'meme-signals',
      /scope meme:read.*MIRROR_SCHEDULE_MEME_SIGNALS=off/,
    ],
    [
      'that is at a limit is asked no further, which is no failure: 0',
      answering(faults.refuse(429, { retryAfter: '60' })),
      {},
      [0, ['warning usage'], 1],
      'news',
      /not asked: waiting until .*Z: the API asks to wait$/,
    ],
    [
      'that is not there is tried once: 69',
      () => undefined,
      gone,
      [69, ['problem usage'], 0],
      'news',
      /not asked/,
    ],
    [
      'that answers with something else has each endpoint told: 65',
      answering(faults.html()),
      {},
      [65, endpoints.map((job) => `problem ${job}`), 5],
      'news',
      /./,
    ],
  ])('%s', async (_, spoil, changes, outcome, of, said) => {
    const bench = await setup();
    spoil(bench);
    const { code, troubles, check } = await bench.doctor([], changes);
    expect([code, troubles, bench.model.calls.length]).toEqual(outcome);
    expect(`${check(of)?.advice ?? ''} ${check(of)?.message}`).toMatch(said);
  });

  test.each([
    ['a little', 60_000, 'warning', 0, /^is \d\d s ahead of the API's$/],
    ['much', -3_600_000, 'problem', 78, /^is 3[56]\d\d s behind the API's$/],
  ] as const)('whose clock differs %s from ours', async (_, aheadMs, level, exitCode, message) => {
    const { doctor } = await setup({}, aheadMs);
    const { code, check } = await doctor();
    expect(code).toBe(exitCode);
    expect(check('clock')).toMatchObject({ level, message: expect.stringMatching(message) });
  });
});

test('Ctrl-C ends it without a word of failure: 75', async () => {
  const { environment, clock, model } = await setup();
  const stop = new AbortController();
  model.beforeAnswer = () => stop.abort(new Error('stopped'));
  const { code, stderr } = await runMain(['doctor'], environment, clock, stop.signal);
  expect([code, stderr.includes('market-mirror:'), model.calls.length]).toEqual([75, false, 1]);
});

/** Overwrites a page in the middle. */
function damage(file: string): void {
  alter(file, 'PRAGMA wal_checkpoint(TRUNCATE)');
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(4_096, 0x5a), 0, 4_096, 4_096 * 4);
  closeSync(handle);
}

function alter(file: string, statement: string): void {
  const db = new Database(file);
  db.exec(statement);
  db.close();
}
