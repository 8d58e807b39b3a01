/** Redis goes away while calls are made: what was leased is used up, then no call is made, and it is said. */

import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { Snooze } from '../../src/errors.ts';
import type { State } from '../../src/governor/state.ts';
import { createGovernor, type RequestOutcome } from '../../src/governor.ts';
import { redisServer, until } from '../queue/setup.ts';
import { openMachine } from './bench.ts';

const never = new AbortController().signal;
const fine: RequestOutcome = { status: 200, limit: null, remaining: null, retryAfterMs: null, latencyMs: 1 };
/** As many permits as are leased at once. */
const LEASE = 10;

async function setup(longestWaitMs = 300) {
  const server = await redisServer();
  const { account, told } = await openMachine(server);
  const governor = createGovernor({
    ...account,
    isRemote: true,
    clock: systemClock,
    random: () => 0.5,
    longestWaitMs,
  });
  const call = async () => {
    await governor.acquire('news', never);
    governor.complete('news', fine);
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
  return { server, account, told, governor, call, callAll };
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
    expect(performance.now() - begun).toBeLessThan(200);
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

/** A governor on a state that lies elsewhere, which may be away, and a clock that may be set. */
function gateApart() {
  const clock = { ...systemClock, ahead: 0, now: () => Date.now() + clock.ahead };
  const kept: { state: State | undefined } = { state: undefined };
  let reach: Promise<void> | undefined;
  const away = {
    begin() {
      reach = new Promise((resolve) => {
        away.end = () => {
          reach = undefined;
          resolve();
        };
      });
    },
    end: () => {},
  };
  const governor = createGovernor({
    async transact(change) {
      if (reach) await reach;
      const { state, result } = change(kept.state, clock.now());
      kept.state = state;
      return result;
    },
    isRemote: true,
    owner: 'one',
    clock,
    random: () => 0.5,
    longestWaitMs: 1_000,
  });
  return { governor, kept, clock, away };
}

test('a permit that was on its way as a call was refused is not used', async () => {
  const { governor, away, kept, clock } = gateApart();
  await governor.acquire('news', never);
  // The next one may go by its pace.
  clock.ahead = 500;
  away.begin();
  const next = governor.acquire('usage', never);
  governor.complete('news', { ...fine, status: 429, retryAfterMs: 60_000 });
  away.end();
  await expect(next).rejects.toMatchObject({ reason: 'retry_after' });
  await governor.close();
  expect(kept.state?.leases).toEqual({});
});

test('what an answer said of the quota long ago is not believed; that the call was made is', async () => {
  const { governor, kept, clock, away } = gateApart();
  const answer = async (remaining: number) => {
    await governor.acquire('news', never);
    governor.complete('news', { ...fine, limit: 1_000, remaining });
  };
  await answer(500);
  await governor.acquire('news', never);
  away.begin();
  governor.complete('news', { ...fine, limit: 1_000, remaining: 499 });
  const closed = governor.close();
  await Promise.resolve();
  const answeredAt = kept.state?.quota.asOfAt;
  clock.ahead = 600_000;
  away.end();
  await closed;
  expect(kept.state?.quota.level).toBeLessThan(500);
  expect(kept.state?.quota.asOfAt).toBe(answeredAt);
  expect(kept.state?.leases).toEqual({});
});
