/** What the page says will be left of the quota. */

import { expect, test } from 'vitest';
import { forecast, spentPerHour } from '../../../../web/views/quota/forecast.ts';

type Plan = Parameters<typeof forecast>[0];

const HOUR = 3_600_000;
const now = Date.UTC(2026, 10, 22, 12);
const iso = (at: number) => new Date(at).toISOString();

/** Spends so many calls an hour. */
function plan(
  perHour: number,
  refill: Partial<Plan['quota']['refill']>,
  quota: Partial<Plan['quota']> = {},
): Plan {
  const spending = { drawsOnQuota: true, calls: perHour * 24 } as Plan['datasets'][number];
  const free = { drawsOnQuota: false, calls: 9_999 } as Plan['datasets'][number];
  const none = { kind: 'unknown', nextBy: null, periodSeconds: null, perHour: null } as const;
  return {
    datasets: [spending, free],
    quota: {
      limit: 100,
      remaining: 50,
      reserve: 5,
      othersPerHour: 0,
      refill: { ...none, ...refill },
      ...quota,
    } as Plan['quota'],
  };
}

const window = (nextInHours: number, periodHours: number) =>
  ({ kind: 'window', nextBy: iso(now + nextInHours * HOUR), periodSeconds: periodHours * 3_600 }) as const;

const trickle = { kind: 'trickle', perHour: 60 } as const;

/** `0:50` is fifty left now. */
const inHours = (line: ReturnType<typeof forecast>) =>
  line.map(({ at, left }) => `${Math.round(((at - now) / HOUR) * 100) / 100}:${Math.round(left)}`);

test('only calls that count are spent, those of others, too', () => {
  expect(spentPerHour(plan(10, {}, { othersPerHour: 3 }))).toBe(13);
});

test.each([
  ['goes down until it begins anew, and is whole again', 10, window(2, 4), '0:50 2:30 2:100 6:60'],
  ['goes down to what is kept back, and no further', 45, window(2, 4), '0:50 1:5 2:5'],
  ['begins anew at once where its time has passed', 10, window(-1, 4), '0:50 0:50 0:100'],
  ['rises to the limit where less is spent than comes back', 10, trickle, '0:50 1:100 6:100'],
  ['stays where as much is spent', 60, trickle, '0:50 6:50'],
  ['is not drawn where it would be a block', 1, window(0.01, 0.01), ''],
])('a quota %s', (_, perHour, refill, expected) => {
  const line = inHours(forecast(plan(perHour, refill), now));
  expect(line.slice(0, expected.split(' ').length).join(' ')).toBe(expected);
});

test('a quota is followed for three periods, a day at most', () => {
  expect(inHours(forecast(plan(1, window(1, 4)), now)).at(-1)).toMatch(/^12:/);
  expect(inHours(forecast(plan(1, window(1, 24)), now)).at(-1)).toMatch(/^24:/);
});

test.each([
  ['how much is left', { remaining: null }],
  ['how much there may be', { limit: null }],
  ['when more comes', {}],
])('nothing is said where nobody knows %s', (_, quota) => {
  const refill = Object.keys(quota).length > 0 ? window(2, 4) : {};
  expect(forecast(plan(10, refill, quota), now)).toEqual([]);
});
