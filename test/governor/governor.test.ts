/** Who waits for a permit, and what processes share. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { Failure, Snooze } from '../../src/base/errors.ts';
import { callFine, callOnce, fine, HOUR, MINUTE, never, SECOND, setup } from './bench.ts';

describe('the governor', () => {
  it('waits out a pause of three seconds, and snoozes a call at a longer one', async () => {
    // The jitter adds a twentieth.
    for (const [retryAfterMs, isWaitedFor] of [
      [2_857, true],
      [2_858, false],
    ] as const) {
      const { clock, governor } = setup();
      await callOnce(governor, { ...fine, status: 429, retryAfterMs });
      const until = clock.now() + 1.05 * retryAfterMs;
      const ended = await governor.acquire('news', never).catch((error: unknown) => error);
      expect(ended instanceof Snooze).toBe(!isWaitedFor);
      if (isWaitedFor) expect(clock.now()).toBeCloseTo(until, 3);
      else expect(ended).toMatchObject({ until: expect.closeTo(until, 3), reason: 'retry_after' });
    }
  });

  it('ends a wait when its signal is aborted', async () => {
    const { governor, clock } = setup();
    const complete = await governor.acquire('news', never);
    const stop = new AbortController();
    const waiting = governor.acquire('news', stop.signal);
    stop.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    await expect(governor.acquire('news', stop.signal), 'and begins none').rejects.toThrow('stop');
    expect(governor.waits('news')).toBe(false);
    complete(fine);
    await clock.sleep(SECOND);
    await governor.acquire('news', never);
  });

  it('lets the job go first whose data is furthest behind', async () => {
    const { governor, clock } = setup({ lag: (job) => (job === 'late' ? 10 : 0) });
    await callFine(governor);
    const order: string[] = [];
    const waiting = ['news', 'usage', 'late'].map(async (job) => {
      const complete = await governor.acquire(job, never);
      order.push(job);
      await clock.sleep(5);
      complete(fine);
    });
    await Promise.all(waiting);
    expect(order[0]).toBe('late');
  });
});

describe('processes that share a state', () => {
  it('share what was learnt, and every refusal at once', async () => {
    const { governor, open, state } = setup();
    const other = open('second');
    for (let call = 0; call < 30; call += 1) await callFine(governor);
    await callFine(other);
    await callOnce(governor, { ...fine, status: 429, retryAfterMs: MINUTE });
    await expect(other.acquire('usage', never)).rejects.toBeInstanceOf(Snooze);
    expect(state).toBeNull();
  });

  it('do not wait for a call whose process has died, and count it as made', async () => {
    const bench = setup({ isGone: (owner) => owner === 'second' });
    await callOnce(bench.governor, { ...fine, limit: 100, remaining: 50 });
    await bench.clock.sleep(SECOND);
    await bench.open('second').acquire('news', never);
    await bench.clock.sleep(SECOND);
    await callOnce(bench.governor, { ...fine, status: 429 });
    const begin = bench.clock.now();
    await bench.governor.acquire('news', never);
    expect(bench.clock.now() - begin).toBeLessThan(3_000);
    expect(bench.state.pools['']?.left).toBe(49);
  });

  it('wait no longer than a minute for one that says nothing', async () => {
    const { governor, open, clock } = setup({ longestWaitMs: HOUR });
    const silent = open('second');
    await silent.acquire('news', never);
    await clock.sleep(SECOND);
    await silent.acquire('usage', never);
    const begin = clock.now();
    await governor.acquire('news', never);
    expect(clock.now() - begin).toBeLessThanOrEqual(65_100);
  });

  it('fail who waits when the state cannot be kept, and go on once it can', async () => {
    const { governor, shared } = setup();
    shared.broken = true;
    await expect(governor.acquire('news', never)).rejects.toThrow('disk');
    shared.broken = false;
    await callFine(governor);
  });
});

describe.each([
  [401, /the API refused the key; it is tried again at \d{4}-\S+Z; .*market-mirror doctor/],
  [403, /news: the key lacks the scope .*; it is tried again at \d{4}-\S+Z; .*market-mirror doctor/],
])('a key that was refused by a %i', (status, line) => {
  const runner = () => {
    const bench = setup();
    return async (key: string, retryRefused = false) => {
      await bench.clock.sleep(SECOND);
      const governor = bench.open(key, { keyDigest: (salt) => `${salt.length}${key}`, retryRefused });
      return await callOnce(governor, { ...fine, status: key === 'good' ? 200 : status }).then(
        () => undefined,
        (error: Error) => error,
      );
    };
  };

  it('is not tried again by the next process; the line says when, and how to try now', async () => {
    const run = runner();
    expect(await run('revoked')).toBeUndefined();
    const refused = await run('revoked');
    expect(refused).toBeInstanceOf(Failure);
    expect(refused?.message).toMatch(line);
  });

  it('is tried at once where a person wants it, and another key in any case', async () => {
    const run = runner();
    await run('revoked');
    expect(await run('revoked', true)).toBeUndefined();
    expect(await run('revoked')).toBeInstanceOf(Failure);
    expect(await run('good')).toBeUndefined();
    expect(await run('good')).toBeUndefined();
  });

  it('is tried by a process that is told of another one', async () => {
    const { governor, clock } = setup();
    await callOnce(governor, { ...fine, status });
    await clock.sleep(SECOND);
    governor.keyChanged();
    await governor.acquire('news', never);
  });
});

describe("where a job's lag cannot be read", () => {
  const broken = (disk: { fails: boolean }) => ({
    lag: () => {
      if (disk.fails) throw new Failure('disk', 'the database cannot be read');
      return 0;
    },
  });

  it('who waits is told so, nothing is thrown out of a nap, and later calls go on', async () => {
    const disk = { fails: false };
    const { governor, clock } = setup(broken(disk));
    const thrown: unknown[] = [];
    const hear = (reason: unknown) => thrown.push(reason);
    process.on('unhandledRejection', hear);
    onTestFinished(() => void process.off('unhandledRejection', hear));
    await callFine(governor);
    const waiting = ['usage', 'meme-signals', 'news'].map((job) => governor.acquire(job, never));
    const ended = Promise.allSettled(waiting);
    disk.fails = true;
    await clock.sleep(10_000);
    expect((await ended).filter(({ status }) => status === 'rejected').length).toBeGreaterThanOrEqual(2);
    disk.fails = false;
    expect(governor.waits('usage')).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(thrown).toEqual([]);
  });
});
