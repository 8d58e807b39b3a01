/** Retry-After in every form that servers send. */

import { expect, test } from 'vitest';
import { json, pageFor, setupUpstream } from '../helpers/upstream.ts';

const begin = Date.parse('2026-11-21T12:00:00Z');
const SECOND = 1_000;
const DAY = 24 * 3_600_000;
/** What our own wait is at most where the API says nothing that can be used. */
const OWN = 20 * SECOND;

const inSeconds = (ms: number) => String((begin + ms) / SECOND);
const date = (ms: number) => new Date(begin + ms).toUTCString();

const forms: [name: string, text: string | string[], leastMs: number, mostMs?: number][] = [
  ['a whole number', '30', 30 * SECOND],
  ['a fraction', '36.5', 36.5 * SECOND],
  ['a whole number as a fraction', '30.0', 30 * SECOND],
  ['a list', '30, 40', 40 * SECOND],
  ['a list, the longest first', '40,30', 40 * SECOND],
  ['a list of both forms', `30, ${date(50 * SECOND)}`, 50 * SECOND],
  ['a list of both forms, the date first', `${date(50 * SECOND)}, 30`, 50 * SECOND],
  ['a list with nonsense', 'soon, 30, -90, ', 30 * SECOND],
  ['several headers', ['30', '45'], 45 * SECOND],
  ['several headers with a date', [date(60 * SECOND), '45'], 60 * SECOND],
  ['a date', date(40 * SECOND), 40 * SECOND],
  ['a date of RFC 850', 'Saturday, 21-Nov-26 12:00:40 GMT', 40 * SECOND],
  ['a date of asctime', 'Sat Nov 21 12:00:40 2026', 40 * SECOND],
  ['a Unix time', inSeconds(40 * SECOND), 40 * SECOND],
  ['a Unix time with a fraction', inSeconds(40_250), 40_250],
  ['a Unix time in milliseconds', String(begin + 40 * SECOND), 40 * SECOND],
  ['a Unix time in a list', `30, ${inSeconds(40 * SECOND)}`, 40 * SECOND],
  ['a Unix time more than a day ahead', inSeconds(3 * DAY), DAY],
  ['a number of seconds beyond a day', '200000', DAY],
  ['a Unix time that has passed', inSeconds(-40 * SECOND), 0, OWN],
  ['a Unix time in milliseconds that has passed', String(begin - 40 * SECOND), 0, OWN],
  ['a date that has passed', date(-40 * SECOND), 0, OWN],
  ['zero', '0', 0, OWN],
  ['a negative number', '-90', 0, OWN],
  ['a word', 'soon', 0, OWN],
  ['another kind of date', '2026-11-21', 0, OWN],
  ['a number in another notation', '1e5', 0, OWN],
  ['a number with a unit', '90s', 0, OWN],
  ['a number beyond all measure', '9'.repeat(400), 0, OWN],
];

test.each(forms)('%s is waited for, no shorter and hardly longer', async (_, text, leastMs, mostMs) => {
  const bench = await setupUpstream((response, nth, request) =>
    nth === 2
      ? json(response, '{"error":"slow_down","message":"later"}', { 'retry-after': text as string }, 429)
      : json(response, pageFor(request, 250)),
  );
  expect((await bench.sync()).code).toBe(0);
  expect(bench.rows()).toBe(250);
  const [, refused, next] = bench.requests.map(({ at }) => at);
  const waited = Number(next) - Number(refused);
  expect(waited).toBeGreaterThanOrEqual(leastMs);
  expect(waited).toBeLessThanOrEqual(mostMs ?? leastMs + 6 * SECOND);
});

test('with a 503 it is read alike', async () => {
  const bench = await setupUpstream((response, nth, request) =>
    nth === 2
      ? json(response, '', { 'retry-after': inSeconds(40 * SECOND) }, 503)
      : json(response, pageFor(request, 250)),
  );
  expect((await bench.sync()).code).toBe(0);
  const [, refused, next] = bench.requests.map(({ at }) => at);
  expect(Number(next) - Number(refused)).toBeGreaterThanOrEqual(40 * SECOND);
  expect(Number(next) - Number(refused)).toBeLessThanOrEqual(50 * SECOND);
});
