/** What the page says will be left of the quota. */

import { describe, expect, test } from 'vitest';
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

const inHours = (line: ReturnType<typeof forecast>) =>
  line.map(({ at, left }) => [Math.round(((at - now) / HOUR) * 100) / 100, Math.round(left)]);

test('only calls that count are spent, those of others, too', () => {
  expect(spentPerHour(plan(10, {}, { othersPerHour: 3 }))).toBe(13);
});

describe('a quota that begins anew', () => {
  test('goes down until then, and is whole again', () => {
    expect(inHours(forecast(plan(10, window(2, 4)), now)).slice(0, 4)).toEqual([
      [0, 50],
      [2, 30],
      [2, 100],
      [6, 60],
    ]);
  });

  test('goes down to what is kept back, and no further', () => {
    expect(inHours(forecast(plan(45, window(2, 4)), now)).slice(0, 3)).toEqual([
      [0, 50],
      [1, 5],
      [2, 5],
    ]);
  });

  test('is followed for three periods, a day at most', () => {
    expect(inHours(forecast(plan(1, window(1, 4)), now)).at(-1)?.[0]).toBe(12);
    expect(inHours(forecast(plan(1, window(1, 24)), now)).at(-1)?.[0]).toBe(24);
  });

  test('is not drawn where it would be a block', () => {
    expect(forecast(plan(1, window(0.01, 0.01)), now)).toEqual([]);
  });

  test('whose time has passed begins anew at once', () => {
    expect(inHours(forecast(plan(10, window(-1, 4)), now)).slice(0, 3)).toEqual([
      [0, 50],
      [0, 50],
      [0, 100],
    ]);
  });
});

describe('a quota that comes back call by call', () => {
  test('rises to the limit where less is spent', () => {
    expect(inHours(forecast(plan(10, { kind: 'trickle', perHour: 60 }), now))).toEqual([
      [0, 50],
      [1, 100],
      [6, 100],
    ]);
  });

  test('stays where as much is spent', () => {
    expect(inHours(forecast(plan(60, { kind: 'trickle', perHour: 60 }), now))).toEqual([
      [0, 50],
      [6, 50],
    ]);
  });
});

test.each([
  ['how much is left', { remaining: null }],
  ['how much there may be', { limit: null }],
  ['when more comes', {}],
])('nothing is said where nobody knows %s', (_, quota) => {
  const refill = Object.keys(quota).length > 0 ? window(2, 4) : {};
  expect(forecast(plan(10, refill, quota), now)).toEqual([]);
});
