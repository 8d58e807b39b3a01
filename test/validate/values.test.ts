import { describe, expect, it } from 'vitest';
import { holdsLongNumber, inspect, profileRows } from '../../src/validate/values.ts';

const nested = (levels: number, inner = '1'): unknown =>
  JSON.parse(`${'{"a":'.repeat(levels)}${inner}${'}'.repeat(levels)}`);

describe('a row that no table can hold', () => {
  it.each<[string, unknown, string]>([
    ['a lone surrogate in a text', { a: ['ok', { b: '\ud800' }] }, 'a.1.b'],
    ['a lone surrogate in a name', { a: { 'x\udc00': 1 } }, 'a.x\ufffd'],
    ['a NUL in a name', { a: [{ 'b\0c': 1, b: 2 }] }, 'a.0.b\0c'],
    ['a text of more than a megabyte', { a: 'x'.repeat(1024 ** 2 + 1) }, 'a'],
    ['a number too large for a double', { a: { b: JSON.parse('1e400') } }, 'a.b'],
    ['a number too small for a double', { a: JSON.parse('-1e400') }, 'a'],
  ])('is named with the place of %s', (_, row, path) => {
    expect(inspect(row).problem?.path).toBe(path);
  });

  it('is one nested deeper than 64 levels, even a hundred thousand', () => {
    for (const inner of ['1', 'null']) expect(inspect(nested(64, inner)).problem).toBeUndefined();
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

it('tells whether a text may hold a number that has lost digits', () => {
  expect(holdsLongNumber('{"a":[{"b":12345678901234567890}]}')).toBe(true);
  expect(holdsLongNumber('{"a":[{"b":1.2345678901234567}]}')).toBe(true);
  expect(holdsLongNumber('{"a":[{"b":123456789012345}, 0.1]}')).toBe(false);
});

const profile = (...rows: string[]) => profileRows(rows.map((row) => JSON.parse(row)));
const typesOf = (...rows: string[]) =>
  Object.fromEntries(profile(...rows).fields.map(({ path, types }) => [path.join('/'), types]));

describe('the fields of a page', () => {
  it('are named by the way to them, through objects but not through arrays', () => {
    expect(typesOf('{"a":1,"b":{"c":"x"},"e":[{"f":1}]}')).toEqual({
      a: ['integer'],
      'b/c': ['string'],
      e: ['array'],
    });
  });

  it('have every type that some row gives them', () => {
    expect(typesOf('{"a":1,"b":true}', '{"a":1.5,"b":"x"}', '{"a":12345678901234567890,"b":{}}')).toEqual({
      a: ['integer', 'big-integer', 'number'],
      b: ['boolean', 'string', 'object'],
    });
  });

  it('are counted by the rows that give them a value, one of which is the example', () => {
    const { rows, fields } = profile('{"a":null}', '{"a":"x"}', '{}', '{"a":"y"}');
    expect(rows).toBe(4);
    expect(fields).toEqual([{ path: ['a'], types: ['string'], values: 2, example: 'x' }]);
  });

  it('end at an object with more than 30 members: it is a map', () => {
    const map = (members: number) =>
      JSON.stringify({
        held: Object.fromEntries(Array.from({ length: members }, (_, at) => [`t${at}`, at])),
      });
    expect(profile(map(30)).fields).toHaveLength(30);
    expect(profile(map(31)).fields).toMatchObject([{ path: ['held'], types: ['object'] }]);
  });

  it('are never the prototype of anything', () => {
    expect(typesOf('{"__proto__":{"polluted":1},"constructor":2}')).toEqual({
      '__proto__/polluted': ['integer'],
      constructor: ['integer'],
    });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
