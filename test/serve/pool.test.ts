/** The processes of the service: first come, first served, half of them an account at most. */

import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { ServedProcess } from '../../src/reading/query.ts';
import { openPool } from '../../src/serve/answers/pool.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

type Made = ServedProcess & { ended: boolean; free: boolean };

function setup() {
  const clock = virtualClock();
  const made: Made[] = [];
  const nobodyAsks = async () => {
    throw new Error('nobody asks here');
  };
  const start = () => {
    const process: Made = {
      ...{ check: nobodyAsks, lines: nobodyAsks, file: nobodyAsks, free: true, ended: false },
      send: async (request) => request as never,
      isFree: () => process.free && !process.ended,
      end() {
        process.ended = true;
      },
    };
    made.push(process);
    return process;
  };
  const pool = openPool(clock, {}, start);
  onTestFinished(pool.close);
  const take = (account: string, gone = new AbortController().signal) => {
    const taken = pool.take(account, gone);
    // Those that still wait at the end of the test are let go.
    taken.catch(() => undefined);
    return taken;
  };
  const living = () => made.filter(({ ended }) => !ended).length;
  return { clock, pool, made, take, living };
}

test('a process serves one question after the other, unless it did not come to the end of one', async () => {
  const { made, take } = setup();
  const first = await take('a');
  first?.giveBack();
  const second = await take('b');
  const [process] = made as [Made];
  expect([second?.queries, made.length]).toEqual([process, 1]);
  process.free = false;
  second?.giveBack();
  expect(process.ended).toBe(true);
  expect((await take('a'))?.queries).not.toBe(process);
});

test('an account has two of four; who waits gets the next that it may have, in the order in which they came', async () => {
  const { take, living } = setup();
  const loans = [await take('a'), await take('a')];
  const turns: string[] = [];
  const waiting = ['a', 'b', 'c', 'd'].map(async (account) => {
    const loan = await take(account);
    turns.push(account);
    return loan;
  });
  await setImmediate();
  expect([turns, living()]).toEqual([['b', 'c'], 4]);
  (await waiting[1])?.giveBack();
  await setImmediate();
  expect(turns, 'the first may have no third').toEqual(['b', 'c', 'd']);
  loans[0]?.giveBack();
  await waiting[0];
  expect([turns.at(-1), living()]).toEqual(['a', 4]);
});

test('behind twenty that wait there is none, nor after twenty seconds; who leaves makes room', async () => {
  const { clock, take } = setup();
  await take('a');
  await take('a');
  const leaving = new AbortController();
  const left = take('a', leaving.signal);
  const waiting = Array.from({ length: 19 }, () => take('a'));
  await setImmediate();
  expect(await take('a')).toBeUndefined();
  leaving.abort();
  await expect(left).rejects.toMatchObject({ kind: 'incomplete' });
  waiting.push(take('a'));
  await setImmediate();
  clock.advance(20_000);
  expect(await Promise.all(waiting)).toEqual(Array(20).fill(undefined));
});

test('what is quick has a process of its own, and all end after two minutes without a question', async () => {
  const { clock, pool, take, living } = setup();
  const loans = await Promise.all(['a', 'a', 'b', 'b'].map((account) => take(account)));
  expect(await pool.quick('a row', 1_000)).toBe('a row');
  expect(living()).toBe(5);
  for (const loan of loans) loan?.giveBack();
  clock.advance(119_999);
  expect(living()).toBe(5);
  clock.advance(1);
  expect(living()).toBe(0);
  pool.close();
  await expect(pool.quick('a row', 1_000)).rejects.toMatchObject({ kind: 'incomplete' });
  await expect(take('a')).rejects.toMatchObject({ kind: 'incomplete' });
});
