import { expect, test, vi } from 'vitest';
import { startS3 } from '../../helpers/s3.ts';
import { setupMirrored } from './bench.ts';

const loaded: string[] = [];
vi.mock('aws4fetch', async (original) => {
  loaded.push('aws4fetch');
  return await original();
});

test('who has no lake in a bucket loads nothing for one', async () => {
  const { lake, run } = await setupMirrored(3);
  expect((await lake()).code).toBe(0);
  expect(loaded).toEqual([]);
  const { environment } = await startS3();
  expect((await run(['lake', 'news'], environment)).code).toBe(0);
  expect(loaded).toEqual(['aws4fetch']);
});
