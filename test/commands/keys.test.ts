/** `keys`, every action, as people and programs type it. */

import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openServeDatabase } from '../../src/serve/service/database.ts';

const KEY = /mmkey_[0-9A-Za-z]{49}/;

import { setupKeysCommand as setup } from './keys-support.ts';

describe('create', () => {
  test('prints the key alone on stdout, and on stderr what to do with it', async () => {
    const { run, json } = setup();
    const { code, stdout, stderr } = await run('create', '--name', 'reports');
    expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^${KEY.source}\n$`))]);
    const [{ id }] = await json('list');
    expect(stderr).toContain(`This is the key ${id}. It is shown this once`);
  });

  test('says of page:read that it opens all there is', async () => {
    const { run } = setup();
    const { stderr } = await run('create', '--name', 'me', '--scope', 'page:read');
    expect(stderr).toContain('With page:read it opens the page, which asks SQL of every dataset');
    expect((await run('create', '--name', 'other')).stderr).not.toContain('page:read');
  });

  test('gives every dataset, from anywhere, for ever, without limits, to an account of its own', async () => {
    const { json } = setup();
    const { id, key } = await json('create', '--name', 'reports');
    const shown = await json('list');
    expect([key, id]).toEqual([expect.stringMatching(KEY), expect.stringMatching(/^k[0-9a-f]{10}$/)]);
    expect(shown).toEqual([
      {
        id,
        name: 'reports',
        account: 'reports',
        scopes: ['ai-signals:read', 'meme:read', 'news:read', 'smart-wallets:read'],
        addresses: null,
        createdAt: '2026-11-21T12:00:00.000Z',
        expiresAt: null,
        lastUsedAt: null,
        revokedAt: null,
        rotatedTo: null,
        status: 'active',
      },
    ]);
  });

  test('takes terms and limits', async () => {
    const { json } = setup();
    const terms = [
      '--account',
      'desk',
      '--scope',
      'news:read',
      '--scope',
      'metrics:read',
      '--expires',
      '90d',
    ];
    const where = ['--allow', '10.0.0.0/8', '--allow', '2001:DB8::7'];
    const limits = ['--quota', '1000/1h,sliding', '--rate', '10/1s+20', '--concurrency', '4'];
    expect(await json('create', '--name', 'a reader', ...terms, ...where, ...limits)).toMatchObject({
      name: 'a reader',
      account: 'desk',
      scopes: ['news:read', 'metrics:read'],
      addresses: ['10.0.0.0/8', '2001:db8::7'],
      expiresAt: '2027-02-19T12:00:00.000Z',
      limits: { quota: '1000/1h,sliding', rate: '10/1s+20', concurrency: 4 },
    });
  });

  test('gives a key that opens usage alone', async () => {
    const { json } = setup();
    expect(await json('create', '--name', 'x', '--scope', 'none')).toMatchObject({ scopes: [] });
  });

  test('joins an account that is there, and refuses limits for it: 64', async () => {
    const { run, json } = setup();
    await run('create', '--name', 'one', '--quota', '5/1h');
    expect(await json('create', '--name', 'two', '--account', 'one')).toMatchObject({
      limits: { quota: '5/1h' },
    });
    const { code, stdout, stderr } = await run('create', '--name', 'one', '--quota', '6/1h');
    expect([code, stdout]).toEqual([64, '']);
    expect(stderr).toMatch(/account 'one' is there already, .*market-mirror keys limits changes them/);
    expect(await json('list')).toHaveLength(2);
  });
});

test('list shows how each key stands, and no key', async () => {
  const { run, json, clock } = setup();
  expect(await json('list')).toEqual([]);
  await run('create', '--name', 'active');
  await run('create', '--name', 'expired', '--expires', '1h', '--scope', 'none', '--allow', '10.0.0.0/8');
  await run('create', '--name', 'revoked');
  await run('revoke', 'revoked');
  clock.advance(3_600_000);
  expect((await json('list')).map(({ status }: { status: string }) => status)).toEqual([
    'active',
    'expired',
    'revoked',
  ]);
  expect((await run('list')).stdout).not.toContain('mmkey_');
});

test('revoke refuses a key from now on, by its id or its name', async () => {
  const { run, json } = setup();
  const { id } = await json('create', '--name', 'reports');
  expect(await run('revoke', id)).toMatchObject({
    code: 0,
    stdout: `${id} (reports) is refused from now on\n`,
  });
  expect(await json('revoke', 'reports')).toMatchObject({ id, status: 'revoked' });
});

test('rotate gives another key; the old one stays valid for a day, or as long as it is told', async () => {
  const { run, json } = setup();
  const { id, key } = await json('create', '--name', 'reports', '--quota', '5/1h');
  const rotated = await json('rotate', id);
  expect(rotated).toMatchObject({
    name: 'reports',
    limits: { quota: '5/1h' },
    replaces: { id, expiresAt: '2026-11-22T12:00:00.000Z', rotatedTo: rotated.id, status: 'active' },
  });
  expect(rotated.key).not.toBe(key);
  const { stdout, stderr } = await run('rotate', rotated.id, '--overlap', '30m', '--expires', '7d');
  expect(stdout).toMatch(new RegExp(`^${KEY.source}\n$`));
  expect(stderr).toContain(
    `The key ${rotated.id} that it replaces stays valid until 2026-11-21T12:30:00.000Z.`,
  );
  expect((await json('list')).at(-1)).toMatchObject({ expiresAt: '2026-11-28T12:00:00.000Z' });
  expect((await run('rotate', id)).stderr).toContain('was rotated already');
});

test('limits shows them, of one account or of all, and changes what it is told to', async () => {
  const { run, json } = setup();
  await run('create', '--name', 'desk', '--quota', '5/1h', '--concurrency', '2');
  await run('create', '--name', 'other');
  const desk = { account: 'desk', quota: '5/1h', rate: null, concurrency: 2 };
  const other = { account: 'other', quota: null, rate: null, concurrency: null };
  expect([await json('limits'), await json('limits', 'desk')]).toEqual([[desk, other], desk]);
  expect(await json('limits', 'desk', '--quota', '9/1d,refill', '--concurrency', 'none')).toEqual({
    ...desk,
    quota: '9/1d,refill',
    concurrency: null,
  });
});

test('keys are listed while another process writes', async () => {
  const { dir, run, json } = setup();
  await run('create', '--name', 'desk');
  const writer = openServeDatabase(dir);
  onTestFinished(() => void writer.close());
  writer.exec('BEGIN IMMEDIATE');
  expect(await json('list')).toHaveLength(1);
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
