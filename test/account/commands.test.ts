/** Commands of mirrors that share an account, as users run them. */

import { describe, expect, test } from 'vitest';
import type { Check } from '../../src/doctor.ts';
import type { Status } from '../../src/reading/status.ts';
import { sparingly } from '../helpers/daemon-bench.ts';
import { CANARY, idsOf, setupSync, truth } from '../helpers/sync-bench.ts';
import { until } from '../queue/setup.ts';
import { ACCOUNT, KEY } from './bench.ts';
import { setup } from './processes.ts';

describe('two daemons', () => {
  test('keep to a pace together, mix nothing, and tell Redis nothing of the key', async () => {
    const { model, machine, server } = await setup({ rows: 400, rate: { perSecond: 40, burst: 10 } });
    const machines = [machine(), machine()];
    const daemons = machines.map(({ start }) => start('start'));
    const walked = (text: string) => text.match(/walk complete/g)?.length ?? 0;
    await until('all walks', () => daemons.every(({ output }) => walked(output()) >= 5));
    for (const { file } of machines) expect(idsOf(file)).toEqual(truth(model));
    expect(model.calls.filter(({ status }) => status === 429).length).toBeLessThanOrEqual(6);
    const keys = await server.client.keys('*');
    const mirrors = new Set(keys.filter((key) => key !== KEY).map((key) => key.replace(/:.*/, '')));
    expect(keys).toContain(KEY);
    expect([...mirrors].map((name) => /^market-mirror-[-0-9a-f]{36}$/.test(name))).toEqual([true, true]);
    const kept = Object.values(await server.client.hgetall(KEY)).join();
    expect(kept).toContain('"quota"');
    expect(kept).not.toContain(CANARY);
  });
});

describe('a sync', () => {
  test('says at its start that Redis is not there, makes no call, and ends with 75', async () => {
    const { run, server, model } = await setup();
    await server.kill();
    const { code, stderr } = await run('sync', 'news');
    expect(code).toBe(75);
    expect(stderr).toMatch(
      /^market-mirror: MIRROR_ACCOUNT desk: Redis is not reachable \(127\.0\.0\.1:\d+\/0\), and no call/m,
    );
    expect(stderr.trim()).not.toContain('\n');
    expect(model.calls).toEqual([]);
  });

  test('of an account without a Redis ends with 78', async () => {
    const { run } = await setupSync();
    const { code, stderr } = await run(['sync'], { MIRROR_ACCOUNT: ACCOUNT });
    expect(code).toBe(78);
    expect(stderr).toMatch(/MIRROR_ACCOUNT needs REDIS_URL/);
  });

  test('says that Redis went away, and goes on by itself', async () => {
    const { machine, server, model } = await setup({ rows: 1_200, latencyMs: 40 });
    const { start, file } = machine();
    const sync = start('sync', 'ai-signals');
    await until('some calls', () => model.calls.length > 4);
    await server.kill();
    await until('the word', () => /account: no call is made: /.test(sync.output()));
    const made = model.calls.length;
    await until('the wait', () => /ai-signals: waiting until .*: the account's limits/.test(sync.output()));
    // Permits that were leased are still good.
    expect(model.calls.length - made).toBeLessThanOrEqual(10);
    await server.start();
    expect((await sync.ended).code).toBe(0);
    expect(sync.output()).toMatch(/account: calls go on/);
    expect(idsOf(file)).toEqual(truth(model));
  });
});

describe('the status', () => {
  test('says whose limits it shows and how many share them, as long as they are shared', async () => {
    const { run, sync } = await setup();
    expect((await run('sync', 'news')).code).toBe(0);
    const { account } = JSON.parse((await run('status', '--json')).stdout) as Status;
    expect(account).toMatchObject({ name: ACCOUNT, processes: 1 });
    expect((await run('status', '-v')).stdout).toMatch(
      /^Account: the limits are those of desk, shared by 1 process, as of /m,
    );
    await sync('news');
    expect(JSON.parse((await run('status', '--json')).stdout)).toMatchObject({ account: null });
  });

  test('says that a daemon makes no call while Redis is away, and until when it did not', async () => {
    const { machine, server, model } = await setup();
    const { start, status } = machine();
    const daemon = start('start');
    await until('a walk', () => model.calls.length > 0 && /walk complete/.test(daemon.output()));
    await server.kill();
    const problem = expect.objectContaining({ code: 'account-out-of-reach', exitCode: 75 });
    await expect.poll(async () => (await status()).problems, sparingly).toContainEqual(problem);
    await server.start();
    await expect.poll(async () => (await status()).daemon?.account, sparingly).toBeNull();
    await until('both words', () =>
      /no call is made: [\s\S]*in reach again: calls go on/.test(daemon.output()),
    );
  });
});

test('the doctor looks at the account and changes nothing, and says what is wrong with it', async () => {
  const { run, server } = await setup();
  const check = async () => {
    const { checks } = JSON.parse((await run('doctor', '--offline', '--json')).stdout) as { checks: Check[] };
    return checks.find(({ name }) => name === 'account-limits');
  };
  expect(await check()).toMatchObject({
    level: 'ok',
    message: expect.stringMatching(/desk.*nothing is known/),
  });
  expect(await server.client.exists(KEY)).toBe(0);
  await server.client.set(KEY, 'x');
  expect(await check()).toMatchObject({
    level: 'problem',
    message: expect.stringMatching(/something else/),
  });
});
