/** Questions of the page are calls of the account whose key opened it. */

import { expect, onTestFinished, test } from 'vitest';
import type { Limits } from '../../../src/serve/access/limits.ts';
import { linesIn, rowsIn, setupPage } from './support.ts';

const HOUR_MS = 3_600_000;
const ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
const allOfTheHour = { calls: 2, periodMs: HOUR_MS, kind: 'fixed' } as const;

async function setup(limits: Partial<Limits>) {
  const page = await setupPage({ walked: [] });
  const { key } = page.issue({ scopes: ['page:read', 'news:read'] }, limits);
  const cookie = await page.comeByKey(key);
  const question = async (sql = 'SELECT 1', signal?: AbortSignal) => {
    const answer = await page.post('/page/query', { sql, limit: 1 }, { cookie }, signal);
    return {
      status: answer.status,
      lines: linesIn(await answer.text()),
      retryAfter: answer.headers.get('retry-after'),
    };
  };
  const download = async () => {
    const answer = await page.get('/page/downloads/1?format=csv&sql=SELECT+1', { cookie });
    await answer.text();
    return answer.status;
  };
  const usage = async () => {
    const answer = await fetch(`${page.url}/api/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
    return (await answer.json()) as { limits: { quota: { remaining: number } | null }; byDay: object[] };
  };
  return { ...page, question, download, usage };
}

test('a question costs one call of the quota, as a download does, and a mistake none; above it is told when', async () => {
  const { question, download } = await setup({ quota: allOfTheHour });
  expect((await question('SELEC')).lines.at(-1)).toMatchObject({ failed: { kind: 'usage' } });
  expect(rowsIn((await question()).lines)).toEqual([[1]]);
  expect(await download()).toBe(200);
  const refused = await question();
  expect(refused).toMatchObject({ status: 429, lines: [{ failed: { kind: 'incomplete' } }] });
  expect(Number(refused.retryAfter)).toBeGreaterThan(60);
  expect(await download()).toBe(429);
});

test('above a rate it waits until it may, and whoever leaves meanwhile is no mistake of ours', async () => {
  const { question, ask, bench, log } = await setup({ rate: { calls: 1, periodMs: 5_000, burst: 1 } });
  await question();
  const leaving = new AbortController();
  const left = question('SELECT 2', leaving.signal);
  left.catch(() => undefined);
  let isAnswered = false;
  const second = question().finally(() => {
    isAnswered = true;
  });
  // Asked later, of no account: by then the other would have been answered, too.
  for (let times = 0; times < 3; times += 1) await ask({ sql: 'SELECT 1' });
  expect(isAnswered).toBe(false);
  leaving.abort();
  await expect(left).rejects.toThrow();
  await expect.poll(log).toMatch(/"route":"page-query"[^\n]*"status":499/);
  bench.clock.advance(5_000);
  expect(rowsIn((await second).lines)).toEqual([[1]]);
  expect(log()).not.toContain('AbortError');
});

test('above a concurrency it waits for the one before', async () => {
  const { question, ask } = await setup({ concurrency: 1 });
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const first = question(ENDLESS, leaving.signal);
  first.catch(() => undefined);
  let isAnswered = false;
  const second = question().finally(() => {
    isAnswered = true;
  });
  // Asked later, of no account: by then the other would have been answered, too.
  for (let times = 0; times < 3; times += 1) await ask({ sql: 'SELECT 1' });
  expect(isAnswered).toBe(false);
  leaving.abort();
  expect(rowsIn((await second).lines)).toEqual([[1]]);
});

test('usage and log tell whose questions they were; those who came by a link have no limits', async () => {
  const { question, usage, ask, log } = await setup({ quota: { ...allOfTheHour, calls: 1_000 } });
  await question();
  await expect
    .poll(async () => (await usage()).byDay)
    .toContainEqual(expect.objectContaining({ endpoint: 'page-query', calls: 1, status2xx: 1 }));
  expect(log()).toMatch(/"route":"page-query".*"account":"desk"/);
  for (let times = 0; times < 3; times += 1) expect(rowsIn(await ask({ sql: 'SELECT 1' }))).toEqual([[1]]);
});
