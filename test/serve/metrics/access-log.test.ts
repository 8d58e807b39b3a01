import { expect, test } from 'vitest';
import { getter } from '../client.ts';
import { setupWatched } from './support.ts';

test('each call leaves one line, with nothing in it that the client made up', async () => {
  const { url, issue, log } = await setupWatched({ walked: ['news'] });
  const { key, record } = issue({ name: 'desk', account: 'research' });
  const get = getter(url, key);
  const { headers, bytes } = await get('/api/v1/news?q=words&limit=3');
  await getter(url, 'mmkey_wrong')('/api/v1/news');
  await get('/api/v1/secret-path?with=words', { 'user-agent': 'made-up-agent' });
  const lines = log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'answered');
  expect(lines.map(({ route, status, keyId }) => [route, status, keyId])).toEqual([
    ['news', 200, record.id],
    ['news', 401, null],
    ['other', 404, null],
  ]);
  expect(lines[0]).toEqual({
    level: 30,
    time: expect.any(Number),
    msg: 'answered',
    requestId: headers['x-request-id'],
    route: 'news',
    method: 'GET',
    status: 200,
    ms: expect.any(Number),
    bytes: bytes.length,
    address: '127.0.0.1',
    keyId: record.id,
    account: 'research',
    limit: null,
  });
  for (const said of [key, 'mmkey_', 'words', 'secret-path', 'made-up', 'Bearer'])
    expect(log()).not.toContain(said);
});
