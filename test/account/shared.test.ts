import { describe, expect, test } from 'vitest';
import { readState } from '../../src/governor/state.ts';
import { redisServer, until } from '../queue/setup.ts';
import { ACCOUNT, countIn, KEY, openMachine, stateIn } from './bench.ts';
import { proxyTo } from './proxy.ts';

describe('what processes of one account change', () => {
  test('is lost by none, however they meet', async () => {
    const server = await redisServer();
    const machines = await Promise.all([1, 2, 3].map(() => openMachine(server)));
    await Promise.all(
      machines.map(async ({ count }) => {
        for (let at = 0; at < 60; at += 1) await count();
      }),
    );
    expect(await countIn(server)).toBe(180);
  });

  test('is seen by the clock of Redis', async () => {
    const server = await redisServer();
    const { account } = await openMachine(server, { clock: { ...skewed(3_600_000) } });
    const before = Date.now();
    const now = await account.transact((kept, now) => ({ state: readState(kept), result: now }));
    expect(Math.abs((now ?? 0) - before)).toBeLessThan(5_000);
  });

  test('loses what was measured across a jump of that clock, and nothing else', async () => {
    const server = await redisServer();
    let jumped = 0;
    const { account, count } = await openMachine(server, { timeOf: (ms) => ms + jumped });
    await account.transact((kept) => {
      const state = readState(kept);
      return { state: { ...state, rate: { ...state.rate, perSecond: 7 } }, result: null };
    });
    await count();
    expect((await stateIn(server)).quota.probeDueAt).toBeNull();
    for (jumped of [3_600_000, -3_600_000]) {
      await count();
      const { quota, rate, seenAt } = await stateIn(server);
      expect(quota.probeDueAt).toBe(seenAt);
      expect(rate.perSecond).toBe(7);
    }
  });

  test('is made once where Redis was not heard to have made it', async () => {
    const server = await redisServer();
    const proxy = await proxyTo(server.port);
    const { count, told } = await openMachine(proxy);
    await count();
    proxy.loseReplyOf(/HSET|evalsha/i, 2);
    await count();
    await until('the trouble to be over', () => told.at(-1) === null);
    expect(told.map((trouble) => trouble?.code)).toEqual(['lost', undefined]);
    expect(await countIn(server)).toBe(2);
  });

  test('is begun from what a mirror knew of the account, where Redis knows nothing, and by its clock', async () => {
    const server = await redisServer();
    const { count, copy } = await openMachine(server);
    await count();
    await until('the copy', () => readState(copy.state).retryCredit === 11);
    await server.client.flushall();
    await count();
    expect(await countIn(server)).toBe(2);
    const known = { ...readState(copy.state), seenAt: Date.now() - 1_000 };
    await server.client.flushall();
    const hour = 3_600_000;
    const leases = { 'desk:7': { permits: 3, maxInFlight: 1, inFlight: 1, heardAt: known.seenAt } };
    await openMachine(server, {
      known: { ...known, leases, seenAt: known.seenAt + hour },
      clock: skewed(hour),
    });
    const begun = await stateIn(server);
    expect(begun.seenAt - known.seenAt).toBeLessThan(500);
    expect(begun.leases, 'each process says itself what it holds').toEqual({});
  });

  test('is not begun from what is known of another account', async () => {
    const server = await redisServer();
    const { account, count, copy } = await openMachine(server, { name: 'another' });
    await count();
    await account.close();
    await openMachine(server, { known: copy.state });
    expect(await countIn(server)).toBe(0);
  });

  test('is begun anew where it is damaged', async () => {
    const server = await redisServer();
    await server.client.hset(KEY, { revision: 'r', account: '{"version":1,"state":{"version":3},"proc' });
    const { count } = await openMachine(server);
    await count();
    expect(await countIn(server)).toBe(1);
  });
});

describe('how many processes share it', () => {
  test('is known to each, until one leaves', async () => {
    const server = await redisServer();
    const [one, two] = [await openMachine(server), await openMachine(server)];
    const processes = () => (one.copy.state as { account: { name: string; processes: number } }).account;
    await one.count();
    await until('the copy', () => processes().processes === 2);
    expect(processes().name).toBe(ACCOUNT);
    await two.account.close();
    await one.count();
    await until('the copy', () => processes().processes === 1);
  });
});

/** A clock that is so far ahead. */
function skewed(ms: number) {
  return {
    now: () => Date.now() + ms,
    monotonic: () => performance.now(),
    sleep: (wait: number) => new Promise<void>((resolve) => setTimeout(resolve, wait)),
    after(wait: number, work: () => void) {
      const timer = setTimeout(work, wait);
      return () => clearTimeout(timer);
    },
  };
}
