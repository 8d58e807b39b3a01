import { describe, expect, it } from 'vitest';
import { createLimits, type LimitOptions, type QuotaKind, retryAfterSeconds } from '../../model-api/index.ts';
import { get, openModel, virtualClock } from './support.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** The times, out of all that were tried, at which a call was let in. */
function admitted(options: LimitOptions, tries: readonly number[]): number[] {
  const limits = createLimits(options);
  return tries.filter((at) => {
    const entry = limits.enter(at);
    if ('by' in entry) return false;
    entry.leave();
    return true;
  });
}

const every = (stepMs: number, untilMs: number) =>
  Array.from({ length: untilMs / stepMs }, (_, n) => n * stepMs);
const quota = (limit: number, periodMs: number, kind: QuotaKind) => ({
  quota: { limit, periodMs, kind },
});

describe('a quota', () => {
  it('of fixed windows is full again on the grid of the epoch', () => {
    const tries = every(10 * SECOND, 3 * MINUTE);
    expect(admitted(quota(2, MINUTE, 'fixed'), tries)).toEqual([0, 10_000, 60_000, 70_000, 120_000, 130_000]);
  });

  it('of a sliding window lets in a call one period after the one that it replaces', () => {
    const tries = [0, 20, 30, 59, 60, 61, 79, 80, 119, 120, 139, 140].map((at) => at * SECOND);
    expect(admitted(quota(2, MINUTE, 'sliding'), tries)).toEqual(
      [0, 20, 60, 80, 120, 140].map((at) => at * SECOND),
    );
  });

  it.each(['fixed', 'sliding', 'refill'] as const)(
    'of kind %s says truly when it will allow a call',
    (kind) => {
      const limits = createLimits(quota(7, MINUTE, kind));
      let now = 0;
      for (let call = 0; call < 60; call++) {
        now += 613 * (call % 5);
        const entry = limits.enter(now);
        if (!('by' in entry)) continue;
        expect(limits.quota.readyAt(entry.readyAt - 1)).toBe(entry.readyAt);
        expect(limits.enter(entry.readyAt - 1)).toHaveProperty('by', 'quota');
        expect(limits.enter(entry.readyAt)).not.toHaveProperty('by');
        now = entry.readyAt;
      }
    },
  );
});

describe('a request rate', () => {
  it('lets in a burst, then so many calls a second', () => {
    const tries = every(100, 2_000);
    expect(admitted({ rate: { perSecond: 2, burst: 3 } }, tries)).toEqual([0, 100, 200, 500, 1_000, 1_500]);
    expect(admitted({ rate: 10 }, tries)).toEqual(tries);
    expect(admitted({ rate: 0.5 }, every(500, 6_000))).toEqual([0, 2_000, 4_000]);
  });
});

describe('a limit that is reached', () => {
  const path = '/api/v1/ai-signals';

  it.each([['seconds', retryAfterSeconds, '40']] as const)(
    'can say in Retry-After when to come back, as %s',
    async (_, retryAfter, expected) => {
      const clock = virtualClock();
      const model = await openModel({ now: clock.now, retryAfter, ...quota(1, MINUTE, 'fixed') });
      await get(model, path);
      clock.advance(20 * SECOND);
      expect((await get(model, path)).headers.get('retry-after')).toBe(expected);
    },
  );

  it('frees the place of a call whose client has gone away', async () => {
    const model = await openModel({ concurrency: 1, latencyMs: 300_000 });
    const leaving = new AbortController();
    const call = fetch(`${model.url}${path}`, {
      headers: { authorization: 'Bearer sample-key-of-the-model-api' },
      signal: leaving.signal,
    });
    await expect.poll(() => model.limits.inFlight).toBe(1);
    leaving.abort();
    await expect(call).rejects.toThrow('aborted');
    await expect.poll(() => model.limits.inFlight).toBe(0);
    expect(model.calls[0]?.sent).toBe(false);
  });
});
