import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sliceElements, sliceMember, sliceValue } from '../../src/validate/raw.ts';

const texts = (text: string, path: string[]) => sliceElements(text, path).map((slice) => slice.text);

describe('the rows of a response, as they were received', () => {
  it('keep spaces, the order of members, the spelling of numbers and escapes', () => {
    const rows = [
      '{ "b" : 1.0,\n "a":1e2 }',
      '{"id":12345678901234567890,"s":"\\u00e9\\/"}',
      '"text"',
      '-0',
      'null',
    ];
    expect(texts(`{"rows": [ ${rows.join(' ,\t')} ] , "x":1}`, ['rows'])).toEqual(rows);
  });

  it('are found under any names, however spelled', () => {
    expect(texts('{"a.b":{"r\\u006fws":[1,[2],{}]}}', ['a.b', 'rows'])).toEqual(['1', '[2]', '{}']);
    expect(texts('[{"a":[1,2]},3]', [])).toEqual(['{"a":[1,2]}', '3']);
    expect(texts(' [ ] ', [])).toEqual([]);
    expect(texts('{"rows":[]}', ['rows'])).toEqual([]);
  });

  it('are none where the path leads to no array', () => {
    for (const path of [['rows'], ['rows', 'x'], ['gone'], []])
      expect(texts('{"rows":{"x":1}}', path)).toEqual([]);
  });

  it('are those of the last member of that name, as for JSON.parse', () => {
    const text = '{"rows":[1],"rows":[2,3]}';
    expect(texts(text, ['rows']).map(Number)).toEqual(JSON.parse(text).rows);
  });

  it.each(['"', '\\', '\\"', '\\\\"', '}', ']', '[{', ',', ':', ' '])(
    'are not torn by %j in a text or a name',
    (text) => {
      const row = JSON.stringify({ [text]: text, last: 1 });
      expect(texts(`{"rows":[${row},${row}]}`, ['rows'])).toEqual([row, row]);
    },
  );

  it('are the same as parsing and writing again gives, for rows of every kind', () => {
    const rows = [{ a: { b: [{ c: null }, true] }, '': [] }, [], 'x', 0.5, { é: '柴犬 😀' }];
    expect(texts(JSON.stringify({ data: { rows } }), ['data', 'rows'])).toEqual(
      rows.map((row) => JSON.stringify(row)),
    );
  });

  it('are the same as were written, for any JSON, however it is spaced', () => {
    const spaced = fc.constantFrom(undefined, 1, '\t', ' \n');
    const page = (rows: unknown[], space?: string | number) =>
      JSON.stringify({ x: rows, '"rows': { rows } }, null, space);
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), spaced, (rows, space) => {
        const found = texts(page(rows, space), ['"rows', 'rows']);
        expect(found.map((text) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(rows)));
        if (!space) expect(found).toEqual(rows.map((row) => JSON.stringify(row)));
      }),
    );
  });

  it('may nest a hundred thousand levels deep', () => {
    const deep = `${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}`;
    expect(texts(`{"x":${deep},"rows":[${deep},2]}`, ['rows'])).toEqual([deep, '2']);
  });
});

it('a text that is cut off ends', () => {
  const text = '{"ab": [ {"rows": "x\\\\", "n": 1.5e3 } ], "rows" : [ {"s": "\\u0022 ]"}, [1], "t", null ] }';
  expect(texts(text, ['rows'])).toHaveLength(JSON.parse(text).rows.length);
  for (let length = 0; length < text.length; length += 1)
    expect(texts(text.slice(0, length), ['rows']).length).toBeLessThanOrEqual(4);
});

it('counts every member that a row names, repeated names too', () => {
  const [slice] = sliceElements('[{"a":1,"a":{"b":":","c":[{"d":1}]}}]', []);
  expect(slice?.members).toBe(5);
});

describe('a value within a row', () => {
  it('is found by name and place', () => {
    const row = '{"a": {"b": [1, {"c": 123456789012345678}]}, "n": 5 }';
    expect(sliceValue(row, ['a', 'b', 1, 'c'])).toBe('123456789012345678');
    expect(sliceMember(row, 'n')).toBe('5');
  });

  it('is undefined where there is none', () => {
    for (const path of [['x'], ['a', 'x'], ['a', 0], ['a', 'b', 2]])
      expect(sliceValue('{"a":{"b":[1]}}', path)).toBeUndefined();
    expect(sliceMember('[1]', 'a')).toBeUndefined();
  });
});
