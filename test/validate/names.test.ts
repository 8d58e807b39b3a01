import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inspect } from '../../src/validate/hostile.ts';
import { findRepeatedNameIn, withPlainNames } from '../../src/validate/names.ts';

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
