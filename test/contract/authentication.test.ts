/** Which keys open which endpoints. */

import { describe, expect, it } from 'vitest';
import { ask, bearer, type Call, caller, callerWith, serviceOf } from './calls.ts';
import { implementations } from './implementations.ts';
import { endpointNames, requiredScopes, scopes } from './specification.ts';

const MINUTE = 60_000;

describe.each(implementations)('authentication at %s', (_, start) => {
  const service = serviceOf(start);

  describe('401: “The Bearer key is absent, malformed, invalid, expired or inactive”', () => {
    it.each<[string, (key: string) => Record<string, string>]>([
      ['absent', () => ({})],
      ['absent: an empty header', () => ({ authorization: '' })],
      ['absent: the scheme alone', () => ({ authorization: 'Bearer' })],
      ['absent: the scheme and a space', () => ({ authorization: 'Bearer ' })],
      ['absent: in another header', (key) => ({ 'x-api-key': key })],
      ['malformed: no scheme', (key) => ({ authorization: key })],
      ['malformed: another scheme', (key) => ({ authorization: `Basic ${key}` })],
      ['malformed: no space behind the scheme', (key) => ({ authorization: `Bearer${key}` })],
      ['malformed: twice', (key) => bearer(`${key} ${key}`)],
      ['invalid: never issued', () => bearer('never-issued')],
      ['invalid: too short', (key) => bearer(key.slice(0, -1))],
      ['invalid: too long', (key) => bearer(`${key}x`)],
      ['invalid: its last character is another', (key) => bearer(lookAlike(key))],
    ])('%s', async (_, headers) => {
      const account = await service().openAccount();
      const key = await account.issueKey({ scopes });
      expect(await statusesOf(callerWith(account.url, key))).toEqual([200]);
      expect(await statusesOf((name) => ask(`${account.url}/api/v1/${name}`, headers(key)))).toEqual([401]);
    });

    it('absent: in the query', async () => {
      const account = await service().openAccount();
      const key = await account.issueKey({ scopes });
      const query = `key=${key}&api_key=${key}&access_token=${key}&authorization=Bearer%20${key}`;
      expect(await statusesOf((name) => ask(`${account.url}/api/v1/${name}?${query}`, {}))).toEqual([401]);
    });

    it('expired', async () => {
      expect(await statusesOf(await caller(service(), { expiresInMs: -1 }))).toEqual([401]);
      expect(await statusesOf(await caller(service(), { expiresInMs: 60 * MINUTE }))).toEqual([200]);
    });

    it('expired just now', async ({ skip }) => {
      const advance = service().advance ?? skip('its clock cannot be moved');
      const call = await caller(service(), { expiresInMs: MINUTE });
      await advance(MINUTE - 1);
      expect(await statusesOf(call)).toEqual([200]);
      await advance(1);
      expect(await statusesOf(call)).toEqual([401]);
    });

    it('inactive: revoked, while other keys of the account are not', async () => {
      const account = await service().openAccount();
      const [one, other] = [await account.issueKey({ scopes }), await account.issueKey({ scopes })];
      expect(await statusesOf(callerWith(account.url, one))).toEqual([200]);
      await account.revokeKey(one);
      expect(await statusesOf(callerWith(account.url, one))).toEqual([401]);
      expect(await statusesOf(callerWith(account.url, other))).toEqual([200]);
    });
  });

  describe('403: “The key lacks the required scope, or the request IP is not allowed”', () => {
    it.each(scopes)(
      '“Required scope” %s opens its endpoint, and all others without it do not',
      async (scope) => {
        const only = await caller(service(), { scopes: [scope] });
        const without = await caller(service(), { scopes: scopes.filter((other) => other !== scope) });
        for (const name of endpointNames) {
          const required = requiredScopes[name];
          if (required === null) continue;
          expect([name, (await only(name)).status]).toEqual([name, required === scope ? 200 : 403]);
          expect([name, (await without(name)).status]).toEqual([name, required === scope ? 403 : 200]);
        }
      },
    );

    it('“The usage endpoint needs only an active key”', async () => {
      for (const granted of [[], ...scopes.map((scope) => [scope])])
        expect(await (await caller(service(), { scopes: granted }))('usage')).toMatchObject({ status: 200 });
      expect(await (await caller(service(), { scopes: [] }))('news')).toMatchObject({ status: 403 });
    });

    it('“A request from a non-allowed IP is rejected with 403”, whatever it asks for', async () => {
      const elsewhere = await caller(service(), { addresses: ['192.0.2.7', '2001:db8::7'] });
      expect(await statusesOf(elsewhere)).toEqual([403]);
      const here = await caller(service(), { addresses: ['192.0.2.7', '127.0.0.1'] });
      expect(await statusesOf(here)).toEqual([200]);
    });
  });

  it('“The Authorization header must not be recorded”', async ({ skip }) => {
    const recorded = service().recorded ?? skip('what it records cannot be read');
    const account = await service().openAccount();
    const good = await account.issueKey({ scopes });
    const keys = [good, lookAlike(good), 'never-issued-to-anyone'];
    for (const key of keys) await statusesOf(callerWith(account.url, key));
    const records = await recorded();
    expect(endpointNames.filter((name) => !records.includes(name))).toEqual([]);
    expect(keys.filter((key) => records.includes(key))).toEqual([]);
  });
});

/** What all endpoints answer, which should be one status. */
async function statusesOf(call: Call): Promise<number[]> {
  const answers = await Promise.all(endpointNames.map(call));
  return [...new Set(answers.map(({ status }) => status))];
}

function lookAlike(key: string): string {
  return key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');
}
