import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type ApiKey, scopes } from '../../model-api/index.ts';
import { get, openModel } from './support.ts';

const issue = (about: Partial<ApiKey> = {}): ApiKey => ({ id: 'k', key: 'secret-key', scopes, ...about });

describe('a key', () => {
  it('that is wrong is refused with the one code that the specification names', async () => {
    const { status, body } = await get<object>(await openModel(), '/api/v1/news', 'Bearer wrong');
    expect([status, body]).toMatchObject([401, { error: 'invalid_api_key' }]);
  });

  it('may be bound to a subnet', async () => {
    const model = await openModel({ keys: [issue({ ips: ['192.0.2.0/24', '127.0.0.2/31'] })] });
    expect(await statusFrom(model.port, '127.0.0.1')).toBe(403);
    expect(await statusFrom(model.port, '127.0.0.2')).toBe(200);
    expect(model.calls.map(({ refusedBy, remoteAddress }) => [refusedBy, remoteAddress])).toEqual([
      ['ip', '127.0.0.1'],
      [null, '127.0.0.2'],
    ]);
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
