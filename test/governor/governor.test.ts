import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { virtualClock } from '../../lab/simulate/clock.ts';
import { Failure, Snooze } from '../../src/errors.ts';
import { initialState } from '../../src/governor/state.ts';
import { gate } from '../helpers/gate.ts';
import { callFine, callOnce, fine, never, setup } from './bench.ts';

const HOUR = 3_600_000;

describe('the governor', () => {
  it('lets a first sync of 30 calls through with at most 3 s of waiting, and 1,000 with at most 10 s', async () => {
    const { clock, governor } = setup();
    const begin = clock.now();
    for (let call = 0; call < 30; call += 1) await callFine(governor);
    expect(clock.now() - begin).toBeLessThan(3_000);
    for (let call = 30; call < 1_000; call += 1) await callFine(governor);
    expect(clock.now() - begin).toBeLessThan(10_000);
  });

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

  it('waits for three seconds exactly, and asks twice', async () => {
    const { clock, governor, shared } = setup();
    const begin = clock.now();
    const outage = { failures: 1, resumeAt: begin + 3_000, toldAt: begin, isBlocked: false };
    const news = { forbidden: null, outage, seesQuota: false, askedAt: begin };
    shared.state = { ...initialState(), seenAt: begin, jobs: { news } };
    await governor.acquire('news', never);
    expect(clock.now() - begin).toBe(3_000);
    expect(shared.transactions).toBe(2);
  });

  it('ends a wait when its signal is aborted', async () => {
    const { governor } = setup();
    const complete = await governor.acquire('news', never);
    const stop = new AbortController();
    const waiting = governor.acquire('news', stop.signal);
    stop.abort(new Error('stop'));
    await expect(waiting).rejects.toThrow('stop');
    await expect(governor.acquire('news', stop.signal), 'and begins none').rejects.toThrow('stop');
    complete(fine);
    await governor.acquire('news', never);
  });

  it('blames no endpoint for a call that was stopped', async () => {
    const { governor, clock } = setup();
    for (let call = 0; call < 12; call += 1) {
      await callOnce(governor, { ...fine, status: null, stopped: true });
    }
    const begin = clock.now();
    const complete = await governor.acquire('news', never);
    expect(clock.now() - begin).toBeLessThan(1_000);
    // Nor are they counted among those that failed: one that does is soon tried again.
    complete({ ...fine, status: 503 });
    await governor.acquire('news', never);
    expect(clock.now() - begin).toBeLessThan(3_000);
  });

  it('leaves an endpoint alone that gave no response', async () => {
    const { governor, clock } = setup();
    await callOnce(governor, { ...fine, status: null });
    const begin = clock.now();
    const complete = await governor.acquire('usage', never);
    expect(clock.now() - begin).toBeLessThan(500);
    complete(fine);
    await governor.acquire('news', never);
    expect(clock.now() - begin).toBeGreaterThan(1_000);
  });

  describe('where a call was sent while another was in flight', () => {
    const both = async ({ governor }: ReturnType<typeof setup>) => {
      const news = await governor.acquire('news', never);
      const usage = await governor.acquire('usage', never);
      return { news, usage };
    };

    it('counts it with the other where it is accepted, and not the other with it', async () => {
      const bench = setup();
      for (let proofs = 1; proofs <= 6; proofs += 1) {
        const { news, usage } = await both(bench);
        news(fine);
        usage(fine);
        await bench.clock.sleep(1_000);
        expect(bench.shared.state?.concurrency.proven).toBe(proofs < 6 ? 1 : 2);
      }
    });

    it('blames a refusal of either on both', async () => {
      for (const job of ['news', 'usage'] as const) {
        const bench = setup();
        await callFine(bench.governor);
        const complete = await both(bench);
        complete[job]({ ...fine, status: 429 });
        await bench.clock.sleep(1);
        expect(bench.shared.state?.pause).toMatchObject({ cause: 'concurrency', inFlight: 2 });
      }
    });
  });

  it('keeps what it learnt for the next process', async () => {
    const { governor, shared, open } = setup();
    for (let call = 0; call < 30; call += 1) await callFine(governor);
    await governor.close();
    const pace = shared.state?.rate.perSecond ?? 0;
    expect(pace).toBeGreaterThan(100);
    expect(shared.state?.leases).toEqual({});
    const { clock, governor: next } = open('second');
    const begin = clock.now();
    for (let call = 0; call < 30; call += 1) await callFine(next);
    expect(clock.now() - begin).toBeLessThan(500);
  });

  it('lets the job go first whose data is furthest behind', async () => {
    const { governor } = setup({ lag: (job) => (job === 'late' ? 10 : 0) });
    const completeNews = await governor.acquire('news', never);
    const order: string[] = [];
    const both = ['fresh', 'late'].map(async (job) => {
      const complete = await governor.acquire(job, never);
      order.push(job);
      complete(fine);
    });
    completeNews(fine);
    await Promise.all(both);
    expect(order).toEqual(['late', 'fresh']);
  });

  it('goes on in time where the clock is set back while calls wait', async () => {
    const time = virtualClock();
    let behind = 0;
    const clock = { ...time, now: () => time.now() - behind };
    const { governor } = setup({}, clock);
    const completeNews = await governor.acquire('news', never);
    const waiting = governor.acquire('usage', never);
    behind = 3_600_000;
    const begin = time.now();
    const after = governor.acquire('meme-signals', never);
    completeNews(fine);
    const completeUsage = await waiting;
    completeUsage(fine);
    await after;
    expect(time.now() - begin).toBeLessThan(3_000);
  });

  it('tells who waits', async () => {
    const { governor } = setup();
    const complete = await governor.acquire('news', never);
    const waiting = governor.acquire('usage', never);
    expect([governor.waits('news'), governor.waits('usage')]).toEqual([false, true]);
    complete(fine);
    await waiting;
    expect(governor.waits('usage')).toBe(false);
  });

  it('says so before the governor makes a call wait, not where it goes at once or follows one of ours', async () => {
    const { governor } = setup();
    const held: string[] = [];
    const pass = (job: string) => governor.acquire(job, never, { onWait: () => void held.push(job) });
    for (let call = 0; call < 40; call += 1) await callFine(governor);
    const completeNews = await pass('news');
    const following = pass('usage');
    completeNews({ ...fine, status: 429, retryAfterMs: 1_000 });
    await vi.waitFor(() => expect(held).toContain('usage'));
    expect(held).not.toContain('news');
    const waiting = pass('news');
    await vi.waitFor(() => expect(held).toContain('news'));
    const completeUsage = await following;
    completeUsage(fine);
    await waiting;
  });

  it('lets no call go whose last word before it waits fails', async () => {
    const { governor } = setup();
    await callOnce(governor, { ...fine, status: 429, retryAfterMs: 1_000 });
    const full = () => {
      throw new Error('the disk is full');
    };
    await expect(governor.acquire('news', never, { onWait: full })).rejects.toThrow('the disk is full');
    expect(governor.waits('news')).toBe(false);
    await governor.acquire('usage', never);
  });

  it('gives unused permits back when it falls idle, so that others are not held up', async () => {
    const { governor, shared, clock } = setup();
    for (let call = 0; call < 30; call += 1) await callFine(governor);
    await clock.sleep(1_000);
    expect(shared.state?.leases).toEqual({});
  });

  it('changes the state no more where it has nothing to report, or was closed', async () => {
    const { governor, shared, clock } = setup();
    const complete = await governor.acquire('news', never);
    await callFine(governor);
    await clock.sleep(1_000);
    const before = shared.transactions;
    await governor.close();
    complete(fine);
    await clock.sleep(1_000);
    expect(shared.transactions).toBe(before);
  });

  it('does not let permits that one job no longer uses hold up another at the reserve', async () => {
    const { governor, clock } = setup();
    for (let remaining = 99; remaining > 10; remaining -= 1) {
      await callOnce(governor, { ...fine, limit: 100, remaining });
    }
    const begin = clock.now();
    await governor.acquire('usage', never);
    expect(clock.now() - begin).toBeLessThan(3_000);
  });

  it('spends few transactions where no limit is felt', async () => {
    const { governor, shared } = setup();
    for (let call = 0; call < 200; call += 1) await callFine(governor);
    const before = shared.transactions;
    for (let call = 0; call < 1_000; call += 1) await callFine(governor);
    expect(shared.transactions - before).toBeLessThan(250);
  });

  it.each([
    [199, 1],
    [200, 0],
    [299, 0],
    [300, 1],
    [null, 1],
  ])('tells of what was not accepted at once: of a %s in %i transactions', async (status, transactions) => {
    const { governor, shared } = setup();
    const complete = await governor.acquire('news', never);
    const before = shared.transactions;
    complete({ ...fine, status });
    expect(shared.transactions - before).toBe(transactions);
  });

  it('tells every other process of a refusal at once', async () => {
    const { governor, open } = setup();
    const { governor: other } = open('second');
    await callOnce(governor, { ...fine, status: 429, retryAfterMs: 60_000 });
    await expect(other.acquire('usage', never)).rejects.toBeInstanceOf(Snooze);
  });

  it('hears of a refusal of another process within a second, though it holds permits and calls wait for them', async () => {
    const { governor, open, clock } = setup();
    // Permits come in blocks where calls were quick.
    for (let call = 0; call < 300; call += 1) await callFine(governor);
    const { governor: other } = open('second');
    const completeUsage = await other.acquire('usage', never);
    let last = 0;
    const callAgain = async (): Promise<void> => {
      const complete = await governor.acquire('news', never);
      last = clock.now();
      await clock.sleep(900);
      complete(fine);
      return callAgain();
    };
    const ended = Promise.allSettled([callAgain(), callAgain(), callAgain()]);
    await clock.sleep(4_300);
    completeUsage({ ...fine, status: 429, retryAfterMs: 60_000 });
    const refusedAt = clock.now();
    await ended;
    expect(last - refusedAt).toBeLessThanOrEqual(1_000);
  });

  it('does not wait for the answer to a call whose process has died', async () => {
    const { clock, governor, open } = setup({ isGone: (owner) => owner === 'second' });
    await open('second').governor.acquire('news', never);
    await clock.sleep(1_000);
    await callOnce(governor, { ...fine, status: 429 });
    const begin = clock.now();
    await governor.acquire('news', never);
    expect(clock.now() - begin).toBeLessThan(3_000);
  });

  it('fails those who wait when the state cannot be kept, and goes on once it can', async () => {
    const { governor, shared } = setup();
    shared.broken = true;
    await expect(governor.acquire('news', never)).rejects.toThrow('disk');
    shared.broken = false;
    await callFine(governor);
  });
});

describe('a state on another machine', () => {
  it.each([1, -1])('lives by its own clock, which ours may be %i h from', async (hours) => {
    const { clock, governor, shared } = setup({ isRemote: true });
    shared.now = () => clock.now() + hours * HOUR;
    const begin = clock.now();
    for (let call = 0; call < 30; call += 1) await callFine(governor);
    expect(clock.now() - begin).toBeLessThan(3_000);
    const complete = await governor.acquire('news', never);
    expect(shared.state?.seenAt).toBe(shared.now());
    complete({ ...fine, status: 429, retryAfterMs: 60_000 });
    const until = clock.now() + 62_500 + 5 * 100;
    await expect(governor.acquire('news', never)).rejects.toMatchObject({ until: expect.closeTo(until, -4) });
    await clock.sleep(70_000);
    await callOnce(governor, { ...fine, status: 401 });
    const again = new Date(clock.now() + HOUR).toISOString();
    await expect(governor.acquire('news', never)).rejects.toThrow(again);
  });

  it('hears nothing of a clock that was set here, and one on this machine does', async () => {
    for (const isRemote of [true, false]) {
      const { clock, governor, shared } = setup(isRemote ? { isRemote } : {});
      await callFine(governor);
      await clock.sleep(1_000);
      const before = shared.transactions;
      governor.clockJumped();
      await clock.sleep(1_000);
      expect(shared.transactions - before).toBe(isRemote ? 0 : 1);
    }
  });

  it.each([
    ['what a response said ten seconds ago', true, 200, 10_000, 'header', 49],
    ['what one said longer ago, though it counts as made', true, 200, 10_001, null, null],
    ['a refusal, however old', true, 429, 60_000, null, null],
    ['on this machine, all of it', false, 200, 60_000, 'header', 49],
  ])('is told %s, once it can be told', async (_, isRemote, status, ms, source, level) => {
    const { clock, governor, shared } = setup(isRemote ? { isRemote } : {});
    const complete = await governor.acquire('news', never);
    shared.broken = true;
    complete({ ...fine, status, limit: 100, remaining: 49 });
    await clock.sleep(ms);
    shared.broken = false;
    await governor.close();
    expect(shared.state?.quota).toMatchObject({ source, level, responses: 1 });
    expect(shared.state?.prefetch.requests).toBe(1);
    expect(shared.state?.pause === null).toBe(status === 200);
    expect(shared.state?.jobs['news']?.outage).toBe(null);
  });

  it('is changed by one transaction of a process at a time', async () => {
    const { clock, governor, shared } = setup({ isRemote: true });
    await callFine(governor);
    await clock.sleep(1_000);
    const back = gate();
    shared.away = back.passed;
    const before = shared.begun;
    const waiting = governor.acquire('news', never);
    governor.keyChanged();
    // No time may pass meanwhile: after three seconds it would be out of reach.
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    expect(shared.begun - before).toBe(1);
    shared.away = undefined;
    back.open();
    await waiting;
    await clock.sleep(1);
    expect(shared.begun - before).toBeGreaterThan(1);
  });

  it('that is out of reach keeps nobody waiting longer than three seconds, and is used once it is back', async () => {
    const { clock, governor, shared } = setup({ isRemote: true });
    await callFine(governor);
    await clock.sleep(5_000);
    const back = gate();
    shared.away = back.passed;
    const begin = clock.now();
    const refused = { reason: 'account', until: begin + 5_000 };
    await expect(governor.acquire('news', never)).rejects.toMatchObject(refused);
    expect(clock.now() - begin).toBe(3_000);
    await expect(governor.acquire('usage', never)).rejects.toMatchObject(refused);
    expect(clock.now() - begin, 'nor the next one at all').toBe(3_000);
    shared.away = undefined;
    back.open();
    await clock.sleep(1);
    for (let call = 0; call < 5; call += 1) await callFine(governor);
  });

  it('gives a permit that is not used where a call was refused while it was on its way', async () => {
    const { clock, governor, shared } = setup({ isRemote: true });
    const complete = await governor.acquire('news', never);
    await clock.sleep(500);
    const back = gate();
    shared.away = back.passed;
    const next = governor.acquire('usage', never);
    complete({ ...fine, status: 429, retryAfterMs: 60_000 });
    shared.away = undefined;
    back.open();
    await expect(next).rejects.toMatchObject({ reason: 'retry_after' });
    await governor.close();
    expect(shared.state?.leases).toEqual({});
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
    const { governor, clock } = setup(broken(disk));
    const complete = await governor.acquire('news', never);
    // Both wait for the one that is under way to be answered, and the second to be served finds the disk broken.
    const waiting = ['usage', 'meme-signals', 'news'].map((job) => governor.acquire(job, never));
    const ended = Promise.allSettled(waiting);
    disk.fails = true;
    complete(fine);
    await clock.sleep(10_000);
    for (const { status } of await ended) expect(status).toBe('rejected');
    disk.fails = false;
    expect(governor.waits('usage')).toBe(false);
    for (let call = 0; call < 20; call += 1) await callFine(governor);
  });

  it('nothing is thrown out of a nap', async () => {
    const disk = { fails: false };
    const { governor, clock } = setup(broken(disk));
    const thrown: unknown[] = [];
    const hear = (reason: unknown) => thrown.push(reason);
    process.on('unhandledRejection', hear);
    onTestFinished(() => void process.off('unhandledRejection', hear));
    await callFine(governor);
    const waiting = Promise.allSettled([governor.acquire('news', never), governor.acquire('usage', never)]);
    disk.fails = true;
    await clock.sleep(10_000);
    for (const { status } of await waiting) expect(status).toBe('rejected');
    await new Promise((resolve) => setImmediate(resolve));
    expect(thrown).toEqual([]);
  });
});
