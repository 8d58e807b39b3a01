import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  findRepeatedNameIn,
  inspect,
  mayHoldHostileText,
  withPlainNames,
} from '../../src/validate/storable.ts';

const nested = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);

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

const findRepeated = (text: string) => findRepeatedNameIn(text, inspect(JSON.parse(text)).members);

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
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\\', '"', '":', '\\"', '/', '__proto__'),
    );
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
      { numRuns: 300 },
    );
  });

  it('keep the escapes that they need, a solidus needs none', () => {
    expect(withPlainNames('{"a\\"\\n\\\\":1,"b\\/c":"d\\/e"}')).toBe('{"a\\"\\n\\\\":1,"b/c":"d\\/e"}');
  });

  it('are found in a megabyte of backslashes at once', () => {
    const row = (name: string) =>
      `{"a":"${'\\\\'.repeat(500_000)}","b":"${'\\"'.repeat(500_000)}","${name}":1}`;
    const begin = performance.now();
    expect(withPlainNames(row('\\u0069d')) === row('id')).toBe(true);
    expect(performance.now() - begin).toBeLessThan(2_000);
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

  it('has no place that a table cannot keep', () => {
    expect(findRepeated('{"a":{"\\ud800":1,"\\ud800":2},"a":1}')?.path).toBe('a.\ufffd');
  });

  it('is none where objects beside each other or in each other have it', () => {
    expect(findRepeated('{"a":[{"a":{"a":":"}},{"a":"\\":"}]}')).toBeUndefined();
    expect(findRepeated(' "\\"a\\":" ')).toBeUndefined();
  });
});
