import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  findRepeatedName,
  isSuspicious,
  sliceElements,
  sliceMember,
  sliceValue,
  withPlainNames,
} from '../../src/validate/json-text.ts';
import { inspect } from '../../src/validate/values.ts';
import { anyText } from '../helpers/naughty.ts';

describe('the rows of a response, as they were received', () => {
  it('are found under any names, however spelled', () => {
    expect(sliceElements('{"a.b":{"r\\u006fws":[1,[2],{}]}}', ['a.b', 'rows'])).toEqual(['1', '[2]', '{}']);
    expect(sliceElements('{"rows":[1],"a":{"rows":[2]}}', ['rows'])).toEqual(['1']);
    expect(sliceElements('[{"a":[1,2]},3]', [])).toEqual(['{"a":[1,2]}', '3']);
    expect(sliceElements(' [ ] ', [])).toEqual([]);
    expect(sliceElements('{"rows":[]}', ['rows'])).toEqual([]);
  });

  it.each(['"', '\\', '\\"', '\\\\"', '}', ']', '[{', ',', ':', ' '])(
    'are not torn by %j in a text or a name',
    (text) => {
      const row = JSON.stringify({ [text]: text, last: 1 });
      expect(sliceElements(`{"rows":[${row},${row}]}`, ['rows'])).toEqual([row, row]);
    },
  );

  it('are the same as were written, for any JSON, however it is spaced', () => {
    const spaced = fc.constantFrom(undefined, 1, '\t', ' \n');
    const page = (rows: unknown[], space?: string | number) =>
      JSON.stringify({ x: rows, '"rows': { rows } }, null, space);
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), spaced, (rows, space) => {
        const found = sliceElements(page(rows, space), ['"rows', 'rows']);
        expect(found.map((text) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(rows)));
        if (!space) expect(found).toEqual(rows.map((row) => JSON.stringify(row)));
      }),
    );
  });

  it('may nest a hundred thousand levels deep', () => {
    const deep = `${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}`;
    expect(sliceElements(`{"x":${deep},"rows":[${deep},2]}`, ['rows'])).toEqual([deep, '2']);
  });
});

it('a text that is cut off ends', () => {
  const text = '{"ab": [ {"rows": "x\\\\", "n": 1.5e3 } ], "rows" : [ {"s": "\\u0022 ]"}, [1], "t", null ] }';
  expect(sliceElements(text, ['rows'])).toHaveLength(JSON.parse(text).rows.length);
  for (let length = 0; length < text.length; length += 1)
    expect(sliceElements(text.slice(0, length), ['rows']).length).toBeLessThanOrEqual(4);
});

describe('a value within a row', () => {
  it('is found by name and place', () => {
    const row = '{"a": {"b": [1, {"c": 123456789012345678}]}, "n": 5 }';
    expect(sliceValue(row, ['a', 'b', 1, 'c'])).toBe('123456789012345678');
    expect(sliceMember(row, 'n')).toBe('5');
  });
});

it('clears an ordinary page by a look at its text', () => {
  const clears = (text: string) => !isSuspicious(text, JSON.parse(text));
  expect(clears('{"rows":[{"a":"b\\u00e9","c":{"d":[{}]}}]}')).toBe(true);
  for (const text of ['{"a":"\\uD800"}', '{"a":"\\udc00"}', '{"a":1,"a":2}', '{"a":1,"\\u0061":2}'])
    expect(clears(text)).toBe(false);
  expect(clears(JSON.stringify('x'.repeat(1024 ** 2 + 1)))).toBe(false);
});

const findRepeated = (text: string) => findRepeatedName(text, inspect(JSON.parse(text)).members);

/** The string with every character escaped. */
const escaped = (text: string) =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;

/** JSON with spaces, the texts among its values escaped, and its names as `spell` does it. */
function write(value: unknown, spell: (name: string) => string): string {
  if (typeof value === 'string') return escaped(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[ ${value.map((inner) => write(inner, spell)).join(' ,')}]`;
  const members = Object.entries(value).map(([name, inner]) => `${spell(name)} :${write(inner, spell)}`);
  return `{${members.join(', ')} }`;
}

describe('names as they are kept', () => {
  it('are spelled plainly whatever they are, and nothing else is touched', () => {
    const text = fc.oneof(anyText, fc.constantFrom('\\', '"', '":', '\\"', '/', '__proto__'));
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.constant(null), tie('list'), tie('object')),
      list: fc.array(tie('json'), { maxLength: 4 }),
      object: fc.dictionary(text, tie('json'), { maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(json, (value) => {
        const plain = write(value, JSON.stringify);
        expect(withPlainNames(write(value, escaped))).toBe(plain);
        expect(withPlainNames(plain)).toBe(plain);
      }),
      { numRuns: 100 },
    );
  });

  it('are found in a megabyte of backslashes at once', () => {
    const row = (name: string) =>
      `{"a":"${'\\\\'.repeat(500_000)}","b":"${'\\"'.repeat(500_000)}","${name}":1}`;
    const begin = process.cpuUsage();
    expect(withPlainNames(row('\\u0069d')) === row('id')).toBe(true);
    expect(process.cpuUsage(begin).user).toBeLessThan(2_000_000);
  });
});

describe('a name that comes twice in an object', () => {
  it.each<[string, string]>([
    ['{"a":{"b":[1,[{"c":1},{"d":",","c":2,"d":[]}]]}}', 'a.b.1.1.d'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['[{"a":1},{"a":1,"\\u0061":2}]', '1.a'],
    ['{"":1,"":2}', ''],
  ])('is named with its place: %s', (text, path) => {
    expect(findRepeated(text)).toMatchObject({ path, expected: 'each name once in an object' });
  });

  it('is found however deep, and its place is cut where it is long', () => {
    const text = `{"a":${'[{"b":'.repeat(50_000)}{"c":1,"c":2}${'}]'.repeat(50_000)},"a":1}`;
    expect(findRepeated(text)?.path).toMatch(/^a\.0\.b\.0\.b[.0b]{91}$/);
  });

  it('is none where objects beside each other or in each other have it', () => {
    expect(findRepeated('{"a":[{"a":{"a":":"}},{"a":"\\":"}]}')).toBeUndefined();
    expect(findRepeated(' "\\"a\\":" ')).toBeUndefined();
  });
});
