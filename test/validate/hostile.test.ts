import { describe, expect, it } from 'vitest';
import { inspect, mayHoldHostileText } from '../../src/validate/hostile.ts';

const nested = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);

describe('a row that no table can hold', () => {
  it.each<[string, unknown, string]>([
    ['a lone surrogate in a text', { a: ['ok', { b: '\ud800' }] }, 'a.1.b'],
    ['a lone surrogate in a name', { a: { 'x\udc00': 1 } }, 'a.x\ufffd'],
    ['a text of more than a megabyte', { a: 'x'.repeat(1024 ** 2 + 1) }, 'a'],
    ['a number too large for a double', { a: { b: JSON.parse('1e400') } }, 'a.b'],
    ['a number too small for a double', { a: JSON.parse('-1e400') }, 'a'],
  ])('is named with the place of %s', (_, row, path) => {
    expect(inspect(row).problem?.path).toBe(path);
  });

  it('is one nested deeper than 64 levels, even a hundred thousand', () => {
    expect(inspect(nested(64)).problem).toBeUndefined();
    expect(inspect(nested(65)).problem?.expected).toContain('64 levels');
    expect(inspect(nested(100_000)).problem?.expected).toContain('64 levels');
  });

  it('is not one that is merely strange', () => {
    const row = JSON.parse(
      '{"__proto__":{"a":1},"constructor":null,"":"\\u0000\\u202e","n":12345678901234567890,"e":"😀","l":-0}',
    );
    expect(inspect(row).problem).toBeUndefined();
    expect(inspect({ a: 'x'.repeat(1024 ** 2) }).problem).toBeUndefined();
  });
});

it('counts the members of a row, those of its objects too', () => {
  expect(inspect(JSON.parse('{"a":1,"__proto__":{"b":[{"c":1},2]}}')).members).toBe(4);
});

it('tells whether a number has lost digits', () => {
  expect(inspect({ a: [{ b: 2 ** 53 }] }).inexact).toBe(true);
  expect(inspect({ a: [{ b: 2 ** 53 - 1 }, 0.1] }).inexact).toBe(false);
});

it('clears an ordinary page by one look at its text', () => {
  expect(mayHoldHostileText('{"rows":[{"a":"b\\u00e9"}]}')).toBe(false);
  expect(mayHoldHostileText('{"a":"\\uD800"}')).toBe(true);
  expect(mayHoldHostileText('{"a":"\\udc00"}')).toBe(true);
  expect(mayHoldHostileText('x'.repeat(1024 ** 2 + 1))).toBe(true);
});
