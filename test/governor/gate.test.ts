import { describe, expect, it, vi } from 'vitest';
import { virtualClock } from '../../lab/simulate/clock.ts';
import { Failure, Snooze } from '../../src/errors.ts';
import { callFine, fine, never, setup as setupGates } from './gate-bench.ts';

describe.each([
  { where: 'here', isElsewhere: false },
  { where: 'elsewhere', isElsewhere: true },
])('the gate, whose state lies $where', ({ isElsewhere }) => {
  const setup = (parts?: Parameters<typeof setupGates>[0], clock?: Parameters<typeof setupGates>[1]) =>
    setupGates(parts, clock, isElsewhere);

  it('lets a first sync of 30 calls through with at most 3 s of waiting, and 1,000 with at most 10 s', async () => {
    const { clock, gate } = setup();
    const begin = clock.now();
    for (let call = 0; call < 30; call += 1) await callFine(gate);
    expect(clock.now() - begin).toBeLessThan(3_000);
    for (let call = 30; call < 1_000; call += 1) await callFine(gate);
    expect(clock.now() - begin).toBeLessThan(10_000);
  });

  it('snoozes a call when the wait is longer than the patience', async () => {
    const { clock, gate } = setup();
    await gate.pass('news', never);
    gate.settle('news', { ...fine, status: 429, retryAfterMs: 60_000 });
    const thrown = await gate.pass('news', never).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Snooze);
    expect((thrown as Snooze).reason).toBe('retry_after');
    expect((thrown as Snooze).until).toBeGreaterThanOrEqual(clock.now() + 60_000);
  });

  it('refuses every call after a 401 until the key changes', async () => {
    const { gate } = setup();
    await gate.pass('news', never);
    gate.settle('news', { ...fine, status: 401 });
    await expect(gate.pass('usage', never)).rejects.toBeInstanceOf(Failure);
    gate.keyChanged();
    await gate.pass('usage', never);
  });

  it('ends a wait when its signal is aborted', async () => {
    const { gate } = setup();
    await gate.pass('news', never);
    const stop = new AbortController();
    const waiting = gate.pass('news', stop.signal);
    stop.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    gate.settle('news', fine);
    await gate.pass('news', never);
  });

  it('blames no endpoint for a call that was stopped', async () => {
    const { gate, clock } = setup();
    for (let call = 0; call < 12; call += 1) {
      await gate.pass('news', never);
      gate.settle('news', { ...fine, status: null, stopped: true });
    }
    const begin = clock.now();
    await gate.pass('news', never);
    expect(clock.now() - begin).toBeLessThan(1_000);
    // Nor are they counted among those that failed: one that does is soon tried again.
    gate.settle('news', { ...fine, status: 503 });
    await gate.pass('news', never);
    expect(clock.now() - begin).toBeLessThan(3_000);
  });

  it('keeps what it learnt for the next process', async () => {
    const { gate, shared, open } = setup();
    for (let call = 0; call < 30; call += 1) await callFine(gate);
    await gate.close();
    const pace = shared.state?.rate.perSecond ?? 0;
    expect(pace).toBeGreaterThan(100);
    expect(shared.state?.leases).toEqual({});
    const { clock, gate: next } = open('second');
    const begin = clock.now();
    for (let call = 0; call < 30; call += 1) await callFine(next);
    expect(clock.now() - begin).toBeLessThan(500);
  });

  it('lets the job go first whose data is furthest behind', async () => {
    const { gate } = setup({ lag: (job) => (job === 'late' ? 10 : 0) });
    await gate.pass('news', never);
    const order: string[] = [];
    const both = ['fresh', 'late'].map(async (job) => {
      await gate.pass(job, never);
      order.push(job);
      gate.settle(job, fine);
    });
    gate.settle('news', fine);
    await Promise.all(both);
    expect(order).toEqual(['late', 'fresh']);
  });

  it('goes on in time where the clock is set back while calls wait', async () => {
    const time = virtualClock();
    let behind = 0;
    const clock = { ...time, now: () => time.now() - behind };
    const { gate } = setup({}, clock);
    await gate.pass('news', never);
    const waiting = gate.pass('usage', never);
    behind = 3_600_000;
    const begin = time.now();
    const after = gate.pass('meme-signals', never);
    gate.settle('news', fine);
    await waiting;
    gate.settle('usage', fine);
    await after;
    expect(time.now() - begin).toBeLessThan(3_000);
  });

  it('tells who waits', async () => {
    const { gate } = setup();
    await gate.pass('news', never);
    const waiting = gate.pass('usage', never);
    expect([gate.waits('news'), gate.waits('usage')]).toEqual([false, true]);
    gate.settle('news', fine);
    await waiting;
    expect(gate.waits('usage')).toBe(false);
  });

  it('says so before the governor makes a call wait, not where it goes at once or follows one of ours', async () => {
    const { gate } = setup();
    const held: string[] = [];
    const pass = (job: string) => gate.pass(job, never, { held: () => void held.push(job) });
    for (let call = 0; call < 40; call += 1) await callFine(gate);
    await pass('news');
    const following = pass('usage');
    gate.settle('news', { ...fine, status: 429, retryAfterMs: 1_000 });
    await vi.waitFor(() => expect(held).toContain('usage'));
    expect(held).not.toContain('news');
    const waiting = pass('news');
    await vi.waitFor(() => expect(held).toContain('news'));
    await following;
    gate.settle('usage', fine);
    await waiting;
  });

  it('lets no call go whose last word before it waits fails', async () => {
    const { gate } = setup();
    await gate.pass('news', never);
    gate.settle('news', { ...fine, status: 429, retryAfterMs: 1_000 });
    const full = () => {
      throw new Error('the disk is full');
    };
    await expect(gate.pass('news', never, { held: full })).rejects.toThrow('the disk is full');
    expect(gate.waits('news')).toBe(false);
    await gate.pass('usage', never);
  });

  it('gives unused permits back when it falls idle, so that others are not held up', async () => {
    const { gate, shared, clock } = setup();
    for (let call = 0; call < 30; call += 1) await callFine(gate);
    await clock.sleep(1_000);
    expect(shared.state?.leases).toEqual({});
  });

  it('does not let permits that one job no longer uses hold up another at the reserve', async () => {
    const { gate, clock } = setup();
    for (let remaining = 99; remaining > 10; remaining -= 1) {
      await gate.pass('news', never);
      gate.settle('news', { ...fine, limit: 100, remaining });
    }
    const begin = clock.now();
    await gate.pass('usage', never);
    expect(clock.now() - begin).toBeLessThan(3_000);
  });

  it('spends few transactions where no limit is felt', async () => {
    const { gate, shared } = setup();
    for (let call = 0; call < 200; call += 1) await callFine(gate);
    const before = shared.transactions;
    for (let call = 0; call < 1_000; call += 1) await callFine(gate);
    expect(shared.transactions - before).toBeLessThan(250);
  });

  it('tells every other process of a refusal at once', async () => {
    const { gate, open } = setup();
    const { gate: other } = open('second');
    await gate.pass('news', never);
    gate.settle('news', { ...fine, status: 429, retryAfterMs: 60_000 });
    await expect(other.pass('usage', never)).rejects.toBeInstanceOf(Snooze);
  });

  it('does not wait for the answer to a call whose process has died', async () => {
    const { clock, gate, open } = setup({ isGone: (owner) => owner === 'second' });
    await open('second').gate.pass('news', never);
    await clock.sleep(1_000);
    await gate.pass('news', never);
    gate.settle('news', { ...fine, status: 429 });
    const begin = clock.now();
    await gate.pass('news', never);
    expect(clock.now() - begin).toBeLessThan(3_000);
  });

  it('fails those who wait when the state cannot be kept, and goes on once it can', async () => {
    const { gate, shared } = setup();
    shared.broken = true;
    await expect(gate.pass('news', never)).rejects.toThrow('disk');
    shared.broken = false;
    await callFine(gate);
  });
});

describe("where a job's lag cannot be read", () => {
  const broken = (shared: { fails: boolean }) => ({
    lag: () => {
      if (shared.fails) throw new Failure('disk', 'the database cannot be read');
      return 0;
    },
  });

  it('who waits is told so, holds no place, and later calls go on', async () => {
    const disk = { fails: false };
    const { gate, clock } = setupGates(broken(disk));
    await gate.pass('news', never);
    // Both wait for the one that is under way to be answered, and the second to be served finds the disk broken.
    const waiting = ['usage', 'meme-signals', 'news'].map((job) => gate.pass(job, never));
    const ended = Promise.allSettled(waiting);
    disk.fails = true;
    gate.settle('news', fine);
    await clock.sleep(10_000);
    for (const { status } of await ended) expect(status).toBe('rejected');
    disk.fails = false;
    expect(gate.waits('usage')).toBe(false);
    for (let call = 0; call < 20; call += 1) await callFine(gate);
  });

  it('nothing is thrown out of a nap', async () => {
    const disk = { fails: false };
    const { gate, clock } = setupGates(broken(disk));
    const thrown: unknown[] = [];
    const hear = (reason: unknown) => thrown.push(reason);
    process.on('unhandledRejection', hear);
    await callFine(gate);
    const waiting = Promise.allSettled([gate.pass('news', never), gate.pass('usage', never)]);
    disk.fails = true;
    await clock.sleep(10_000);
    for (const { status } of await waiting) expect(status).toBe('rejected');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', hear);
    expect(thrown).toEqual([]);
  });
});
