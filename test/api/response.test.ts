import { describe, expect, test } from 'vitest';
import type { Headers } from '../../src/api/response.ts';
import { readHeaders } from '../../src/api/response.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const read = (headers: Headers) => readHeaders(headers, now);

describe('the quota that an answer tells', () => {
  const told = (headers: Headers) => {
    const { limit, remaining } = read(headers);
    return [limit, remaining];
  };
  const pair = (limit: string | string[], remaining: string | string[]) => ({
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
  });

  test.each<[string, Headers, (number | null)[]]>([
    ['is taken as it is', pair('100', '42'), [100, 42]],
    ['may be exhausted', pair('100', '0'), [100, 0]],
    ['may be half there', { 'x-ratelimit-remaining': '42' }, [null, 42]],
    ['is absent', {}, [null, null]],
    ['is nonsense', pair('many', 'NaN'), [null, null]],
    ['is negative', pair('100', '-1'), [100, null]],
    ['contradicts itself', pair('100', '101'), [null, null]],
    ['knows no call, not even this one', pair('0', '0'), [null, null]],
    ['is given twice', pair(['100', '90'], ['42', '40']), [90, 40]],
    ['is given twice in one line', pair('100', '42, 40'), [100, 40]],
    ['comes out of a cache', { ...pair('100', '42'), age: '3' }, [null, null]],
  ])('%s', (_name, headers, expected) => {
    expect(told(headers)).toEqual(expected);
  });
});

/** Of a moment so many milliseconds from now. */
const inSeconds = (ms: number) => String((now + ms) / 1_000);
const date = (ms: number) => new Date(now + ms).toUTCString();

test.each<[string, string | string[], number | null]>([
  ['in seconds', '30', 30_000],
  ['with a fraction', '36.5', 36_500],
  ['as a list, the longest first', '40,30', 40_000],
  ['as a list of both forms', `30, ${date(50_000)}`, 50_000],
  ['as a list with nonsense', 'soon, 30, -90, ', 30_000],
  ['in several headers', [date(60_000), '45'], 60_000],
  ['as a date', date(40_000), 40_000],
  ['as a date of RFC 850', 'Saturday, 21-Nov-26 12:00:40 GMT', 40_000],
  ['as a date of asctime', 'Sat Nov 21 12:00:40 2026', 40_000],
  ['as a Unix time', inSeconds(40_250), 40_250],
  ['as a Unix time in milliseconds', String(now + 40_000), 40_000],
  ['as a Unix time in a list', `30, ${inSeconds(40_000)}`, 40_000],
  ['as a Unix time that has passed', inSeconds(-40_000), null],
  ['as a date that has passed', date(-40_000), null],
  ['of zero', '0', null],
  ['that is negative', '-90', null],
  ['that is a word', 'soon', null],
  ['that is another kind of date', '2026-11-21', null],
  ['in another notation', '1e5', null],
  ['with a unit', '90s', null],
  ['beyond all measure', '9'.repeat(400), null],
])('Retry-After %s', (_name, text, expected) => {
  expect(read({ 'retry-after': text }).retryAfterMs).toBe(expected);
});

describe('X-Request-ID', () => {
  test('is kept as it is', () => {
    expect(read({ 'x-request-id': '6f1c-22' }).requestId).toBe('6f1c-22');
  });
  test('is cut and cleaned of what no identifier holds', () => {
    expect(read({ 'x-request-id': `\u001b[31m${'a'.repeat(500)}` }).requestId).toBe(`[31m${'a'.repeat(124)}`);
  });
  test('may be absent or empty', () => {
    expect(read({}).requestId).toBeNull();
    expect(read({ 'x-request-id': '' }).requestId).toBeNull();
  });
});
