import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ServedProcess } from '../../../src/reading/query.ts';
import { openQueryProcesses } from '../../../src/serve/ui/query-processes.ts';
import { virtualClock } from '../../helpers/virtual-clock.ts';

const BOUNDS = { running: 2, waiting: 2, warm: 1, idleMs: 60_000, evictAfterMs: 300 };

type Made = ServedProcess & { ended: boolean; free: boolean };

function setup(bounds: Partial<typeof BOUNDS> = {}) {
  const clock = virtualClock();
  const made: Made[] = [];
  const nobodyAsks = async () => {
    throw new Error('nobody asks here');
  };
  const start = () => {
    const process: Made = {
      check: nobodyAsks,
      lines: nobodyAsks,
      file: nobodyAsks,
      send: nobodyAsks,
      free: true,
      ended: false,
      isFree: () => process.free && !process.ended,
      end() {
        process.ended = true;
      },
    };
    made.push(process);
    return process;
  };
  const processes = openQueryProcesses(clock, { ...BOUNDS, ...bounds }, start);
  onTestFinished(processes.close);
  const take = (owner = 'a', signal = new AbortController().signal) => {
    const taken = processes.take(owner, signal);
    // Those that still wait at the end of the test are let go.
    taken.catch(() => undefined);
    return taken;
  };
  const living = () => made.filter(({ ended }) => !ended).length;
  return { clock, processes, made, take, living };
}

describe('query processes', () => {
  test('are used again where they came to the end of their answer, else ended', async () => {
    const { made, take } = setup();
    const first = await take();
    expect(made).toHaveLength(2);
    first?.giveBack();
    const second = await take();
    const used = second?.queries as Made;
    expect(made).toContain(used);
    used.free = false;
    second?.giveBack();
    expect(used.ended).toBe(true);
    expect((await take())?.queries).not.toBe(used);
  });

  test('that ended while they waited serve nobody', async () => {
    const { processes, made, take } = setup();
    processes.warm();
    for (const process of made) process.ended = true;
    expect((await take())?.queries).toMatchObject({ ended: false });
  });

  test('are so many and one that waits, and no more', async () => {
    const { take, living } = setup();
    await Promise.all([take(), take()]);
    void take();
    void take();
    expect(living()).toBe(3);
    expect(await take()).toBeUndefined();
  });

  test('go to the viewer who has the fewest, and of his questions to the first', async () => {
    const { take } = setup();
    const [first, second] = [await take('a'), await take('a')];
    const turns: string[] = [];
    const wait = (owner: string, name: string) =>
      take(owner).then((loan) => {
        turns.push(name);
        return loan;
      });
    const waiting = [wait('a', 'third of a'), wait('b', 'first of b')];
    await setImmediate();
    first?.giveBack();
    await waiting[1];
    second?.giveBack();
    await waiting[0];
    expect(turns).toEqual(['first of b', 'third of a']);
  });

  test('are taken from the viewer who has most, for another who waits in vain, and the one who loses it is told so', async () => {
    const { clock, take } = setup();
    const greedy = [await take('a'), await take('a')];
    const newcomer = take('b');
    await setImmediate();
    clock.advance(299);
    expect(greedy.map((loan) => loan?.signal.aborted)).toEqual([false, false]);
    clock.advance(1);
    expect(greedy.map((loan) => loan?.signal.aborted)).toEqual([true, false]);
    expect(greedy[0]?.explain(new Error('ended'))).toMatchObject({
      kind: 'incomplete',
      message: expect.stringContaining('to make room for another viewer'),
    });
    greedy[0]?.giveBack();
    expect((await newcomer)?.signal.aborted).toBe(false);
  });

  test('stay with those who have one each, however long another waits', async () => {
    const { clock, take } = setup();
    const held = [await take('a'), await take('b')];
    const third = take('c');
    await setImmediate();
    clock.advance(10_000);
    expect(held.map((loan) => loan?.signal.aborted)).toEqual([false, false]);
    held[1]?.giveBack();
    expect(await third).toBeDefined();
  });

  test('are waited for by one viewer without keeping the queue from another', async () => {
    const { take } = setup();
    const [first] = [await take('a'), await take('a')];
    void take('a');
    void take('a');
    const newcomer = take('b');
    await setImmediate();
    // The house was full: the oldest had to go at once.
    expect(first?.signal.aborted).toBe(true);
    first?.giveBack();
    expect(await newcomer).toBeDefined();
  });

  test('are not kept for who has gone meanwhile', async () => {
    const { take } = setup();
    const [first] = [await take(), await take()];
    const leaving = new AbortController();
    const gone = take('a', leaving.signal);
    const next = take();
    leaving.abort();
    await expect(gone).rejects.toThrow('stopped');
    first?.giveBack();
    expect(await next).toBeDefined();
    await expect(take('a', AbortSignal.abort())).rejects.toThrow('stopped');
  });

  test('are given back once, however often that is said, also where another has them by then or they have ended', async () => {
    const { take, living } = setup({ warm: 0 });
    const [first, second] = [await take(), await take()];
    const next = take();
    first?.giveBack();
    const used = (await next)?.queries;
    expect(used).toBe(first?.queries);
    const last = take('b');
    // The process is another's by now.
    first?.giveBack();
    await setImmediate();
    (second?.queries as Made).ended = true;
    second?.giveBack();
    second?.giveBack();
    expect((await last)?.queries).not.toBe(used);
    expect(living()).toBeLessThan(4);
    // Their places are free again.
    const more = [take('c'), take('d')];
    expect(await take('e')).toBeUndefined();
    await expect(Promise.race([more[0], 'waits'])).resolves.toBe('waits');
  });

  test('end when nothing was asked for long, and with the service', async () => {
    const { clock, processes, take, living } = setup();
    processes.warm();
    processes.warm();
    expect(living()).toBe(1);
    clock.advance(BOUNDS.idleMs);
    expect(living()).toBe(0);
    await Promise.all([take(), take()]);
    const waiting = take();
    processes.close();
    await expect(waiting).rejects.toThrow('stopped');
    expect(living()).toBe(0);
    await expect(take()).rejects.toThrow('stopped');
  });
});
