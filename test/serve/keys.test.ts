/** Keys and accounts as those manage them who may. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openKeyring } from '../../src/serve/access/keyring.ts';
import { isKey, newKey, newKeyId, resemblesKey, statusOf } from '../../src/serve/access/keys.ts';
import {
  parseConcurrency,
  parseQuota,
  parseRate,
  quotaKinds,
  renderQuota,
  renderRate,
  unlimited,
} from '../../src/serve/access/limits.ts';
import { memoryFolder } from '../helpers/folder.ts';
import { limitsOf, setupKeys } from './support.ts';

const DAY = 86_400_000;
const usage = (message: RegExp) =>
  expect.objectContaining({ kind: 'usage', message: expect.stringMatching(message) });

test('a key is given once, and no file holds it or a part of it', () => {
  const { dir, create, keyring } = setupKeys();
  const { key, record } = create({ scopes: ['news:read'], addresses: ['10.0.0.0/8'] });
  keyring.revoke(record.id, 0);
  const bytes = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(dir, name)).isFile())
    .map((name) => readFileSync(join(dir, name), 'latin1'))
    .join();
  expect(bytes).toContain(record.id);
  const secret = key.slice('mmkey_'.length);
  for (let at = 0; at + 12 <= secret.length; at += 6) expect(bytes).not.toContain(secret.slice(at, at + 12));
});

test('a key keeps its terms through a restart', () => {
  const { dir, create, keyring, clock } = setupKeys();
  const expiresAt = clock.now() + DAY;
  const { record } = create({ name: 'a b', account: 'c', scopes: [], addresses: ['::1'], expiresAt });
  expect(record).toEqual({
    id: record.id,
    name: 'a b',
    account: 'c',
    scopes: [],
    addresses: ['::1'],
    createdAt: '2026-11-21T12:00:00.000Z',
    expiresAt: '2026-11-22T12:00:00.000Z',
    lastUsedAt: null,
    revokedAt: null,
    rotatedTo: null,
  });
  keyring.close();
  expect(setupKeys(dir).keyring.list()).toEqual([record]);
});

describe('limits', () => {
  test('come with a new account, and are refused for one that is there', () => {
    const { create, keyring } = setupKeys();
    const limits = limitsOf('10/1h', '1/1s', 3);
    expect(create({ account: 'new' }, limits).limits).toEqual({ ...unlimited, ...limits });
    expect(() => create({ account: 'new' }, limitsOf('20/1h'))).toThrow(
      usage(/^account 'new' is there already/),
    );
    expect(create({ account: 'new' }).limits).toEqual({ ...unlimited, ...limits });
    expect(keyring.list()).toHaveLength(2);
  });

  test('are changed one by one, and taken away', () => {
    const { create, keyring } = setupKeys();
    create({}, limitsOf('10/1h', '1/1s', 3));
    keyring.setLimits('desk', { quota: parseQuota('20/1d,refill') });
    expect(keyring.setLimits('desk', { rate: null })).toEqual({
      account: 'desk',
      limits: { quota: parseQuota('20/1d,refill'), rate: null, concurrency: 3 },
    });
    expect(keyring.accounts()).toEqual([keyring.account('desk')]);
  });

  test('of an account that there is not are refused, with the one that was meant', () => {
    const { create, keyring } = setupKeys();
    create();
    expect(() => keyring.setLimits('desl', {})).toThrow(
      usage(/^there is no account 'desl' \(did you mean desk\?\)/),
    );
    expect(() => keyring.account('x')).toThrow(usage(/^there is no account 'x'/));
  });
});

describe('a key that is revoked', () => {
  test('stays revoked since then', () => {
    const { create, keyring, clock } = setupKeys();
    const { id } = create().record;
    const first = keyring.revoke(id, clock.now());
    expect(statusOf(first, clock.now())).toBe('revoked');
    expect(keyring.revoke(id, clock.now() + DAY)).toEqual(first);
  });

  test('is named by its id, or by its name where that is the name of one alone', () => {
    const { create, keyring, clock } = setupKeys();
    const [one, other] = [create().record.id, create().record.id];
    create({ name: 'alone' });
    expect(keyring.revoke('alone', clock.now()).name).toBe('alone');
    expect(() => keyring.revoke('desk', clock.now())).toThrow(
      usage(/^2 keys have the name 'desk': say which/),
    );
    keyring.revoke(one, clock.now());
    expect(keyring.revoke('desk', clock.now()).id).toBe(other);
  });
});

describe('a rotation', () => {
  test('gives another key on the same terms, for as long; the old one expires after the overlap', () => {
    const { create, keyring, clock } = setupKeys();
    const old = create({ addresses: ['::1'], expiresAt: clock.now() + 90 * DAY }, limitsOf('5/1h')).record;
    clock.advance(80 * DAY);
    const { record, replaced, limits } = keyring.rotate(old.id, DAY, undefined, clock.now());
    const { name, account, scopes, addresses } = old;
    expect(record).toMatchObject({ name, account, scopes, addresses, rotatedTo: null });
    expect(Date.parse(record.expiresAt ?? '')).toBe(clock.now() + 90 * DAY);
    expect(limits.quota?.calls).toBe(5);
    expect(replaced).toMatchObject({ id: old.id, rotatedTo: record.id });
    expect(Date.parse(replaced.expiresAt ?? '')).toBe(clock.now() + DAY);
  });

  test('never prolongs the old one, and may give the new one another lifetime', () => {
    const { create, keyring, clock } = setupKeys();
    const { id, expiresAt } = create({ expiresAt: clock.now() + DAY }).record;
    const { record, replaced } = keyring.rotate(id, 7 * DAY, 2 * DAY, clock.now());
    expect(replaced.expiresAt).toBe(expiresAt);
    expect(Date.parse(record.expiresAt ?? '')).toBe(clock.now() + 2 * DAY);
  });

  test.each<[string, RegExp, (ring: ReturnType<typeof setupKeys>, id: string) => void]>([
    [
      'was rotated',
      /was rotated already: k\w+ took its place$/,
      ({ keyring }, id) => void keyring.rotate(id, DAY, undefined, 0),
    ],
    ['is revoked', /is revoked: create another/, ({ keyring }, id) => void keyring.revoke(id, 0)],
    ['has expired', /is expired: create another/, ({ clock }) => clock.advance(2 * DAY)],
  ])('of a key that %s is refused', (_, message, before) => {
    const ring = setupKeys();
    const { id } = ring.create({ expiresAt: ring.clock.now() + DAY }).record;
    before(ring, id);
    expect(() => ring.keyring.rotate(id, 0, undefined, ring.clock.now())).toThrow(usage(message));
    expect(ring.keyring.list().length).toBeLessThan(3);
  });
});

test('two who manage keys at once see what the other did', () => {
  const dir = memoryFolder();
  const [one, other] = [setupKeys(dir), setupKeys(dir)];
  const { id } = one.create().record;
  other.keyring.revoke(id, 0);
  expect(one.keyring.list()[0]?.revokedAt).not.toBe(null);
  expect(() => openKeyring(dir).close()).not.toThrow();
});

test('a key has a prefix that scanners find, and is one word of one length', () => {
  const keys = Array.from({ length: 200 }, newKey);
  for (const key of keys) expect(key).toMatch(/^mmkey_[0-9A-Za-z]{49}$/);
  expect(keys.every(isKey)).toBe(true);
  expect(new Set(keys).size).toBe(200);
});

test('a slip of the fingers is no key: another letter, two in the wrong order, one too few or too many', () => {
  const letter = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
  fc.assert(
    fc.property(fc.nat({ max: 54 }), letter, fc.nat({ max: 54 }), (place, other, second) => {
      const key = newKey();
      const letters = [...key];
      const swapped = [...letters];
      [swapped[place], swapped[second]] = [letters[second] ?? '', letters[place] ?? ''];
      const slips = [
        letters.with(place, other).join(''),
        swapped.join(''),
        letters.toSpliced(place, 1).join(''),
        letters.toSpliced(place, 0, other).join(''),
      ];
      expect(slips.filter((slip) => slip !== key && isKey(slip))).toEqual([]);
    }),
  );
});

test('keys of others are none, and a pasted key is recognised with a slip in it, too', () => {
  for (const text of ['', 'mmkey_', 'sample-key-of-the-model-api', `x${newKey()}`, `${newKey()}\n`])
    expect([text, isKey(text)]).toEqual([text, false]);
  expect(resemblesKey(`${newKey()}x`)).toBe(true);
  expect(resemblesKey(newKeyId())).toBe(false);
});

test('limits are read as they are written', () => {
  expect(parseQuota('1000/1h')).toEqual({ calls: 1_000, periodMs: 3_600_000, kind: 'fixed' });
  expect(parseQuota('7/90s,refill')).toEqual({ calls: 7, periodMs: 90_000, kind: 'refill' });
  expect(parseQuota('1000000/1d,refill')).toEqual({ calls: 1_000_000, periodMs: 86_400_000, kind: 'refill' });
  expect(parseRate('10/1s+20')).toEqual({ calls: 10, periodMs: 1_000, burst: 20 });
  expect(parseRate('10/1s')).toEqual({ calls: 10, periodMs: 1_000, burst: 10 });
  expect(parseConcurrency('4')).toBe(4);
});

test('and written as they are read, whatever they are', () => {
  const pace = { calls: fc.integer({ min: 1, max: 1_000 }), periodMs: fc.integer({ min: 1, max: 1e10 }) };
  fc.assert(
    fc.property(fc.record({ ...pace, kind: fc.constantFrom(...quotaKinds) }), (quota) => {
      expect(parseQuota(renderQuota(quota))).toEqual(quota);
    }),
  );
  fc.assert(
    fc.property(fc.record({ ...pace, burst: fc.integer({ min: 1, max: 1_000 }) }), (rate) => {
      expect(parseRate(renderRate(rate))).toEqual(rate);
    }),
  );
});

describe('what is no limit is refused, with what one looks like', () => {
  test.each([
    ...['', '1000', '1000/', '/1h', '0/1h', '-1/1h', '1.5/1h', '1e3/1h', '1000/1', '1000/0s', '1000/367d'],
    ...[
      '1000/1h,fixd',
      '1000/1h,',
      '1000/1h,sliding',
      '1000/1h,refill,refill',
      '1000/1h+5',
      '1000/1h ',
      '2000000000/1h',
    ],
    ...['1000000000/366d,refill', '1000000001/1h', '00000000001/1h', '1/1h/1h', 'x1/1h', '1/h'],
  ])('a quota of %j', (text) => {
    expect(() => parseQuota(text)).toThrow(/such as 1000\/1h|fewer calls/);
  });

  test.each([
    '',
    '10',
    '10/1s+',
    '10/1s+0',
    '10/1s+1.5',
    '0/1s',
    '10/1s,refill',
    '1000000000/366d',
    '1/1s+1000000001',
  ])('a rate of %j', (text) => {
    expect(() => parseRate(text)).toThrow(/such as 10\/1s|fewer calls/);
  });

  test.each(['', '0', '-1', '1.5', '4x', '10001', '1e2'])('a concurrency of %j', (text) => {
    expect(() => parseConcurrency(text)).toThrow(/a whole number from 1 to 10000/);
  });

  test('but the ends of the range are limits', () => {
    expect(['1', '10000'].map(parseConcurrency)).toEqual([1, 10_000]);
    for (const text of ['1/1ms', '1/366d', '1000000000/1h', '1/1H'])
      expect(parseQuota(text)).toMatchObject({ calls: Number(text.split('/')[0]), kind: 'fixed' });
    expect(parseRate('1/1s+1000000000')).toMatchObject({ calls: 1, burst: 1_000_000_000 });
  });
});
