/** Redis goes away while calls are made: what was leased is used up, then no call is made, and it is said. */

import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { Snooze } from '../../src/errors.ts';
import type { RequestOutcome } from '../../src/governor.ts';
import { redisServer, until } from '../queue/setup.ts';
import { openMachine } from './bench.ts';

const never = new AbortController().signal;
const fine: RequestOutcome = { status: 200, limit: null, remaining: null, retryAfterMs: null, latencyMs: 1 };
/** As many permits as are leased at once. */
const LEASE = 10;

const LONGEST_WAIT_MS = 2_000;

async function setup(longestWaitMs = LONGEST_WAIT_MS) {
  const server = await redisServer();
  const { govern, told } = await openMachine(server);
  const governor = govern({ longestWaitMs });
  const call = async () => {
    const complete = await governor.acquire('news', never);
    complete(fine);
  };
  /** Calls until one is refused. */
  const callAll = async () => {
    for (let made = 0; ; made += 1)
      try {
        await call();
      } catch (refusal) {
        return { made, refusal };
      }
  };
  return { server, told, governor, call, callAll };
}

describe('a Redis that is killed', () => {
  test('lets no call be made beyond the lease; the wait says why, and calls go on by themselves', async () => {
    const { server, told, call, callAll } = await setup();
    for (let at = 0; at < 40; at += 1) await call();
    await server.kill();
    const { made, refusal } = await callAll();
    expect(made).toBeLessThanOrEqual(LEASE);
    expect(refusal).toBeInstanceOf(Snooze);
    expect((refusal as Snooze).reason).toBe('account');
    expect((refusal as Snooze).until).toBeGreaterThan(Date.now());
    // Whoever comes later is told so at once.
    const begun = performance.now();
    expect(await callAll()).toMatchObject({ made: 0 });
    expect(performance.now() - begun).toBeLessThan(LONGEST_WAIT_MS);
    expect(told).toMatchObject([{ code: expect.stringMatching(/lost|unreachable/) }]);
    await server.start();
    await until('the end of it', () => told.at(-1) === null);
    for (let at = 0; at < 40; at += 1) await call();
  });

  test('lets no permit be used that has gone stale', async () => {
    const { server, governor, call } = await setup();
    for (let at = 0; at < 40; at += 1) await call();
    await server.kill();
    await systemClock.sleep(1_050);
    await expect(governor.acquire('news', never)).rejects.toBeInstanceOf(Snooze);
  });

  test('for a moment only is waited for', async () => {
    const { server, call } = await setup(20_000);
    await call();
    await server.kill();
    const calls = Promise.all(Array.from({ length: 8 }, call));
    await server.start();
    await calls;
  });
});
