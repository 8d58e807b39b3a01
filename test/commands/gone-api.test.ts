/** An API that is gone is said to be gone: by `sync`, by `status` and in SQL, whatever was known of the quota before. */

import { describe, expect, onTestFinished, test } from 'vitest';
import { faults, startModelApi, when } from '../../model-api/index.ts';
import type { Status } from '../../src/reading/status.ts';
import { runMain } from '../helpers/main.ts';
import { read, setupSync, setupSynced } from '../helpers/sync-bench.ts';

/** A sync has used up the quota, or most of it; then the API goes. */
async function gone() {
  const bench = await setupSync({ rows: 250, quota: { limit: 6, periodMs: 60_000 } });
  const { sync, model, run, clock } = bench;
  expect((await sync('--no-wait')).code).toBe(75);
  clock.advance(62_000);
  await model.close();
  const status = async () => {
    const { code, stdout } = await run(['status', '--json']);
    const told = JSON.parse(stdout) as Status;
    expect(code).toBe(told.exitCode);
    return told;
  };
  const comeBack = async () => {
    const { port, keys } = model;
    const again = await startModelApi({ rows: 250, port, keys, now: clock.now });
    onTestFinished(() => again.close());
  };
  return { ...bench, status, comeBack };
}

test('sync ends with 69 and names the error of the network, however often, and not the quota', async () => {
  const { sync, file } = await gone();
  for (const args of [[], [], ['--no-wait']]) {
    const { code, stderr } = await sync('news', ...args);
    expect(stderr).toMatch(/news: the API cannot be reached or does not answer \(ECONNREFUSED\)/);
    expect(stderr).not.toContain('the quota is used up');
    expect(code).toBe(69);
  }
  const [walk] = read<{ error: string }>(
    file,
    `SELECT last_error AS error FROM freshness WHERE job = 'news'`,
  );
  expect(walk?.error).toContain('ECONNREFUSED');
  const waits = read<{ reason: string | null }>(
    file,
    `SELECT waits_for AS reason FROM walks WHERE job = 'news'`,
  );
  expect([null, 'unreachable']).toContain(waits.at(-1)?.reason);
});

test('status ends with 69 and says since when, until the API answers again', async () => {
  const { sync, status, clock, comeBack } = await gone();
  clock.advance(1_000);
  const since = new Date(clock.now()).toISOString();
  await sync('news');
  await sync('news');
  const { problems, exitCode } = await status();
  expect(problems.filter(({ code }) => code === 'unreachable')).toEqual([
    expect.objectContaining({
      level: 'error',
      job: null,
      exitCode: 69,
      message: `the API cannot be reached or does not answer since ${since} (ECONNREFUSED)`,
    }),
  ]);
  expect(exitCode).toBe(69);
  await comeBack();
  clock.advance(3_600_000);
  expect((await sync()).code).toBe(0);
  expect((await status()).problems.map(({ code }) => code)).not.toContain('unreachable');
});

describe('a fresh dataset', () => {
  test.each([
    ['breaks its contract', [when({}, faults.html())], 65],
    ['sends nothing but resets', [when({}, faults.resetBeforeHeaders())], 69],
    ['refuses the key', [when({}, faults.refuse(401))], 77],
  ])(
    'whose last walk failed since the API %s makes status end as sync did',
    async (_name, broken, exitCode) => {
      const { sync, model, run, clock } = await setupSynced(5);
      expect((await run(['status'])).code).toBe(0);
      model.faults = broken;
      expect((await sync('news')).code).toBe(exitCode);
      const { code, stdout } = await run(['status']);
      expect(stdout).toMatch(/^✗ /);
      expect(code).toBe(exitCode);
      model.faults = [];
      clock.advance(2 * 3_600_000);
      await sync();
      expect((await sync()).code).toBe(0);
      expect((await run(['status'])).stdout).not.toMatch(/failed|cannot be reached/);
    },
  );
});

test('a call that we stopped is no sign that the API is gone', async () => {
  const { model, run, environment, clock } = await setupSynced(5);
  const calls = model.calls.length;
  model.faults = [when({}, faults.hang())];
  const stop = new AbortController();
  const stopped = runMain(['sync', 'news'], environment, clock, stop.signal);
  await expect.poll(() => model.calls.length).toBe(calls + 1);
  stop.abort();
  expect((await stopped).code).toBe(75);
  expect((await run(['status'])).code).toBe(0);
});
