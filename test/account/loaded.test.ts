import { expect, test, vi } from 'vitest';
import { freePort } from '../helpers/loopback.ts';
import { setupSync } from '../helpers/sync-bench.ts';

const loaded: string[] = [];
vi.mock('../../src/account.ts', async (original) => {
  loaded.push('account');
  return await original();
});
vi.mock('ioredis', async (original) => {
  loaded.push('ioredis');
  return await original();
});

test('who shares no limits loads nothing for it', async () => {
  const { run } = await setupSync({ rows: 3 });
  const REDIS_URL = `redis://127.0.0.1:${await freePort()}`;
  expect((await run(['sync', 'news'], { REDIS_URL })).code).toBe(0);
  expect(loaded).toEqual([]);
  expect((await run(['sync', 'news'], { REDIS_URL, MIRROR_ACCOUNT: 'desk' })).code).toBe(75);
  expect(loaded.sort()).toEqual(['account', 'ioredis']);
});
