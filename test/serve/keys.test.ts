/** Keys and their limits beneath the command `keys`, whose tests hold what people see of them. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isKey, newKey, newKeyId, resemblesKey } from '../../src/serve/access/keys.ts';
import {
  parseConcurrency,
  parseQuota,
  parseRate,
  quotaKinds,
  renderQuota,
  renderRate,
  unlimited,
} from '../../src/serve/access/limits.ts';
import { limitsOf, setupKeys } from './support.ts';

const DAY = 86_400_000;
const usage = (message: RegExp) =>
  expect.objectContaining({ kind: 'usage', message: expect.stringMatching(message) });

test('a key keeps its terms through a restart, and stays revoked since then, whoever revokes it again', () => {
  const { dir, create, keyring, clock } = setupKeys();
  const expiresAt = clock.now() + DAY;
  const { record } = create({ name: 'a b', account: 'c', scopes: [], addresses: ['::1'], expiresAt });
  expect(setupKeys(dir).keyring.list()).toEqual([record]);
  const revoked = keyring.revoke(record.id, clock.now());
  expect(setupKeys(dir).keyring.list()).toEqual([revoked]);
  expect(keyring.revoke(record.id, clock.now() + DAY)).toEqual(revoked);
});

test('a name that several keys have revokes none of them, until one alone is not revoked', () => {
  const { create, keyring, clock } = setupKeys();
  const [one, other] = [create().record.id, create().record.id];
  expect(() => keyring.revoke('desk', clock.now())).toThrow(usage(/^2 keys have the name 'desk': say which/));
  keyring.revoke(one, clock.now());
  expect(keyring.revoke('desk', clock.now()).id).toBe(other);
});

test('limits come with a new account, are refused for one that is there, and are changed one by one', () => {
  const { create, keyring } = setupKeys();
  const limits = limitsOf('10/1h', '1/1s', 3);
  expect(create({}, limits).limits).toEqual({ ...unlimited, ...limits });
  expect(() => create({}, limitsOf('20/1h'))).toThrow(usage(/^account 'desk' is there already/));
  keyring.setLimits('desk', { quota: parseQuota('20/1d,refill') });
  expect(keyring.setLimits('desk', { rate: null }).limits).toEqual({
    quota: parseQuota('20/1d,refill'),
    rate: null,
    concurrency: 3,
  });
});

test('a rotation gives another key on the same terms, for as long; the old one is never prolonged', () => {
  const { create, keyring, clock } = setupKeys();
  const old = create({ addresses: ['::1'], expiresAt: clock.now() + 90 * DAY }, limitsOf('5/1h')).record;
  clock.advance(80 * DAY);
  const { record, replaced, limits } = keyring.rotate(old.id, DAY, undefined, clock.now());
  const { name, account, scopes, addresses } = old;
  expect(record).toMatchObject({ name, account, scopes, addresses, rotatedTo: null });
  expect([record, replaced].map(({ expiresAt }) => Date.parse(expiresAt ?? '') - clock.now())).toEqual([
    90 * DAY,
    DAY,
  ]);
  expect([limits.quota?.calls, replaced.rotatedTo]).toEqual([5, record.id]);
  const next = keyring.rotate(record.id, 365 * DAY, 2 * DAY, clock.now());
  expect(next.replaced.expiresAt).toBe(record.expiresAt);
  expect(Date.parse(next.record.expiresAt ?? '')).toBe(clock.now() + 2 * DAY);
});

test('a key that was rotated, was revoked or has expired is not rotated', () => {
  const { create, keyring, clock } = setupKeys();
  const [rotated, revoked, expired] = Array.from(
    { length: 3 },
    () => create({ expiresAt: clock.now() + 2 * DAY }).record.id,
  ) as [string, string, string];
  keyring.rotate(rotated, DAY, undefined, clock.now());
  keyring.revoke(revoked, clock.now());
  const rotate = (id: string) => keyring.rotate(id, 0, undefined, clock.now());
  expect(() => rotate(rotated)).toThrow(usage(/was rotated already: k\w+ took its place$/));
  expect(() => rotate(revoked)).toThrow(usage(/is revoked: create another/));
  clock.advance(2 * DAY);
  expect(() => rotate(expired)).toThrow(usage(/is expired: create another/));
  expect(keyring.list()).toHaveLength(4);
});

test('a key has a prefix that scanners find; a slip of the fingers makes none of it, and is recognised all the same', () => {
  const letter = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
  fc.assert(
    fc.property(fc.nat({ max: 54 }), letter, fc.nat({ max: 54 }), (place, other, second) => {
      const key = newKey();
      expect([key, isKey(key)]).toEqual([expect.stringMatching(/^mmkey_[0-9A-Za-z]{49}$/), true]);
      const letters = [...key];
      const swapped = letters.with(place, letters[second] ?? '').with(second, letters[place] ?? '');
      const slips = [
        letters.with(place, other),
        swapped,
        letters.toSpliced(place, 1),
        letters.toSpliced(place, 0, other),
      ].map((slip) => slip.join(''));
      expect(slips.filter((slip) => slip !== key && isKey(slip))).toEqual([]);
    }),
  );
  for (const text of ['', 'mmkey_', 'sample-key-of-the-model-api', `x${newKey()}`, `${newKey()}\n`])
    expect([text, isKey(text)]).toEqual([text, false]);
  expect([resemblesKey(`${newKey()}x`), resemblesKey(newKeyId())]).toEqual([true, false]);
});

test('limits are read as they are written, whatever they are', () => {
  const pace = { calls: fc.integer({ min: 1, max: 1_000 }), periodMs: fc.integer({ min: 1, max: 1e10 }) };
  const quotas = fc.record({ ...pace, kind: fc.constantFrom(...quotaKinds) });
  const rates = fc.record({ ...pace, burst: fc.integer({ min: 1, max: 1_000 }) });
  fc.assert(
    fc.property(quotas, rates, (quota, rate) => {
      expect(parseQuota(renderQuota(quota))).toEqual(quota);
      expect(parseRate(renderRate(rate))).toEqual(rate);
    }),
  );
  expect(parseQuota('7/90s,refill')).toEqual({ calls: 7, periodMs: 90_000, kind: 'refill' });
  expect(parseRate('10/1s')).toEqual({ calls: 10, periodMs: 1_000, burst: 10 });
  for (const text of ['1/1ms', '1/366d', '1000000000/1h', '1/1H'])
    expect(parseQuota(text)).toMatchObject({ calls: Number(text.split('/')[0]), kind: 'fixed' });
  expect(['1', '10000'].map(parseConcurrency)).toEqual([1, 10_000]);
});

test('what is no limit is refused, with what one looks like', () => {
  for (const text of [
    ...['', '1000', '1000/', '/1h', '0/1h', '-1/1h', '1.5/1h', '1e3/1h', '1000/1', '1000/0s', '1000/367d'],
    ...['1000/1h,fixd', '1000/1h,', '1000/1h,sliding', '1000/1h,refill,refill', '1000/1h+5', '1000/1h '],
    ...['1000000000/366d,refill', '1000000001/1h', '00000000001/1h', '1/1h/1h', 'x1/1h', '1/h'],
  ])
    expect(() => parseQuota(text), text).toThrow(/such as 1000\/1h|fewer calls/);
  for (const text of ['', '10', '10/1s+', '10/1s+0', '10/1s+1.5', '0/1s', '10/1s,refill', '1/1s+1000000001'])
    expect(() => parseRate(text), text).toThrow(/such as 10\/1s|fewer calls/);
  for (const text of ['', '0', '-1', '1.5', '4x', '10001', '1e2'])
    expect(() => parseConcurrency(text), text).toThrow(/a whole number from 1 to 10000/);
});
