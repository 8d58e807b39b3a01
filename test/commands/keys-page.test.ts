/** Links to the page: for who is at this machine, and only while somebody serves. */

import { describe, expect, onTestFinished, test } from 'vitest';
import type { ServeNote } from '../../src/reading/status.ts';
import { openSessions } from '../../src/serve/ui/sessions.ts';
import { isLock, tryLock } from '../../src/store/sqlite-files.ts';
import { runMain } from '../helpers/main.ts';
import { setupKeysCommand } from './keys-support.ts';

/** As a process that serves leaves it. */
function setupServing(url: string, page: ServeNote['page'] = 'token') {
  const keys = setupKeysCommand();
  const lock = tryLock(keys.dir, 'serve');
  if (!isLock(lock)) throw new Error('somebody serves');
  lock.note(JSON.stringify({ url, since: '2026-11-21T11:00:00.000Z', page }));
  onTestFinished(lock.release);
  return keys;
}

describe('keys page', () => {
  test('prints a link alone on stdout, which opens a session', async () => {
    const { run, dir, clock } = setupServing('http://127.0.0.1:4020');
    const { code, stdout, stderr } = await run('page');
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:4020\/\?token=[\w-]{43}\n$/),
    ]);
    expect(stderr).toMatch(/on this machine until 2026-11-22T12:00:00\.000Z/);
    const tokens = openSessions(dir);
    onTestFinished(tokens.close);
    const token = stdout.trim().split('=')[1] as string;
    expect(tokens.openByLink(token, clock.now())).toMatchObject({
      token: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  test('says it to programs as JSON', async () => {
    const { json } = setupServing('http://127.0.0.1:4020');
    expect(await json('page')).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:4020\/\?token=/),
      expiresAt: '2026-11-22T12:00:00.000Z',
    });
  });

  test.each([
    ['https://0.0.0.0:443', 'https://127.0.0.1/'],
    ['http://[::]:4020', 'http://[::1]:4020/'],
    ['http://localhost:4020', 'http://localhost:4020/'],
  ])('leads from this machine to a service at %s', async (url, start) => {
    const { json } = setupServing(url);
    expect((await json('page')).url).toMatch(new RegExp(`^${start.replace(/[[\].]/g, '\\$&')}\\?token=`));
  });

  test('where the service listens elsewhere, says that a key opens the page', async () => {
    const { run } = setupServing('https://192.0.2.1:443');
    expect(await run('page')).toMatchObject({
      code: 64,
      stdout: '',
      stderr: expect.stringContaining('keys create --name me --scope page:read'),
    });
  });

  test('where nobody serves, says so', async () => {
    const { run } = setupKeysCommand();
    expect(await run('page')).toMatchObject({
      code: 75,
      stderr: expect.stringContaining('run market-mirror serve'),
    });
  });

  test('where the service that runs has no page, says so, whatever is set here', async () => {
    const { dir, clock } = setupServing('http://127.0.0.1:4020', 'off');
    for (const MIRROR_SERVE_PAGE of ['off', 'token', 'open'])
      expect(await runMain(['keys', 'page'], { MIRROR_DIR: dir, MIRROR_SERVE_PAGE }, clock)).toMatchObject({
        code: 64,
        stdout: '',
        stderr: expect.stringContaining('runs with MIRROR_SERVE_PAGE=off'),
      });
  });

  test('what is set here alone takes no page away', async () => {
    const { dir, clock } = setupServing('http://127.0.0.1:4020');
    expect(
      await runMain(['keys', 'page'], { MIRROR_DIR: dir, MIRROR_SERVE_PAGE: 'off' }, clock),
    ).toMatchObject({ code: 0, stdout: expect.stringContaining('?token=') });
  });

  test('where everybody on this machine may see it, prints its address alone', async () => {
    const { run, json } = setupServing('http://127.0.0.1:4020', 'open');
    expect(await json('page')).toEqual({ url: 'http://127.0.0.1:4020/', expiresAt: null });
    expect((await run('page')).stderr).toContain('MIRROR_SERVE_PAGE=open');
  });

  test('takes nothing else', async () => {
    const { run } = setupServing('http://127.0.0.1:4020');
    expect((await run('page', 'desk')).code).toBe(64);
    expect((await run('page', '--quota', '1/1h')).code).toBe(64);
  });
});
