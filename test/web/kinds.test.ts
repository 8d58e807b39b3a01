/** What a column is taken for. */

import { expect, test } from 'vitest';
import { kindOf, prettyJson, webAddress } from '../../web/kinds.ts';

test('a column is what all its values are', () => {
  expect(kindOf(null, [1, null, { integer: '9007199254740993' }])).toBe('number');
  expect(kindOf('TEXT', ['2026-11-22T15:20:01Z', null])).toBe('time');
  expect(kindOf('TEXT', [1, 'one'])).toBe('text');
});

test('without values it is what it was declared to be', () => {
  expect(kindOf('REAL', [null])).toBe('number');
  expect(kindOf('INTEGER', [])).toBe('number');
  expect(kindOf(null, [])).toBe('text');
});

test('only addresses of the web become links', () => {
  expect(webAddress('https://example.com/a?b')).toBe('https://example.com/a?b');
  for (const text of [
    'javascript:alert(1)',
    'data:text/html,x',
    'see https://example.com',
    '//example.com',
    'https://',
  ])
    expect(webAddress(text), text).toBeNull();
});

test('JSON is laid out where that changes no value', () => {
  expect(prettyJson('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
  for (const text of ['plain', '3', '{"a":', '{"a":12345678901234567890}'])
    expect(prettyJson(text), text).toBeNull();
});
