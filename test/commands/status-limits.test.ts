import { describe, expect, it } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import type { Status } from '../../src/reading/status.ts';
import { setupSync } from '../helpers/sync-bench.ts';

type Bench = Awaited<ReturnType<typeof setupSync>>;

async function statusOf({ run }: Bench): Promise<Status> {
  return JSON.parse((await run(['status', '--json'])).stdout) as Status;
}

describe('the status tells of the account', () => {
  it('what is left of the quota, what is kept back, and what the mirror does not know yet', async () => {
    const bench = await setupSync({ quota: { limit: 100, periodMs: 3_600_000 } });
    await bench.sync('ai-signals');
    const { quota, rate, waits } = await statusOf(bench);
    expect(quota).toMatchObject({ limit: 100, remaining: 98, othersPerHour: 0, refill: { kind: 'unknown' } });
    expect(quota.reserve).toBeGreaterThan(0);
    expect(rate).toMatchObject({ perSecond: null, confidence: 'none' });
    expect(waits).toEqual([]);
  });

  it('what each job called in the last hour and the last day', async () => {
    const bench = await setupSync();
    await bench.sync('news');
    const news = bench.model.calls.length;
    bench.clock.advance(2 * 3_600_000);
    await bench.sync('usage');
    const { calls } = await statusOf(bench);
    expect(calls.byJob).toEqual({
      news: { lastHour: 0, lastDay: news },
      usage: { lastHour: 1, lastDay: 1 },
    });
    expect(calls).toMatchObject({ lastHour: 1, lastDay: news + 1 });
  });

  it('what waits until when, and why', async () => {
    const bench = await setupSync({ quota: { limit: 100, periodMs: 3_600_000 } });
    await bench.sync('ai-signals');
    const limited = when({ endpoint: 'news' }, faults.refuse(429, { retryAfter: '1800' }));
    bench.model.faults.push(limited);
    await bench.sync('news', '--no-wait');
    const { waits, datasets, problems } = await statusOf(bench);
    expect(waits).toMatchObject([{ job: null, reason: 'retry_after' }]);
    const news = datasets.find(({ job }) => job === 'news');
    expect(news?.doing).toMatchObject({ state: 'waiting', reason: 'retry_after' });
    expect(Date.parse(news?.doing.until ?? '')).toBeGreaterThan(bench.clock.now() + 1_790_000);
    expect(problems.find(({ job }) => job === 'news')?.advice).toMatch(/; next try 2026/);
  });

  it('that the key is refused, until another is tried', async () => {
    const bench = await setupSync();
    await bench.sync('usage');
    bench.key.active = false;
    await bench.sync('usage');
    const refused = await statusOf(bench);
    expect(refused.problems[0]).toMatchObject({ code: 'key-refused', exitCode: 77 });
    expect(refused.exitCode).toBe(77);
    bench.key.active = true;
    bench.clock.advance(2 * 3_600_000);
    await bench.sync('usage');
    expect((await statusOf(bench)).problems.map(({ code }) => code)).not.toContain('key-refused');
  });

  it('that one scope is missing, of that dataset alone', async () => {
    const bench = await setupSync();
    bench.key.scopes = bench.key.scopes.filter((scope) => scope !== 'news:read');
    await bench.sync();
    const { problems, exitCode } = await statusOf(bench);
    expect(problems.filter(({ level }) => level === 'error').map(({ code, job }) => [code, job])).toEqual([
      ['scope-missing', 'news'],
      ['never-complete', 'news'],
    ]);
    expect(exitCode).toBe(77);
  });
});
