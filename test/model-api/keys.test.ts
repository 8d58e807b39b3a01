import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type ApiKey, endpoints, scopes } from '../../model-api/index.ts';
import { get, openModel, virtualClock } from './support.ts';

const errorBody = { error: expect.any(String), message: expect.any(String) };
const issue = (about: Partial<ApiKey> = {}): ApiKey => ({ id: 'k', key: 'secret-key', scopes, ...about });

describe('a request', () => {
  it.each([
    ['no key', null],
    ['no scheme', 'secret-key'],
    ['another scheme', 'Basic secret-key'],
    ['no token', 'Bearer '],
    ['two tokens', 'Bearer secret-key secret-key'],
    ['an unknown key', 'Bearer secret-keys'],
  ])('with %s is refused with 401', async (_, authorization) => {
    const model = await openModel({ keys: [issue()] });
    const { status, body } = await get<object>(model, '/api/v1/news', authorization);
    expect([status, body]).toEqual([401, { ...errorBody, error: 'invalid_api_key' }]);
  });

  it('is let in by scheme names in any case', async () => {
    const model = await openModel({ keys: [issue()] });
    expect((await get(model, '/api/v1/news', 'bearer secret-key')).status).toBe(200);
  });
});

describe('a key', () => {
  it('opens the endpoints of its scopes, and usage with none', async () => {
    const model = await openModel();
    for (const granted of [...endpoints.map(({ scope }) => scope), null]) {
      model.keys = [issue({ scopes: scopes.filter((scope) => scope === granted) })];
      for (const { path, scope } of endpoints) {
        const { status, body } = await get<object>(model, path, 'Bearer secret-key');
        expect([granted, path, status]).toEqual([
          granted,
          path,
          scope === granted || scope === null ? 200 : 403,
        ]);
        if (status === 403) expect(body).toEqual(errorBody);
      }
    }
  });

  it('is refused with 401 when inactive, and from its expiry on', async () => {
    const clock = virtualClock();
    const model = await openModel({ now: clock.now, keys: [issue({ expiresAt: clock.now() + 1_000 })] });
    const status = async () => (await get(model, '/api/v1/usage', 'Bearer secret-key')).status;
    clock.advance(999);
    expect(await status()).toBe(200);
    clock.advance(1);
    expect(await status()).toBe(401);
    model.keys = [issue()];
    expect(await status()).toBe(200);
    Object.assign(model.keys[0] ?? {}, { active: false });
    expect(await status()).toBe(401);
  });

  it('is refused with 403 from an address that it is not allowed at', async () => {
    const model = await openModel({ keys: [issue({ ips: ['192.0.2.0/24', '127.0.0.2'] })] });
    expect(await statusFrom(model.port, '127.0.0.1')).toBe(403);
    expect(await statusFrom(model.port, '127.0.0.2')).toBe(200);
    model.keys = [issue({ ips: ['127.0.0.0/31'] })];
    expect(await statusFrom(model.port, '127.0.0.1')).toBe(200);
    expect(await statusFrom(model.port, '127.0.0.2')).toBe(403);
    expect(model.calls.map((call) => call.refusedBy)).toEqual(['ip', null, null, 'ip']);
    expect(model.calls[1]?.remoteAddress).toBe('127.0.0.2');
  });

  it('never stands in the record of calls', async () => {
    const model = await openModel({ keys: [issue({ id: 'reader' })] });
    await get(model, '/api/v1/news', 'Bearer secret-key');
    await get(model, '/api/v1/news', 'Bearer stolen-key');
    await get(model, '/api/v1/news', null);
    expect(model.calls.map((call) => call.keyId)).toEqual(['reader', 'unknown', null]);
    expect(JSON.stringify(model.calls)).not.toMatch(/secret-key|stolen-key|authorization/i);
  });
});

function statusFrom(port: number, localAddress: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: 'Bearer secret-key' };
    request(
      { port, host: '127.0.0.1', localAddress, path: '/api/v1/usage', headers, agent: false },
      (response) => {
        response.resume().once('end', () => resolve(response.statusCode));
      },
    )
      .once('error', reject)
      .end();
  });
}
