/** The three limits of an account, and what answers say of them. The numbers are not shown: these are set. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, type Call, caller, callerWith, serviceOf } from './calls.ts';
import { implementations } from './implementations.ts';
import { scopes } from './specification.ts';

const HOUR = 3_600_000;
/** So long that none ends while a test runs. */
const PERIOD = 30 * 24 * HOUR;

const signals = 'ai-signals?limit=2';

describe.each(implementations)('limits of %s', (_, start) => {
  const service = serviceOf(start);

  describe('429: “The account quota, the request rate or the concurrency limit has been reached”', () => {
    it('the account quota', async () => {
      const call = await caller(service(), { limits: { quota: { calls: 3, periodMs: PERIOD } } });
      expect(await statusesOf(call, 5)).toEqual([200, 200, 200, 429, 429]);
    });

    it('the request rate', async () => {
      const rate = { calls: 1, periodMs: PERIOD, burst: 3 };
      const call = await caller(service(), { limits: { rate } });
      expect(await statusesOf(call, 5)).toEqual([200, 200, 200, 429, 429]);
    });

    it('the concurrency limit', async ({ skip }) => {
      const hold = service().hold ?? skip('its answers cannot be held');
      const call = await caller(service(), { limits: { concurrency: 2 } });
      const { count, release } = await hold();
      onTestFinished(release);
      const first = [call(signals), call(signals)];
      await expect.poll(count).toBe(2);
      expect(await statusesOf(call, 2)).toEqual([429, 429]);
      release();
      for (const answer of first) expect(await answer).toMatchObject({ status: 200 });
      expect(await statusesOf(call, 3)).toEqual([200, 200, 200]);
    });
  });

  describe('“only 429 and 503 are transient”', () => {
    it('a quota is full again when its period is over', async ({ skip }) => {
      const advance = service().advance ?? skip('its clock cannot be moved');
      const call = await caller(service(), { limits: { quota: { calls: 2, periodMs: HOUR } } });
      expect(await statusesOf(call, 3)).toEqual([200, 200, 429]);
      await advance(HOUR);
      expect(await statusesOf(call, 3)).toEqual([200, 200, 429]);
    });

    it('a rate lets in as many calls as have become due', async ({ skip }) => {
      const advance = service().advance ?? skip('its clock cannot be moved');
      const call = await caller(service(), { limits: { rate: { calls: 2, periodMs: HOUR, burst: 3 } } });
      expect(await statusesOf(call, 4)).toEqual([200, 200, 200, 429]);
      await advance(HOUR);
      expect(await statusesOf(call, 3)).toEqual([200, 200, 429]);
    });
  });

  it('“enforced per account”: for all its keys together', async () => {
    const limits = { quota: { calls: 3, periodMs: PERIOD } };
    const account = await service().openAccount(limits);
    const [one, other] = [await account.issueKey({ scopes }), await account.issueKey({ scopes })];
    const calls = [one, other].map((key) => callerWith(account.url, key));
    const statuses = [];
    for (const call of [...calls, ...calls]) statuses.push(...(await statusesOf(call, 1)));
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(await statusesOf(await caller(service(), { limits }), 1), 'another account').toEqual([200]);
  });

  describe('headers of AI signals: “X-RateLimit-Limit and X-RateLimit-Remaining”', () => {
    it('“the account request limit used for this reservation”', async () => {
      for (const calls of [1, 7, 1_000]) {
        const call = await caller(service(), { limits: { quota: { calls, periodMs: PERIOD } } });
        expect(reportOf(await call(signals)).limit).toBe(calls);
      }
    });

    it('“calls remaining in the applicable account quota pool after this successful response”', async () => {
      const call = await caller(service(), { limits: { quota: { calls: 4, periodMs: PERIOD } } });
      const remaining = [];
      for (let n = 0; n < 4; n++) remaining.push(reportOf(await call(signals)).remaining);
      expect(remaining).toEqual([3, 2, 1, 0]);
      expect(await statusesOf(call, 1)).toEqual([429]);
    });

    it('both are there where the account has no limits', async () => {
      const { limit, remaining } = reportOf(await (await caller(service()))(signals));
      expect(remaining).toBeLessThanOrEqual(limit);
    });
  });
});

async function statusesOf(call: Call, times: number): Promise<number[]> {
  const statuses = [];
  for (let n = 0; n < times; n++) statuses.push((await call(signals)).status);
  return statuses;
}

function reportOf({ headers }: Answer): { limit: number; remaining: number } {
  const [limit, remaining] = ['limit', 'remaining'].map((name) => {
    const text = headers[`x-ratelimit-${name}`];
    expect(text, `${name}: an integer`).toMatch(/^\d+$/);
    return Number(text);
  });
  return { limit: limit ?? Number.NaN, remaining: remaining ?? Number.NaN };
}
