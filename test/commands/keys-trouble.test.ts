/** `keys`, and every bad input that it may get. */

import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openServeDatabase } from '../../src/serve/service/database.ts';
import { runMain } from '../helpers/main.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';
import { folder } from '../serve/support.ts';

import { setupKeysCommand as setup } from './keys-support.ts';

describe('wrong usage is one line, changes nothing, and ends with 64', () => {
  test.each([
    ['no action', [], "missing required argument 'action'"],
    [
      'an action that is none',
      ['rvoke', 'x'],
      "action is one of create, list, revoke, rotate, limits, page, not 'rvoke' (did",
    ],
    ['no name', ['create'], 'keys create needs --name'],
    ['an empty name', ['create', '--name', ' '], '--name is a text of 1 to 64 letters'],
    [
      'a name that drives a terminal',
      ['create', '--name', 'a\u001b[2J'],
      '--name is a text of 1 to 64 letters',
    ],
    ['a long name', ['create', '--name', 'x'.repeat(65)], '--name is a text of 1 to 64 letters'],
    ['an empty account', ['create', '--name', 'x', '--account', ''], '--account is a text of 1 to 64'],
    [
      'a scope',
      ['create', '--name', 'x', '--scope', 'new:read'],
      "no scope 'new:read' (did you mean news:read",
    ],
    [
      'none and a scope',
      ['create', '--name', 'x', '--scope', 'none', '--scope', 'news:read'],
      "no scope 'none'",
    ],
    [
      'an expiry',
      ['create', '--name', 'x', '--expires', 'soon'],
      '--expires is a duration such as 30m, 24h or',
    ],
    ['an expiry now', ['create', '--name', 'x', '--expires', '0s'], '--expires is a duration such as'],
    ['an expiry in ages', ['create', '--name', 'x', '--expires', '101y'], '--expires is a duration such as'],
    [
      'a network',
      ['create', '--name', 'x', '--allow', '10.0.0.0/33'],
      '--allow is an address or a network, such',
    ],
    [
      'a quota',
      ['create', '--name', 'x', '--quota', '1000'],
      '--quota is calls in a period of 1ms to 366d, such as',
    ],
    ['a rate', ['create', '--name', 'x', '--rate', 'fast'], '--rate is calls a period, such as 10/1s'],
    [
      'a concurrency',
      ['create', '--name', 'x', '--concurrency', '0'],
      '--concurrency is a whole number from 1',
    ],
    ['create of something', ['create', 'desk', '--name', 'x'], "keys create takes no 'desk'"],
    [
      'an option of another action',
      ['create', '--name', 'x', '--overlap', '1h'],
      'keys create takes no --overlap',
    ],
    ['a list of something', ['list', 'desk'], "keys list takes no 'desk'"],
    ['a list with an option', ['list', '--name', 'x'], 'keys list takes no --name'],
    ['to revoke nothing', ['revoke'], 'keys revoke needs the id of a key: market-mirror keys list shows'],
    ['to revoke what is not there', ['revoke', 'desj'], "there is no key 'desj' (did you mean desk?)"],
    ['to rotate nothing', ['rotate'], 'keys rotate needs the id of a key'],
    [
      'an overlap',
      ['rotate', 'desk', '--overlap', '-1h'],
      "--overlap is a duration such as 30m, 24h or 90d, not '-1h'",
    ],
    [
      'limits of no account',
      ['limits', '--quota', '1/1h'],
      'keys limits needs the account whose limits are to',
    ],
    [
      'limits of an account that is not there',
      ['limits', 'desj'],
      "there is no account 'desj' (did you mean desk?)",
    ],
    ['limits with another option', ['limits', 'desk', '--expires', '1d'], 'keys limits takes no --expires'],
    ['too much', ['revoke', 'desk', 'more'], 'too many arguments'],
  ])('%s', async (_, args, line) => {
    const { run, json } = setup();
    await run('create', '--name', 'desk');
    const before = [await json('list'), await json('limits')];
    const { code, stdout, stderr } = await run(...args);
    expect([code, stdout, stderr]).toEqual([64, '', expect.stringMatching(/^market-mirror: [^\n]+\n$/)]);
    expect(stderr).toContain(line);
    expect([await json('list'), await json('limits')]).toEqual(before);
  });

  test.each([['revoke'], ['rotate'], ['limits'], ['create'], ['list']])(
    'a key where %s expects its id is not repeated',
    async (action) => {
      const { run } = setup();
      const key = (await run('create', '--name', 'desk')).stdout.trim();
      const { code, stdout, stderr } = await run(action, key);
      expect([code, stdout]).toEqual([64, '']);
      expect(stderr).not.toContain(key.slice(6, 12));
    },
  );
});

test('settings that are wrong end with 78, before anything is made', async () => {
  const dir = join(folder(), 'data');
  const { code, stderr } = await runMain(
    ['keys', 'create', '--name', 'x'],
    { MIRROR_DIR: dir, MIRROR_DRI: '', MIRROR_SERV: 'x' },
    virtualClock(),
  );
  expect([code, stderr]).toEqual([78, expect.stringContaining('MIRROR_SERV is no setting')]);
  expect(statSync(dir, { throwIfNoEntry: false })).toBe(undefined);
});

test('a database that is newer, or none: 78 and 74', async () => {
  const [newer, none] = [setup(), setup()];
  const database = openServeDatabase(newer.dir);
  database.pragma('user_version = 9');
  database.close();
  writeFileSync(join(none.dir, 'serve.db'), 'x'.repeat(5_000));
  expect([(await newer.run('list')).code, (await none.run('list')).code]).toEqual([78, 74]);
});
