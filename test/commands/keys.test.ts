/** `keys`, every action, as people and programs type it, and every bad input that it may get. */

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ServeNote } from '../../src/reading/status.ts';
import { openServeDatabase } from '../../src/serve/access/database.ts';
import { openSessions } from '../../src/serve/access/sessions.ts';
import { isLock, tryLock } from '../../src/store/sqlite-files.ts';
import { setupKeys as setup } from '../helpers/main.ts';

const KEY = /mmkey_[0-9A-Za-z]{49}/;

test.each([['list'], ['limits']])('%s makes nothing in a folder that has no keys', async (action) => {
  const { run, dir } = setup();
  expect(await run(action)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^there is no /) });
  expect(existsSync(dir) ? readdirSync(dir) : []).toEqual([]);
});

test('create prints the key alone on stdout, and on stderr what to do with it', async () => {
  const { run, json } = setup();
  const { code, stdout, stderr } = await run('create', '--name', 'reports');
  expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^${KEY.source}\n$`))]);
  const [{ id }] = await json('list');
  expect(stderr).toContain(`This is the key ${id}. It is shown this once`);
});

test('a key is in no file of the folder, whatever was done with it', async () => {
  const { dir, run, json } = setup();
  mkdirSync(join(dir, 'locks'), { recursive: true });
  const keys = [(await json('create', '--name', 'desk')).key, (await json('rotate', 'desk')).key];
  await run('list');
  await run('revoke', 'desk');
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => join(dir, name));
  const bytes = files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file, 'latin1'));
  expect(bytes.join()).toContain('desk');
  for (const key of keys) expect(bytes.join()).not.toContain(key.slice(6, 18));
});

/** As a process that serves leaves it. */
function setupServing(url: string, page: ServeNote['page'] = 'token') {
  const keys = setup();
  const lock = tryLock(keys.dir, 'serve');
  if (!isLock(lock)) throw new Error('somebody serves');
  lock.note(JSON.stringify({ url, since: '2026-11-21T11:00:00.000Z', page }));
  onTestFinished(lock.release);
  return keys;
}

describe('keys page', () => {
  const HERE = 'http://127.0.0.1:4020';

  test('prints a link alone on stdout, which opens a session, whatever is set here', async () => {
    const { runWith, dir, clock } = setupServing(HERE);
    const { code, stdout, stderr } = await runWith({ MIRROR_SERVE_PAGE: 'off' }, 'page');
    const link = expect.stringMatching(/^http:\/\/127\.0\.0\.1:4020\/\?token=[\w-]{43}\n$/);
    expect([code, stdout]).toEqual([0, link]);
    expect(stderr).toMatch(/on this machine until 2026-11-22T12:00:00\.000Z/);
    const tokens = openSessions(dir);
    onTestFinished(tokens.close);
    const token = stdout.trim().split('=')[1] as string;
    expect(tokens.openByLink(token, clock.now())).toMatchObject({
      token: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  test.each([
    [HERE, 'token', 'http://127.0.0.1:4020/?token='],
    ['https://0.0.0.0:443', 'token', 'https://127.0.0.1/?token='],
    ['http://[::]:4020', 'token', 'http://[::1]:4020/?token='],
    ['http://localhost:4020', 'token', 'http://localhost:4020/?token='],
    [HERE, 'open', 'http://127.0.0.1:4020/'],
  ] as const)(
    'leads from this machine to a service at %s, whose page is for %s',
    async (url, page, start) => {
      const { json } = setupServing(url, page);
      const told = await json('page');
      expect(told.url.slice(0, start.length)).toBe(start);
      expect(told.url.length - start.length).toBe(page === 'token' ? 43 : 0);
      expect(told.expiresAt).toBe(page === 'token' ? '2026-11-22T12:00:00.000Z' : null);
    },
  );

  test.each([
    ['listens elsewhere', 'https://192.0.2.1:443', 'token', 64, 'keys create --name me --scope page:read'],
    ['has no page', HERE, 'off', 64, 'runs with MIRROR_SERVE_PAGE=off'],
    ['does not run', undefined, 'token', 75, 'run market-mirror serve'],
  ] as const)('where the service %s, says so', async (_, url, page, code, line) => {
    const { run } = url ? setupServing(url, page) : setup();
    expect(await run('page')).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(line) });
  });
});

/** What is typed, and what the line says. */
const slips: readonly (readonly [args: readonly string[], line: string])[] = [
  [[], "missing required argument 'action'"],
  [['rvoke', 'x'], "action is one of create, list, revoke, rotate, limits, page, not 'rvoke' (did"],
  [['create'], 'keys create needs --name'],
  [['create', '--name', 'a\u001b[2J'], '--name is a text of 1 to 64 letters'],
  [['create', '--name', 'x', '--scope', 'new:read'], "no scope 'new:read' (did you mean news:read"],
  [['create', '--name', 'x', '--expires', 'soon'], '--expires is a duration such as 30m, 24h or'],
  [['create', '--name', 'x', '--allow', '10.0.0.0/33'], '--allow is an address or a network, such'],
  [['create', '--name', 'x', '--overlap', '1h'], 'keys create takes no --overlap'],
  [['list', 'desk'], "keys list takes no 'desk'"],
  [['revoke'], 'keys revoke needs the id of a key: market-mirror keys list shows'],
  [['revoke', 'desj'], "there is no key 'desj' (did you mean desk?)"],
  [['rotate', 'desk', '--overlap', '-1h'], "--overlap is a duration such as 30m, 24h or 90d, not '-1h'"],
  [['limits', '--quota', '1/1h'], 'keys limits needs the account whose limits are to'],
  [['limits', 'desj'], "there is no account 'desj' (did you mean desk?)"],
  [['page', 'desk'], "keys page takes no 'desk'"],
];

test('wrong usage is one line, changes nothing, repeats no key, and ends with 64', async () => {
  const { run, json } = setup();
  const key = (await run('create', '--name', 'desk')).stdout.trim();
  const before = [await json('list'), await json('limits')];
  const typed = ['revoke', 'rotate', 'limits', 'create', 'list', 'page'].map(
    (action) => [[action, key], ''] as const,
  );
  for (const [args, line] of [...slips, ...typed]) {
    const { code, stdout, stderr } = await run(...args);
    expect([args, code, stdout, stderr]).toEqual([
      args,
      64,
      '',
      expect.stringMatching(/^market-mirror: [^\n]+\n$/),
    ]);
    expect(stderr, args.join(' ')).toContain(line);
    expect(stderr).not.toContain(key.slice(6, 12));
  }
  expect([await json('list'), await json('limits')]).toEqual(before);
});
test('a database that is newer, or none: 78 and 74', async () => {
  const [newer, none] = [setup(), setup()];
  const database = openServeDatabase(newer.dir);
  database.pragma('user_version = 9');
  database.close();
  writeFileSync(join(none.dir, 'serve.db'), 'x'.repeat(5_000));
  expect([(await newer.run('list')).code, (await none.run('list')).code]).toEqual([78, 74]);
});
