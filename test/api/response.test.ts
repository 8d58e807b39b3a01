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
    ['is given twice', pair(['100', '90'], ['42', '40']), [90, 40]],
    ['is given twice in one line', pair('100', '42, 40'), [100, 40]],
    ['comes out of a cache', { ...pair('100', '42'), age: '3' }, [null, null]],
  ])('%s', (_name, headers, expected) => {
    expect(told(headers)).toEqual(expected);
  });
});

describe('Retry-After', () => {
  test.each<[string, string, number | null]>([
    ['in seconds', '30', 30_000],
    ['of zero', '0', null],
    ['as a date', 'Sat, 21 Nov 2026 12:01:00 GMT', 60_000],
    ['as a date that has passed', 'Sat, 21 Nov 2026 11:00:00 GMT', null],
    ['that is negative', '-5', null],
    ['with a fraction', '1.5', 1_500],
    ['that is a word', 'soon', null],
    ['that is another kind of date', '2026-11-21', null],
    ['beyond all measure', '1e9', null],
  ])('%s', (_name, text, expected) => {
    expect(read({ 'retry-after': text }).retryAfterMs).toBe(expected);
  });

  test('may be absent', () => {
    expect(read({}).retryAfterMs).toBeNull();
  });
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
