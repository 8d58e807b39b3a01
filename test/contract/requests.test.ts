/** Which requests are let in, by key and method and path, and what errors say. That each has an Error body is held in `calls.ts`. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, ask, bearer, type Call, caller, callerWith, serviceOf } from './calls.ts';
import { implementations } from './implementations.ts';
import { rowsOf } from './pages.ts';
import { endpointNames, listNames, requiredScopes, scopes } from './specification.ts';

const MINUTE = 60_000;

describe.each(implementations)('requests to %s', (_, start) => {
  const service = serviceOf(start);
  const guest = async () => {
    const account = await service().openAccount();
    return { ...account, key: await account.issueKey({ scopes }) };
  };

  describe('401: “The Bearer key is absent, malformed, invalid, expired or inactive”', () => {
    it.each<[string, (key: string) => Record<string, string>]>([
      ['absent', () => ({})],
      ['absent: the scheme and a space', () => ({ authorization: 'Bearer ' })],
      ['absent: in another header', (key) => ({ 'x-api-key': key })],
      ['malformed: no scheme', (key) => ({ authorization: key })],
      ['malformed: another scheme', (key) => ({ authorization: `Basic ${key}` })],
      ['invalid: never issued', () => bearer('never-issued')],
      ['invalid: too long', (key) => bearer(`${key}x`)],
      ['invalid: its last character is another', (key) => bearer(lookAlike(key))],
    ])('%s', async (_, headers) => {
      const { url, key } = await guest();
      expect(await statusesOf(callerWith(url, key))).toEqual([200]);
      expect(await statusesOf((name) => ask(`${url}/api/v1/${name}`, headers(key)))).toEqual([401]);
    });

    it('absent: in the query', async () => {
      const { url, key } = await guest();
      const query = `key=${key}&api_key=${key}&access_token=${key}&authorization=Bearer%20${key}`;
      expect(await statusesOf((name) => ask(`${url}/api/v1/${name}?${query}`, {}))).toEqual([401]);
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
      const { url, key, issueKey, revokeKey } = await guest();
      const other = await issueKey({ scopes });
      expect(await statusesOf(callerWith(url, key))).toEqual([200]);
      await revokeKey(key);
      expect(await statusesOf(callerWith(url, key))).toEqual([401]);
      expect(await statusesOf(callerWith(url, other))).toEqual([200]);
    });
  });

  describe('403: “The key lacks the required scope, or the request IP is not allowed”', () => {
    it.each(scopes)('“Required scope” %s opens its endpoint, and no other scope does', async (scope) => {
      const only = await caller(service(), { scopes: [scope] });
      const without = await caller(service(), { scopes: scopes.filter((other) => other !== scope) });
      for (const name of listNames) {
        const isOpened = requiredScopes[name] === scope;
        expect([name, (await only(name)).status]).toEqual([name, isOpened ? 200 : 403]);
        expect([name, (await without(name)).status]).toEqual([name, isOpened ? 403 : 200]);
      }
    });

    it('“The usage endpoint needs only an active key”', async () => {
      for (const granted of [[], ...scopes.map((scope) => [scope])])
        expect(await (await caller(service(), { scopes: granted }))('usage')).toMatchObject({ status: 200 });
    });

    it('“A request from a non-allowed IP is rejected with 403”, whatever it asks for', async () => {
      const elsewhere = await caller(service(), { addresses: ['192.0.2.7', '2001:db8::7'] });
      expect(await statusesOf(elsewhere)).toEqual([403]);
      const here = await caller(service(), { addresses: ['192.0.2.7', '127.0.0.1'] });
      expect(await statusesOf(here)).toEqual([200]);
    });
  });

  it('“Every endpoint uses the method GET and is read-only”', async () => {
    const { url, key } = await guest();
    for (const name of endpointNames)
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const)
        expectRefusal(await ask(`${url}/api/v1/${name}`, bearer(key), method));
    for (const name of listNames)
      expect(await rowsOf(service(), callerWith(url, key), name, '')).toEqual(
        service().rows[name].slice(0, 50),
      );
  });

  it('“all endpoints live under /api/v1”', async () => {
    const { url, key } = await guest();
    for (const name of endpointNames)
      for (const path of [name, `api/${name}`, `api/v2/${name}`, `api/v1/v1/${name}`, `api/v1/${name}s`])
        expectRefusal(await ask(`${url}/${path}`, bearer(key)));
    expectRefusal(await ask(`${url}/api/v1`, bearer(key)));
  });

  it('503: “A required API service is temporarily unavailable”', async ({ skip }) => {
    const interrupt = service().interrupt ?? skip('nothing that it needs can be taken away');
    const call = await caller(service());
    const resume = await interrupt();
    onTestFinished(resume);
    for (const name of listNames) expect([name, (await call(name)).status]).toEqual([name, 503]);
    await resume();
    for (const name of listNames) expect([name, (await call(name)).status]).toEqual([name, 200]);
  });

  it('“The Authorization header must not be recorded”', async ({ skip }) => {
    const recorded = service().recorded ?? skip('what it records cannot be read');
    const { url, key } = await guest();
    const keys = [key, lookAlike(key), 'never-issued-to-anyone'];
    for (const each of keys) await statusesOf(callerWith(url, each));
    const records = await recorded();
    expect(endpointNames.filter((name) => !records.includes(name))).toEqual([]);
    expect(keys.filter((each) => records.includes(each))).toEqual([]);
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

/** The client's mistake; by which status it is told so is not shown. */
function expectRefusal({ status }: Answer): void {
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
}
