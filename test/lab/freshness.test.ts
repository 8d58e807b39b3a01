/** The simulation of freshness: a day of the usual world, and what it promises of any. */

import { expect, test } from 'vitest';
import { run } from '../../lab/freshness/run.ts';
import { quotas, usualWorld, type World } from '../../lab/freshness/worlds.ts';
import { callsBeyond, callsPerDay, count, delays, shareUsed } from '../../lab/freshness.ts';
import { DAY_MS, HOUR_MS } from '../../src/clock.ts';

const MINUTE_MS = 60_000;
const from = usualWorld.begin + 2 * DAY_MS;
const aDay: World = { ...usualWorld, from, to: from + DAY_MS };

test('glances bring news soon, and nothing is removed falsely', async () => {
  const outcome = await run(aDay, quotas.scarce, 1);
  for (const name of ['news', 'meme-signals']) {
    expect(delays([outcome], name, 'new').median).toBeLessThan(15 * MINUTE_MS);
    expect(callsPerDay([outcome], name).glance).toBeGreaterThan(20);
  }
  expect(count([outcome], 'falselyRemoved')).toBe(0);
  expect(count([outcome], 'missedInProofs')).toBe(0);
  expect(callsBeyond([outcome])).toBe(0);
  expect(shareUsed([outcome])).toBeGreaterThan(0.97);
});

test('an order that turns switches glances off', async () => {
  const turning = aDay.specs.map((spec) => (spec.name === 'news' ? { ...spec, turnsAt: from } : spec));
  const { sets } = await run({ ...aDay, specs: turning }, quotas.scarce, 1);
  const last = (name: string) => sets.find(({ spec }) => spec.name === name)?.measures.lastGlanceAt ?? 0;
  expect(last('news') - from).toBeLessThan(12 * HOUR_MS);
  expect(last('meme-signals') - from).toBeGreaterThan(23 * HOUR_MS);
});

test('where all schedules fit they are kept, and there are no glances', async () => {
  const from = usualWorld.begin + 2 * HOUR_MS;
  const hours: World = { ...usualWorld, from, to: from + 2 * HOUR_MS };
  const outcome = await run(hours, quotas.ample, 1);
  expect(callsPerDay([outcome]).glance).toBe(0);
  for (const { name, targetMs } of hours.specs.filter(({ newPerDay }) => newPerDay > 100))
    expect(delays([outcome], name, 'new').median).toBeLessThan(targetMs);
});

test('the same seed gives the same figures', async () => {
  const hours: World = { ...usualWorld, from: usualWorld.begin, to: usualWorld.begin + 12 * HOUR_MS };
  const [one, other] = [await run(hours, quotas.few, 7), await run(hours, quotas.few, 7)];
  expect(one.sets.map(({ measures }) => measures.delays)).toEqual(
    other.sets.map(({ measures }) => measures.delays),
  );
});
