import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { DAY_MS, isoTime } from '../../src/base/clock.ts';
import { isRefused } from '../../src/serve/access/admission.ts';
import { openServeDatabase } from '../../src/serve/access/database.ts';
import { namedSchemas, type UsageBody } from '../../src/serve/answers/shapes.ts';
import { usageBody } from '../../src/serve/answers/usage.ts';
import { memoryFolder } from '../helpers/folder.ts';
import { limitsOf, setupAdmission } from './support.ts';

const usageSchema = z.fromJSONSchema(JSON.parse(JSON.stringify(namedSchemas['Usage'])));

function setupUsage(dir = memoryFolder()) {
  const bench = setupAdmission(dir);
  const answered = (endpoint: string, status: number, account = 'desk') =>
    bench.admission().addCall({ account, endpoint, status });
  const usage = (account = 'desk'): UsageBody => {
    const body = usageBody(bench.admission(), bench.keyring.account(account), bench.clock.now());
    if (isRefused(body)) throw new Error(body.body.message);
    usageSchema.parse(body);
    return body;
  };
  return { ...bench, answered, usage };
}

it('tells an account of its limits, how they stand, and what it called', () => {
  const { create, call, answered, usage, clock, write } = setupUsage();
  const limits = { ...limitsOf('10/1h', '5/1s+9', 4) };
  const { key } = create({}, limits);
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
  expect(usage()).toEqual({
    account: 'desk',
    asOf: now,
    limits: {
      quota: {
        calls: 10,
        periodSeconds: 3_600,
        kind: 'fixed',
        remaining: 9,
        moreInSeconds: expect.any(Number),
      },
      rate: { calls: 5, periodSeconds: 1, burst: 9 },
      concurrency: { calls: 4, running: 1 },
    },
    calls: { today: 4, last30Days: 4 },
    byDay: [
      {
        ...{ day, endpoint: 'ai-signals', calls: 1, firstAt: now, lastAt: now },
        ...{ status2xx: 0, status3xx: 0, status4xx: 0, status5xx: 1 },
      },
      {
        ...{ day, endpoint: 'news', calls: 3, firstAt: began, lastAt: now },
        ...{ status2xx: 1, status3xx: 1, status4xx: 1, status5xx: 0 },
      },
    ],
  });
});

it('tells the first and the last call of a day, in whatever order the clock has them', () => {
  const { create, answered, usage, clock, write } = setupUsage();
  create();
  const [earlier, begin, later] = [-3_600_000, 0, 3_600_000].map((ms) => isoTime(clock.now() + ms));
  const times = () => usage().byDay.map(({ firstAt, lastAt, calls }) => [firstAt, lastAt, calls]);
  answered('news', 200);
  write();
  clock.jump(-3_600_000);
  answered('news', 200);
  expect(times(), 'of which one is written').toEqual([[earlier, begin, 2]]);
  write();
  expect(times(), 'both are').toEqual([[earlier, begin, 2]]);
  clock.jump(7_200_000);
  answered('news', 200);
  expect(times()).toEqual([[earlier, later, 3]]);
});

it('adds up the same whenever counts are written and whoever serves, over the last 30 days', () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constantFrom(['call', 'news', 200], ['call', 'news', 404], ['call', 'usage', 200]),
    },
    { weight: 2, arbitrary: fc.constantFrom(['write'], ['restart']) },
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
        else {
          answered(given, status, name);
          const at = isoTime(clock.now());
          calls.push({ day: at.slice(0, 10), endpoint: given, status, at });
        }
      }
      const first = isoTime(clock.now() - 29 * DAY_MS).slice(0, 10);
      const recent = calls.filter(({ day }) => day >= first);
      const { byDay, calls: sums } = usage(name);
      expect(sums.last30Days).toBe(recent.length);
      const groups = [...new Set(recent.map(({ day, endpoint }) => `${day} ${endpoint}`))].sort();
      const latestFirst = [...new Set(recent.map(({ day }) => day))].sort().reverse();
      expect(byDay.map(({ day, endpoint }) => `${day} ${endpoint}`)).toEqual(
        latestFirst.flatMap((day) => groups.filter((group) => group.startsWith(day))),
      );
      for (const row of byDay) {
        const own = recent.filter(({ day, endpoint }) => day === row.day && endpoint === row.endpoint);
        expect(row).toMatchObject({
          calls: own.length,
          status2xx: own.filter(({ status }) => status === 200).length,
          status4xx: own.filter(({ status }) => status === 404).length,
          firstAt: own[0]?.at,
          lastAt: own.at(-1)?.at,
        });
      }
    }),
    { numRuns: 50 },
  );
});

it('is kept for 35 days with calls', () => {
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
