import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Database } from '../../../src/store/db/sqlite.ts';
import { jsonPath, pathAround } from '../../../src/store/fields/json-path.ts';

const strange = [
  'a"b',
  "it's",
  'a\\b',
  'a\\"b',
  'a.b',
  'a[0]',
  '[0]',
  '$',
  '#-1',
  '',
  ' ',
  'a\0b',
  '\n',
  '"',
  '."x"',
  'é',
  '😀',
  '__proto__',
];

it('plain names are written plainly', () => {
  expect(jsonPath(['pnl', 'realizedUsd'])).toBe('$.pnl.realizedUsd');
});

it.each(strange)('SQLite finds the value of a field named %j, and of one within it', (name) => {
  const extract = new Database(':memory:').prepare('SELECT json_extract(?, ?)').pluck();
  expect(extract.get(JSON.stringify({ x: 0, [name]: 7 }), jsonPath([name]))).toBe(7);
  expect(extract.get(JSON.stringify({ a: { [name]: { b: 7 } } }), jsonPath(['a', name, 'b']))).toBe(7);
});

it('SQLite finds the value of a field of any name, on the way of any names', () => {
  const extract = new Database(':memory:').prepare('SELECT json_extract(?, ?)').pluck();
  const name = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom(...strange));
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (path) => {
      const row = path.reduceRight<unknown>(
        (value, name) =>
          Object.fromEntries([
            ['x', 0],
            [name, value],
          ]),
        7,
      );
      expect(extract.get(JSON.stringify(row), jsonPath(path))).toBe(7);
      expect(pathAround(jsonPath(path))).toBe(jsonPath(path.slice(0, -1)));
    }),
    { numRuns: 1_000 },
  );
});

it.each(strange)('the object around a field is found, whatever its name is: %j', (name) => {
  expect(pathAround(jsonPath(['a', name]))).toBe('$.a');
  expect(pathAround(jsonPath([name, 'a']))).toBe(jsonPath([name]));
  expect(pathAround(jsonPath([name]))).toBe('$');
});
