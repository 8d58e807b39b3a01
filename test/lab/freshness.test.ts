/** The simulation of freshness: a day of the usual world, and what it promises of any. */

import { expect, test } from 'vitest';
import { callsBeyond, callsPerDay, count, delays, loss, shareUsed } from '../../lab/freshness/figures.ts';
import { rules, run } from '../../lab/freshness/run.ts';
import { quotas, usualWorld, type World } from '../../lab/freshness/worlds.ts';
import { DAY_MS, HOUR_MS } from '../../src/clock.ts';

const from = usualWorld.begin + 2 * DAY_MS;
const aDay: World = { ...usualWorld, from, to: from + DAY_MS };

test('glances bring news sooner than walks alone, and nothing is removed falsely', async () => {
  const alone = await run(aDay, quotas.scarce, rules['walks alone'], 1);
  const ours = await run(aDay, quotas.scarce, rules.ours, 1);
  for (const name of ['news', 'meme-signals']) {
    expect(delays([ours], name, 'new').median).toBeLessThan(delays([alone], name, 'new').median / 2);
    expect(callsPerDay([ours], name).glance).toBeGreaterThan(20);
  }
  expect(loss(ours)).toBeLessThan(loss(alone));
  for (const outcome of [alone, ours]) {
    expect(count([outcome], 'falselyRemoved')).toBe(0);
    expect(count([outcome], 'missedInProofs')).toBe(0);
    expect(callsBeyond([outcome])).toBe(0);
    expect(shareUsed([outcome])).toBeGreaterThan(0.97);
  }
});

test('an order that turns switches glances off', async () => {
  const turning = aDay.specs.map((spec) => (spec.name === 'news' ? { ...spec, turnsAt: from } : spec));
  const { sets } = await run({ ...aDay, specs: turning }, quotas.scarce, rules.ours, 1);
  const last = (name: string) => sets.find(({ spec }) => spec.name === name)?.measures.lastGlanceAt ?? 0;
  expect(last('news') - from).toBeLessThan(12 * HOUR_MS);
  expect(last('meme-signals') - from).toBeGreaterThan(23 * HOUR_MS);
});

test('where all schedules fit there are no glances, and every figure is that of walks alone', async () => {
  const hours: World = {
    ...usualWorld,
    from: usualWorld.begin + 2 * HOUR_MS,
    to: usualWorld.begin + 4 * HOUR_MS,
  };
  const alone = await run(hours, quotas.ample, rules['walks alone'], 1);
  const ours = await run(hours, quotas.ample, rules.ours, 1);
  expect(callsPerDay([ours]).glance).toBe(0);
  expect(ours.sets.map(({ measures }) => measures.delays)).toEqual(
    alone.sets.map(({ measures }) => measures.delays),
  );
});

test('the same seed gives the same figures', async () => {
  const hours: World = { ...usualWorld, from: usualWorld.begin, to: usualWorld.begin + 12 * HOUR_MS };
  const [one, other] = [
    await run(hours, quotas.few, rules.ours, 7),
    await run(hours, quotas.few, rules.ours, 7),
  ];
  expect(one.sets.map(({ measures }) => measures.delays)).toEqual(
    other.sets.map(({ measures }) => measures.delays),
  );
});
