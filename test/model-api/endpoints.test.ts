import { describe, expect, it } from 'vitest';
import { endpoints } from '../../model-api/index.ts';
import { get, openModel } from './support.ts';

describe('AI signals', () => {
  it('alone report the quota, and only where they succeed', async () => {
    const model = await openModel({ quota: { limit: 2, periodMs: 60_000 } });
    const reports = async (path: string) => (await get(model, path)).headers.has('x-ratelimit-limit');
    expect(await reports('/api/v1/ai-signals')).toBe(true);
    expect(await reports('/api/v1/news')).toBe(false);
    expect(await reports('/api/v1/ai-signals')).toBe(false);
  });
});

describe('the other lists', () => {
  it('keep their ids under names of their own', async () => {
    const model = await openModel({ newsWithoutIds: true });
    const first = async (path: string) => (await get(model, path)).body.rows[0] ?? {};
    expect(await first('/api/v1/news')).not.toHaveProperty('id');
    expect(await first('/api/v1/news')).toHaveProperty('url');
    expect(await first('/api/v1/smart-wallets')).toHaveProperty('address');
    expect(await first('/api/v1/meme-signals')).toHaveProperty('alertId');
  });
});

describe('every answer', () => {
  it('is 404 for unknown paths, and 405 for methods other than GET', async () => {
    const model = await openModel();
    for (const path of ['/', '/api/v1', '/api/v1/news/', '/api/v2/news', '//'])
      expect([path, (await get(model, path)).status]).toEqual([path, 404]);
    for (const { path } of endpoints) {
      const response = await fetch(model.url + path, { method: 'POST', body: '{}' });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET']);
    }
  });
});

describe('paging', () => {
  it.each([
    ['?offset=-5&limit=0', { offset: 0, limit: 1 }],

    ['?limit=101', { offset: 0, limit: 100 }],

    ['?offset=abc&limit=abc', { offset: 0, limit: 50 }],
    ['?offset=&limit=', { offset: 0, limit: 50 }],
  ])('takes the window %j for the nearest that may be asked for', async (query, expected) => {
    const { body } = await get(await openModel(), `/api/v1/news${query}`);
    expect(body.pagination).toMatchObject(expected);
  });
});
