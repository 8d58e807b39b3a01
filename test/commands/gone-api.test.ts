/** An API that is gone is said to be gone: by `sync`, by `status` and in SQL, whatever was known of the quota before. */

import { expect, onTestFinished, test } from 'vitest';
import { startModelApi } from '../../model-api/index.ts';
import type { Status } from '../../src/reading/status.ts';
import { read, setupSync } from '../helpers/sync-bench.ts';

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
