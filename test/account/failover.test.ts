/** A replica takes the place of a Redis that is gone: who shares the account follows the address, and goes on. */

import { expect, test } from 'vitest';
import type { RequestOutcome } from '../../src/governor.ts';
import { redisServer, until } from '../queue/setup.ts';
import { countIn, openMachine, stateIn } from './bench.ts';
import { proxyTo } from './proxy.ts';

const never = new AbortController().signal;
const fine: RequestOutcome = { status: 200, limit: null, remaining: null, retryAfterMs: null, latencyMs: 1 };
/** As many permits as are leased at once. */
const LEASE = 10;

/** A Redis with a replica, and an address that leads to the one that is in charge. */
async function pair() {
  const [first, second] = await Promise.all([redisServer(), redisServer()]);
  // By default it waits five seconds for other replicas.
  await first.client.config('SET', 'repl-diskless-sync-delay', 0);
  await second.client.replicaof('127.0.0.1', first.port);
  const isFollowing = async () => (await second.client.info('replication')).includes('master_link_status:up');
  await until('the replica to follow', isFollowing);
  const address = await proxyTo(first.port);
  return {
    first,
    second,
    address,
    /** All that was written by then is there. */
    async follow() {
      // Only what was written on its own line is waited for, and what came before that.
      await first.client.set('last', 1);
      await first.client.wait(1, 10_000);
    },
    promote: () => second.client.replicaof('NO', 'ONE'),
    /** The old one is gone, and the address leads to the other. */
    async takeOver() {
      await first.kill();
      address.leadTo(second.port);
    },
  };
}

test('what had reached the replica goes on there, what had not is lost, and nothing is taken for another', async () => {
  const { first, second, address, follow, promote, takeOver } = await pair();
  const [one, two] = [await openMachine(address), await openMachine(address)];
  for (const { count } of [one, two, one]) await count();
  await follow();
  await promote();
  // The old one does not know yet: what it takes now nobody else will ever see.
  for (const { count } of [two, one]) await count();
  expect(await countIn(first)).toBe(5);
  await takeOver();
  for (const { count } of [one, two, two]) await count();
  expect(await countIn(second)).toBe(6);
  for (const { told } of [one, two]) expect(told.at(-1) ?? null).toBeNull();
});

test('one that waits meanwhile makes its change once, where the other takes over', async () => {
  const { first, second, address, follow, promote } = await pair();
  const { count, told } = await openMachine(address);
  await count();
  await follow();
  await first.kill();
  const counted = count();
  await until('the trouble', () => told.length > 0);
  // Not in charge yet: it takes no writes.
  address.leadTo(second.port);
  await until('the replica to be told of', () => told.some((trouble) => trouble?.code === 'READONLY'));
  await promote();
  await counted;
  expect(told.at(-1)).toBeNull();
  expect(await countIn(second)).toBe(2);
});

test('who holds permits that a failover has forgotten asks for more there, and leaves none behind', async () => {
  const { second, address, follow, promote, takeOver } = await pair();
  const { govern } = await openMachine(address);
  const governor = govern();
  const call = async () => {
    const complete = await governor.acquire('news', never);
    complete(fine);
  };
  for (let at = 0; at < 2 * LEASE; at += 1) await call();
  await follow();
  await promote();
  for (let at = 0; at < LEASE; at += 1) await call();
  const { requests: known } = (await stateIn(second)).prefetch;
  await takeOver();
  for (let at = 0; at < 2 * LEASE; at += 1) await call();
  await governor.close();
  const { prefetch, leases } = await stateIn(second);
  expect(leases).toEqual({});
  expect(prefetch.requests - known).toBeGreaterThanOrEqual(LEASE);
});
