import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { parseEnv, stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Failure } from '../../src/base/errors.ts';
import { initCommand, renderEnvFile } from '../../src/commands/init.ts';
import { loadJobs } from '../../src/job/load.ts';
import { cliFile } from '../helpers/cli.ts';
import { runMain } from '../helpers/main.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';
import { until } from '../queue/setup.ts';

const CANARY = 'canary-key-51d0be';
const url = 'https://api.example.com';

function inFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'mm-init-'));
  const home = process.cwd();
  process.chdir(folder);
  onTestFinished(() => {
    process.chdir(home);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

async function init(args: string[] = [], environment: Record<string, string> = {}) {
  const ended = await runMain(['init', ...args], environment, virtualClock());
  expect(ended.stdout + ended.stderr).not.toContain(CANARY);
  return ended;
}

const written = () => parseEnv(readFileSync('.env', 'utf8'));

describe('without a terminal', () => {
  test('writes what the environment and the options say, for this user alone, and what comes next', async () => {
    inFolder();
    const { code, stderr } = await init(['--url', url], {
      MARKET_API_URL: 'https://other.example',
      MARKET_API_KEY: CANARY,
      MIRROR_SCHEDULE_NEWS: 'every 10m',
      HOME: '/home/somebody',
    });
    expect([code, stderr]).toEqual([
      0,
      `.env is written, for this user alone
taken from the environment: MARKET_API_KEY, MIRROR_SCHEDULE_NEWS
next: market-mirror doctor, then market-mirror sync
`,
    ]);
    expect(written()).toEqual({
      MARKET_API_URL: url,
      MARKET_API_KEY: CANARY,
      MIRROR_SCHEDULE_NEWS: 'every 10m',
    });
    expect(statSync('.env').mode & 0o777).toBe(0o600);
    expect(readdirSync('.')).toEqual(['.env']);
  });

  test('writes the settings without values where none are known, says so and which are needed, and fills them in later', async () => {
    inFolder();
    const empty = await init();
    expect([empty.code, written()]).toEqual([0, {}]);
    expect(empty.stderr).toBe(`.env is written, for this user alone, without any value
still to be set in it: MARKET_API_URL, and MARKET_API_KEY or MARKET_API_KEY_FILE
next: set it there, or by market-mirror init --url ADDRESS --key-file FILE; then market-mirror doctor
`);
    const template = readFileSync('.env', 'utf8');
    writeFileSync('key', CANARY, { mode: 0o600 });
    const filled = await init(['--url', url, '--key-file', 'key']);
    expect([filled.code, filled.stderr]).toEqual([
      0,
      `.env is filled in: MARKET_API_URL, MARKET_API_KEY_FILE; all else in it stays as it was
next: market-mirror doctor, then market-mirror sync
`,
    ]);
    expect(written()).toEqual({ MARKET_API_URL: url, MARKET_API_KEY_FILE: 'key' });
    const expected = template
      .replace('#MARKET_API_URL=', `MARKET_API_URL=${url}`)
      .replace('#MARKET_API_KEY_FILE=', 'MARKET_API_KEY_FILE=key');
    expect(readFileSync('.env', 'utf8')).toBe(expected);
    expect(statSync('.env').mode & 0o777).toBe(0o600);
  });

  test('fills in what is unset in a file that is there, keeps the rest to the letter, and is content with a complete one', async () => {
    inFolder();
    const text = `\uFEFF# mine\r\nMIRROR_DIR=mine # here\r\nexport MARKET_API_URL=\r\nPGPASSWORD='a #b "c"'\r\nLOG_LEVEL=`;
    writeFileSync('.env', text);
    const { code, stderr } = await init(['--url', url], { MARKET_API_KEY: CANARY, MIRROR_DIR: 'other' });
    expect([code, stderr]).toEqual([
      0,
      `.env is filled in: MARKET_API_KEY, MARKET_API_URL; all else in it stays as it was
taken from the environment: MARKET_API_KEY
next: market-mirror doctor, then market-mirror sync
`,
    ]);
    const filled = `${text.replace('export MARKET_API_URL=', `MARKET_API_URL=${url}`)}\r\nMARKET_API_KEY=${CANARY}\r\n`;
    expect(readFileSync('.env', 'utf8')).toBe(filled);

    const again = await init(['--url', 'https://other.example.com', '--key-file', 'key']);
    expect([again.code, again.stderr]).toEqual([
      0,
      `.env is there and stays as it is: there was nothing to fill in
not taken, since .env sets it already (--force replaces it): MARKET_API_URL, MARKET_API_KEY_FILE
next: market-mirror doctor, then market-mirror sync
`,
    ]);
    expect(readFileSync('.env', 'utf8')).toBe(filled);
  });

  test('takes no part of another value for a setting; --force writes the file anew, and keeps what it sets for other programs', async () => {
    inFolder();
    const others = { FTP_PROXY: 'http://proxy:3128', NOTE: 'two\n#MARKET_API_URL=\nlines' };
    const text = `MIRROR_DIR=mine\nFTP_PROXY=http://proxy:3128\nNOTE='two\n#MARKET_API_URL=\nlines'\n`;
    writeFileSync('.env', text);
    expect((await init(['--url', url])).code).toBe(0);
    expect(readFileSync('.env', 'utf8')).toBe(`${text}MARKET_API_URL=${url}\n`);
    expect((await init(['--url', url, '--force'])).code).toBe(0);
    expect(written()).toEqual({ MARKET_API_URL: url, ...others });
  });

  test.each<[string, string[], Record<string, string>, RegExp]>([
    ['a key with a line break', [], { MARKET_API_KEY: `${CANARY}\nX: 1` }, /^MARKET_API_KEY .* line break/],
    ['an address without TLS', ['--url', 'http://api.example.com'], {}, /^MARKET_API_URL uses http:\/\//],
    ['a key file that is not there', ['--key-file', '/none'], {}, /_FILE: \/none cannot be read/],
  ])('refuses %s and writes nothing: 78', async (_, args, environment, line) => {
    inFolder();
    const { code, stderr } = await init(args, environment);
    expect([code, stderr.replace('market-mirror: ', '')]).toEqual([78, expect.stringMatching(line)]);
    expect(readdirSync('.')).toEqual([]);
  });
});

/** Somebody at a terminal, who types each answer once its question is shown. */
async function initAtTerminal(answers: [question: string, typed: string][], environment = {}) {
  let shown = '';
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  const output = {
    isTTY: true,
    write(text: string) {
      shown += stripVTControlCharacters(text);
    },
  };
  const context = {
    environment,
    clock: virtualClock(),
    random: () => 0.5,
    stdout: output,
    stderr: output,
    signal: new AbortController().signal,
    hint: (text: string) => text,
    exit: () => undefined,
  };
  const ended = initCommand(context, stdin)
    .parseAsync([], { from: 'user' })
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  for (const [question, typed] of answers) {
    await until(question, () => shown.endsWith(question));
    stdin.write(typed);
  }
  const thrown = await ended;
  expect(shown + String(thrown)).not.toContain(CANARY);
  return { shown, thrown };
}

describe('at a terminal', () => {
  const address = 'such as https://api.example.com: ';
  const key = 'API key (not shown; Enter leaves it out): ';
  const learn = '; leave empty to learn it: ';
  const [quota, rate, concurrency] = ['at that time (UTC)', 'such as 5/1s', 'such as 2'].map(
    (of) => of + learn,
  ) as [string, string, string];
  const learnt: [string, string][] = [quota, rate, concurrency].map((question) => [question, '\r']);

  test('asks for the limits of the account, again where one is wrong, and writes those that are known', async () => {
    inFolder();
    const { shown } = await initAtTerminal([
      [address, `${url}\r`],
      [key, `${CANARY}\r`],
      [quota, 'many\r'],
      [quota, '1000/1d@00:00\r'],
      [rate, '\r'],
      [concurrency, '2\r'],
    ]);
    expect(shown).toContain('MARKET_API_QUOTA is no quota such as 1000/1d');
    expect(written()).toEqual({
      MARKET_API_URL: url,
      MARKET_API_KEY: CANARY,
      MARKET_API_QUOTA: '1000/1d@00:00',
      MARKET_API_CONCURRENCY: '2',
    });
  });

  test.each([
    ['a key that is pasted with a line break', `${CANARY}\rrest\r`, 'config'],
    ['Ctrl-C', `${CANARY}\u0003`, 'incomplete'],
    ['Ctrl-D', '\u0004', 'incomplete'],
  ])('writes nothing after %s', async (_, typed, kind) => {
    inFolder();
    const { thrown } = await initAtTerminal([
      [address, `${url}\r`],
      [key, typed],
    ]);
    expect(thrown).toBeInstanceOf(Failure);
    expect((thrown as Failure).kind).toBe(kind);
    expect(readdirSync('.')).toEqual([]);
  });

  test('of this machine, too, the key is not shown while it is typed', async () => {
    const cwd = inFolder();
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: cwd,
      TERM: 'dumb',
      NODE: process.execPath,
      CLI: cliFile(),
    };
    const child = spawn('script', ['-qec', '"$NODE" "$CLI" init', '/dev/null'], { cwd, env });
    onTestFinished(() => void child.kill('SIGKILL'));
    let shown = '';
    child.stdout.on('data', (chunk) => {
      shown += stripVTControlCharacters(String(chunk));
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    await until('the first question', () => shown.endsWith(address));
    child.stdin.write(`${url}\r`);
    await until('the second question', () => shown.endsWith(key));
    child.stdin.write(`${CANARY}\r`);
    for (const [question, typed] of learnt) {
      await until('the next question', () => shown.endsWith(question));
      child.stdin.write(typed);
    }
    expect(await ended).toBe(0);
    expect(shown).toContain(url);
    expect(shown).not.toContain(CANARY);
    expect(written()).toEqual({ MARKET_API_URL: url, MARKET_API_KEY: CANARY });
  });
});

const jobs = await loadJobs();

test('the .env file is read back with every value as it was given, or refuses it', () => {
  const character = fc.constantFrom(...'aZ09#$\\\'"`=;& !{}%-');
  const value = fc
    .string({ unit: character, minLength: 1, maxLength: 12 })
    .filter((text) => text.trim() === text);
  fc.assert(
    fc.property(value, value, (key, dir) => {
      try {
        const text = renderEnvFile({ MARKET_API_KEY: key, MIRROR_DIR: dir }, jobs);
        expect(parseEnv(text)).toEqual({ MARKET_API_KEY: key, MIRROR_DIR: dir });
      } catch (thrown) {
        if (!(thrown instanceof Failure)) throw thrown;
        expect(thrown.message).toMatch(
          /^(MARKET_API_KEY|MIRROR_DIR) cannot be written into \.env: set it in/,
        );
        expect([...'\'"`'].filter((quote) => `${key} ${dir}`.includes(quote))).toHaveLength(3);
      }
    }),
  );
});
