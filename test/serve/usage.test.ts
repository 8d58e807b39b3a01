import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { DAY_MS, isoTime } from '../../src/base/clock.ts';
import { isRefused } from '../../src/serve/access/admission.ts';
import { openServeDatabase } from '../../src/serve/access/database.ts';
import type { UsageBody } from '../../src/serve/answers/shapes.ts';
import { usageBody } from '../../src/serve/answers/usage.ts';
import { limitsOf, setupAdmission } from './support.ts';

function setupUsage() {
  const bench = setupAdmission();
  const answered = (endpoint: string, status: number, account = 'desk') =>
    bench.admission().addCall({ account, endpoint, status });
  const usage = (account = 'desk'): UsageBody => {
    const body = usageBody(bench.admission(), bench.keyring.account(account), bench.clock.now());
    if (isRefused(body)) throw new Error(body.body.message);
    return body;
  };
  return { ...bench, answered, usage };
}

test('an account is told of its limits, how they stand, and what it called, and of no other account', () => {
  const { create, call, answered, usage, clock, write } = setupUsage();
  const { key } = create({}, limitsOf('10/1h', '5/1s+9', 4));
  create({ name: 'other' });
  const began = isoTime(clock.now());
  call(key);
  answered('news', 200);
  answered('news', 304);
  write();
  clock.advance(1_000);
  answered('news', 429);
  answered('ai-signals', 503);
  answered('news', 200, 'other');
  const now = isoTime(clock.now());
  const day = now.slice(0, 10);
  const quota = { calls: 10, periodSeconds: 3_600, kind: 'fixed', remaining: 9 };
  const [signals, news] = [
    { endpoint: 'ai-signals', calls: 1, firstAt: now },
    { endpoint: 'news', calls: 3, firstAt: began },
  ];
  expect(usage()).toEqual({
    account: 'desk',
    asOf: now,
    limits: {
      quota: { ...quota, moreInSeconds: expect.any(Number) },
      rate: { calls: 5, periodSeconds: 1, burst: 9 },
      concurrency: { calls: 4, running: 1 },
    },
    calls: { today: 4, last30Days: 4 },
    byDay: [
      { day, ...signals, lastAt: now, status2xx: 0, status3xx: 0, status4xx: 0, status5xx: 1 },
      { day, ...news, lastAt: now, status2xx: 1, status3xx: 1, status4xx: 1, status5xx: 0 },
    ],
  });
});

test('calls add up the same whenever counts are written, whoever serves and whatever the clock says, over the last 30 days', () => {
  const kinds = fc.constantFrom(['call', 'news', 200], ['call', 'news', 404], ['call', 'usage', 200]);
  const step = fc.oneof(
    { weight: 6, arbitrary: kinds },
    { weight: 2, arbitrary: fc.constantFrom(['write'], ['restart'], ['jump', -3_600_000]) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('pass'), fc.integer({ min: 1, max: 20 * DAY_MS })) },
  );
  const { create, answered, usage, clock, write, restart } = setupUsage();
  let account = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      account += 1;
      const name = `account ${account}`;
      create({ name });
      const calls: { day: string; endpoint: string; status: number; at: string }[] = [];
      for (const [what, given, status] of steps as [string, never, number][]) {
        if (what === 'write') write();
        else if (what === 'restart') restart();
        else if (what === 'pass') clock.advance(given);
        else if (what === 'jump') clock.jump(given);
        else {
          answered(given, status, name);
          const at = isoTime(clock.now());
          calls.push({ day: at.slice(0, 10), endpoint: given, status, at });
        }
      }
      const first = isoTime(clock.now() - 29 * DAY_MS).slice(0, 10);
      const recent = calls.filter(({ day }) => day >= first);
      const { byDay, calls: sums } = usage(name);
      expect([sums.last30Days, byDay.length]).toEqual([
        recent.length,
        new Set(recent.map(({ day, endpoint }) => `${day} ${endpoint}`)).size,
      ]);
      for (const row of byDay) {
        const own = recent.filter(({ day, endpoint }) => day === row.day && endpoint === row.endpoint);
        const times = own.map(({ at }) => at).sort();
        expect(row).toMatchObject({
          calls: own.length,
          status2xx: own.filter(({ status }) => status === 200).length,
          status4xx: own.filter(({ status }) => status === 404).length,
          firstAt: times[0],
          lastAt: times.at(-1),
        });
      }
    }),
    { numRuns: 50 },
  );
});

test('35 days with calls are kept, whatever the clock says', () => {
  const { answered, clock, write, create, dir } = setupUsage();
  create();
  const connection = openServeDatabase(dir);
  onTestFinished(() => void connection.close());
  const days = connection.prepare<[], number>('SELECT count(DISTINCT day) FROM calls').pluck();
  for (let day = 0; day < 50; day += 1) {
    answered('news', 200);
    clock.advance(DAY_MS);
    write();
  }
  expect(days.get()).toBe(35);
  clock.advance(3_000 * DAY_MS);
  answered('news', 200);
  write();
  expect(days.get(), 'a clock that jumps costs one day').toBe(35);
});
