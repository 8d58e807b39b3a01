/** What people are shown of limits that are set: one sentence, which no other contradicts. */

import { expect, it } from 'vitest';
import { setupSync } from '../helpers/sync-bench.ts';

const DAY = 86_400_000;
const set = { MARKET_API_QUOTA: '1000/1d@00:00', MARKET_API_RATE: '5/1s', MARKET_API_CONCURRENCY: '2' };
const given = { quota: { limit: 1_000, periodMs: DAY }, rate: 5, concurrency: 2 };

/** The lines that speak of the quota or of limits. */
const linesOf = (text: string) => text.split('\n').filter((line) => /quota|limit/i.test(line));

it('those that are set are shown as set, by sync, status, plan and doctor alike', async () => {
  const { run, model } = await setupSync(given);
  const { code, stderr } = await run(['sync'], set);
  expect(code).toBe(0);
  const left = 1_000 - model.calls.length;
  expect(linesOf(stderr)).toEqual([`quota: ${left} calls left`]);
  const sentence = `Quota: ${left} of 1,000 calls left; resets at 00:00 UTC (set)`;
  expect(linesOf((await run(['status'], set)).stdout)).toEqual([sentence]);
  expect((await run(['plan'], set)).stdout).toContain(`\n${sentence}\n`);
  const doctor = await run(['doctor', '--all'], set);
  expect(doctor.stdout).toMatch(
    /^ok +limits +MARKET_API_QUOTA agrees with the API's header; all three are set$/m,
  );
  expect(model.calls.filter(({ status }) => status === 429)).toEqual([]);
});

it('another limit in the header is said once by the log, and by status and doctor with what to do', async () => {
  const { run, clock } = await setupSync(given);
  const other = { ...set, MARKET_API_QUOTA: '2000/1d' };
  const says = /header names a quota of 1000 calls, MARKET_API_QUOTA 2000: both are kept/;
  expect((await run(['sync'], other)).stderr.match(new RegExp(says, 'g'))).toHaveLength(1);
  clock.advance(3_600_000);
  expect((await run(['sync'], other)).stderr).not.toMatch(says);
  const status = await run(['status'], other);
  expect(status.stdout).toMatch(new RegExp(`^! .*${says.source}\n +→ compare MARKET_API_QUOTA`, 'm'));
  expect(status.stdout).toMatch(
    /^Quota: 1,9\d\d of 2,000 calls left; each call comes back after 1d \(set\); beside it 9\d\d of 1,000, by the header, when it resets is not known yet$/m,
  );
  const doctor = await run(['doctor'], other);
  expect(doctor.stdout).toMatch(
    new RegExp(`^warning +limits +.*${says.source} → correct MARKET_API_QUOTA`, 'm'),
  );
});

it('a 429 in spite of them is said once, and the sync goes on behind its pause', async () => {
  const { run, model } = await setupSync({ ...given, rate: 1 });
  const { code, stderr } = await run(['sync', 'news', 'usage'], set);
  const refused = model.calls.filter(({ status }) => status === 429).length;
  expect(refused).toBeGreaterThan(0);
  expect(code).toBe(0);
  expect(stderr.match(/refused \(429\) in spite of/g)).toHaveLength(1);
  expect((await run(['status'], set)).stdout.match(/refused \(429\) in spite of/g)).toHaveLength(1);
});
