import { describe, expect, it } from 'vitest';
import { profileRows } from '../../src/validate/profile.ts';

const profile = (...rows: string[]) => profileRows(rows.map((row) => JSON.parse(row)));
const typesOf = (...rows: string[]) =>
  Object.fromEntries(profile(...rows).fields.map(({ path, types }) => [path.join('/'), types]));

describe('the fields of a page', () => {
  it('are named by the way to them, through objects but not through arrays', () => {
    expect(typesOf('{"a":1,"b":{"c":{"d":"x"}},"e":[{"f":1}]}')).toEqual({
      a: ['integer'],
      'b/c/d': ['string'],
      e: ['array'],
    });
  });

  it('have every type that some row gives them', () => {
    expect(typesOf('{"a":1,"b":true}', '{"a":1.5,"b":"x"}', '{"a":12345678901234567890,"b":{}}')).toEqual({
      a: ['integer', 'big-integer', 'number'],
      b: ['boolean', 'string', 'object'],
    });
  });

  it('have no type where all their values are null', () => {
    expect(profile('{"a":null}').fields).toEqual([{ path: ['a'], types: [], values: 0, example: undefined }]);
  });

  it('are those of an object, not the object, where rows without it have null', () => {
    expect(typesOf('{"a":null}', '{"a":{"b":1}}')).toEqual({ 'a/b': ['integer'] });
  });

  it('are counted by the rows that give them a value, one of which is the example', () => {
    const { rows, fields } = profile('{"a":null}', '{"a":"x"}', '{}', '{"a":"y"}');
    expect(rows).toBe(4);
    expect(fields).toEqual([{ path: ['a'], types: ['string'], values: 2, example: 'x' }]);
  });

  it('end at the fourth level, where objects are whole', () => {
    expect(typesOf('{"a":{"b":{"c":{"d":{"e":1}}}}}')).toEqual({ 'a/b/c/d': ['object'] });
  });

  it('end at an object with more than 100 members, over all rows: it is a map', () => {
    const page = (tokens: number) =>
      Array.from({ length: tokens }, (_, at) => JSON.stringify({ id: at, held: { [`t${at}`]: { n: at } } }));
    expect(profile(...page(100)).fields).toHaveLength(101);
    expect(profile(...page(101), '{"id":1,"held":null}').fields).toMatchObject([
      { path: ['id'], values: 102 },
      { path: ['held'], types: ['object'], values: 101, example: { t0: { n: 0 } } },
    ]);
  });

  it('are never the prototype of anything', () => {
    expect(typesOf('{"__proto__":{"polluted":1},"constructor":2}')).toEqual({
      '__proto__/polluted': ['integer'],
      constructor: ['integer'],
    });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
