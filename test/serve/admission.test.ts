import { describe, expect, test } from 'vitest';
import { startModelApi } from '../../model-api/index.ts';
import { type Refusal, refusal } from '../../src/serve/service/admission.ts';
import { newKey } from '../../src/serve/service/keys.ts';
import { outcome, setupAdmission } from './support.ts';

const DAY = 86_400_000;
const unknown = refusal('key');

describe('a key is refused with 401, whatever the reason, in the same words', () => {
  test.each<[string, (key: string) => string | undefined]>([
    ['no header', () => undefined],
    ['an empty header', () => ''],
    ['another scheme', (key) => `Basic ${key}`],
    ['no scheme', (key) => key],
    ['no space', (key) => `Bearer${key}`],
    ['a word before the scheme', (key) => `x Bearer ${key}`],
    ['two keys', (key) => `Bearer ${key} ${key}`],
    ['never issued', () => `Bearer ${newKey()}`],
    ['too short', (key) => `Bearer ${key.slice(0, -1)}`],
    ['too long', (key) => `Bearer ${key}x`],
    ['in capitals', (key) => `Bearer ${key.toUpperCase()}`],
    ['a million letters', () => `Bearer ${'x'.repeat(1_000_000)}`],
  ])('%s', (_, header) => {
    const { create, admission } = setupAdmission();
    const authorization = header(create().key);
    expect(admission().identify({ authorization, address: '127.0.0.1', scope: null })).toEqual(unknown);
  });

  test('expired just now, revoked just now, rotated without an overlap', () => {
    const { create, identify, keyring, clock } = setupAdmission();
    const [expiring, other, rotated] = [create({ expiresAt: clock.now() + DAY }), create(), create()];
    clock.advance(DAY - 1);
    for (const { key, record } of [expiring, other, rotated])
      expect(identify(key)).toMatchObject({ id: record.id });
    clock.advance(1);
    keyring.revoke(other.record.id, clock.now());
    const { key } = keyring.rotate(rotated.record.id, 0, undefined, clock.now());
    for (const each of [expiring, other, rotated]) expect(identify(each.key)).toEqual(unknown);
    expect(identify(key)).toMatchObject({ name: 'desk' });
  });
});

test('the old key of a rotation is valid until the overlap is over', () => {
  const { create, identify, keyring, clock } = setupAdmission();
  const { key, record } = create();
  keyring.rotate(record.id, DAY, undefined, clock.now());
  clock.advance(DAY - 1);
  expect(identify(key)).toMatchObject({ id: record.id });
  clock.advance(1);
  expect(identify(key)).toEqual(unknown);
});

describe('403', () => {
  test('without the scope; where none is needed, any active key will do', () => {
    const { create, identify } = setupAdmission();
    const { key } = create({ scopes: ['news:read'] });
    expect(identify(key, { scope: 'meme:read' })).toEqual(refusal('forbidden'));
    expect(identify(create({ scopes: [] }).key, { scope: null })).toMatchObject({ scopes: [] });
  });

  test('from another address than those that are allowed, in the same words', () => {
    const { create, identify } = setupAdmission();
    const { key } = create({ addresses: ['10.0.0.0/8', '2001:db8::7'] });
    const from = (address: string) => outcome(identify(key, { address }) as Refusal);
    expect(identify(key, { address: '192.0.2.1' })).toEqual(refusal('forbidden'));
    expect([from(''), from('2001:db8::8')]).toEqual([403, 403]);
    expect(identify(key, { address: '::ffff:10.1.2.3' })).toMatchObject({ name: 'desk' });
  });

  test('a key that is not valid is refused as such from anywhere, for anything', () => {
    const { create, identify, keyring } = setupAdmission();
    const { key, record } = create({ addresses: ['10.0.0.0/8'], scopes: [] });
    keyring.revoke(record.id, 0);
    expect(identify(key, { address: '192.0.2.1', scope: 'news:read' })).toEqual(unknown);
  });
});

test('statuses, codes and texts are those of the model API', async () => {
  const model = await startModelApi({
    keys: [{ id: 'k', key: 'k', scopes: [] }],
    rate: { perSecond: 0.001, burst: 1 },
  });
  const ask = async (path: string, key: string) => {
    const answer = await fetch(`${model.url}/api/v1/${path}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    return { status: answer.status, body: await answer.json() };
  };
  const answers = [
    await ask('news', 'other'),
    await ask('news', 'k'),
    await ask('usage', 'k'),
    await ask('usage', 'k'),
  ];
  await model.close();
  const ours = [refusal('key'), refusal('forbidden'), refusal('quota')].map(({ status, body }) => ({
    status,
    // Ours says which limit it was.
    body: status === 429 ? { ...body, message: expect.any(String) } : body,
  }));
  expect(answers.filter(({ status }) => status !== 200)).toEqual(ours);
});

describe('when a key was last used', () => {
  test('is written behind, and once a minute', () => {
    const { create, call, keyring, clock, write } = setupAdmission();
    const { key } = create();
    const lastUsed = () => keyring.list()[0]?.lastUsedAt;
    call(key);
    expect(lastUsed()).toBe(null);
    write();
    expect(lastUsed()).toBe('2026-11-21T12:00:00.000Z');
    clock.advance(59_000);
    call(key);
    write();
    expect(lastUsed()).toBe('2026-11-21T12:00:00.000Z');
    clock.advance(1_000);
    call(key);
    write();
    expect(lastUsed()).toBe('2026-11-21T12:01:00.000Z');
  });

  test('is not told of a call that was refused', () => {
    const { create, identify, keyring, write } = setupAdmission();
    identify(create({ addresses: ['10.0.0.0/8'] }).key, { address: '192.0.2.1' });
    write();
    expect(keyring.list()[0]?.lastUsedAt).toBe(null);
  });
});
