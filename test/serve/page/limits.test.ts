/** Questions of the page are calls of the account whose key opened it. */

import { expect, test } from 'vitest';
import type { Limits } from '../../../src/serve/access/limits.ts';
import { limitsOf } from '../support.ts';
import { linesIn, rowsIn, setupPage } from './support.ts';

async function setup(limits: Partial<Limits>) {
  const page = await setupPage({ walked: [] });
  const { key } = page.issue({ scopes: ['page:read', 'news:read'] }, limits);
  const cookie = await page.comeByKey(key);
  const question = async (sql = 'SELECT 1', signal?: AbortSignal) => {
    const answer = await page.post('/page/query', { sql, limit: 1 }, { cookie }, signal);
    const retryAfter = answer.headers.get('retry-after');
    return { status: answer.status, lines: linesIn(await answer.text()), retryAfter };
  };
  /** Answered later than a question of no account that was asked later: by then it would have been, too. */
  async function expectWaiting(asked: Promise<unknown>): Promise<void> {
    let isAnswered = false;
    void asked.finally(() => {
      isAnswered = true;
    });
    for (let times = 0; times < 3; times += 1) await page.ask({ sql: 'SELECT 1' });
    expect(isAnswered).toBe(false);
  }
  return { ...page, key, cookie, question, expectWaiting };
}

test('a question costs one call of the quota, as a download does, and a mistake none; above it is told when; usage and log tell whose it was', async () => {
  const { question, get, cookie, key, url, log } = await setup(limitsOf('2/1h'));
  const download = async () => {
    const answer = await get('/page/downloads/1?format=csv&sql=SELECT+1', { cookie });
    await answer.text();
    return answer.status;
  };
  expect((await question('SELEC')).lines.at(-1)).toMatchObject({ failed: { kind: 'usage' } });
  expect(rowsIn((await question()).lines)).toEqual([[1]]);
  expect(await download()).toBe(200);
  const refused = await question();
  expect(refused).toMatchObject({ status: 429, lines: [{ failed: { kind: 'incomplete' } }] });
  expect(Number(refused.retryAfter)).toBeGreaterThan(60);
  expect(await download()).toBe(429);
  const usage = await fetch(`${url}/api/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
  expect(usage.status).toBe(429);
  expect(log()).toMatch(/"route":"page-query".*"account":"desk"/);
});

test('above a rate it waits until it may, and whoever leaves meanwhile is no mistake of ours', async () => {
  const { question, expectWaiting, bench, log } = await setup(limitsOf(null, '1/5s+1'));
  await question();
  const leaving = new AbortController();
  const left = question('SELECT 2', leaving.signal);
  left.catch(() => undefined);
  const second = question();
  await expectWaiting(second);
  leaving.abort();
  await expect(left).rejects.toThrow();
  await expect.poll(log).toMatch(/"route":"page-query"[^\n]*"status":499/);
  bench.clock.advance(5_000);
  expect(rowsIn((await second).lines)).toEqual([[1]]);
  expect(log()).not.toContain('AbortError');
});
