import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Asker } from '../../../src/reading/query.ts';
import { openAskers } from '../../../src/serve/page/askers.ts';

const BOUNDS = { most: 2, waiting: 2, warm: 1, idleMs: 60_000 };

type Made = Asker & { ended: boolean; free: boolean };

function setup() {
  const made: Made[] = [];
  const start = () => {
    const asker: Made = {
      ask: async () => {
        throw new Error('nobody asks here');
      },
      free: true,
      ended: false,
      isFree: () => asker.free && !asker.ended,
      end() {
        asker.ended = true;
      },
    };
    made.push(asker);
    return asker;
  };
  const askers = openAskers(BOUNDS, start);
  onTestFinished(askers.close);
  const take = (signal = new AbortController().signal) => askers.take(signal);
  const living = () => made.filter(({ ended }) => !ended).length;
  return { askers, made, take, living };
}

describe('processes that answer', () => {
  test('are used again where they came to the end of their answer, else ended', async () => {
    const { made, take } = setup();
    (await take())?.giveBack();
    (await take())?.giveBack();
    expect(made).toHaveLength(1);
    const lease = await take();
    (made[0] as Made).free = false;
    lease?.giveBack();
    expect([made[0]?.ended, made.length]).toEqual([true, 2]);
    await take();
    expect(made).toHaveLength(2);
  });

  test('are so many and no more; some wait, the first one first; whoever comes then is told so', async () => {
    const { take, living } = setup();
    const [first, second] = [await take(), await take()];
    const turns: string[] = [];
    const third = take().then((lease) => {
      turns.push('third');
      return lease;
    });
    const fourth = take().then((lease) => {
      turns.push('fourth');
      return lease;
    });
    expect(await take()).toBeUndefined();
    expect(living()).toBe(2);
    first?.giveBack();
    (await third)?.giveBack();
    expect(await fourth).toBeDefined();
    expect(turns).toEqual(['third', 'fourth']);
    second?.giveBack();
    expect(living()).toBe(2);
  });

  test('are not kept for who has gone meanwhile', async () => {
    const { take } = setup();
    const [first] = [await take(), await take()];
    const leaving = new AbortController();
    const gone = take(leaving.signal);
    const next = take();
    leaving.abort();
    expect(await gone).toBeUndefined();
    first?.giveBack();
    expect(await next).toBeDefined();
    expect(await take(AbortSignal.abort())).toBeUndefined();
  });

  test('are given back once, however often that is said', async () => {
    const { take, living } = setup();
    const [first] = [await take(), await take()];
    first?.giveBack();
    first?.giveBack();
    await take();
    expect(living()).toBe(2);
  });

  test('end when nothing was asked for long, and with the service', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { askers, take, living } = setup();
    askers.warm();
    askers.warm();
    expect(living()).toBe(1);
    vi.advanceTimersByTime(BOUNDS.idleMs);
    expect(living()).toBe(0);
    const [, , waiting] = [await take(), await take(), take()];
    askers.close();
    expect(await waiting).toBeUndefined();
    expect(living()).toBe(0);
    expect(await take()).toBeUndefined();
  });
});
