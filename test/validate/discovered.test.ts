import { describe, expect, it } from 'vitest';
import { unknownShape } from '../../src/validate.ts';
import { checkNews } from './support.ts';

const keysOf = (...rows: string[]) => checkNews(rows).keys;
const isDigest = expect.stringMatching(/^[0-9a-f]{32}$/);

describe('the key of a list without a contract, on its first page', () => {
  it.each<[string, string[], string[]]>([
    ['id', ['{"slug":"a","id":7}', '{"slug":"b","id":"x"}'], ['7', 'x']],
    ['_id', ['{"_id":"a"}', '{"_id":"b"}'], ['a', 'b']],
    [
      'another of these where the first is shared',
      ['{"id":1,"uuid":"a"}', '{"id":1,"uuid":"b"}'],
      ['a', 'b'],
    ],
    [
      'large numbers, with all digits',
      ['{"id":12345678901234567890}', '{"id" : 12345678901234567891}'],
      ['12345678901234567890', '12345678901234567891'],
    ],
  ])('is believed: %s', (_, rows, keys) => {
    expect(keysOf(...rows)).toEqual(keys);
  });

  it.each<[string, string[]]>([
    ['one row lacks it', ['{"id":1}', '{"x":1}']],
    ['it is null in one row', ['{"id":1}', '{"id":null}']],
    ['it is no scalar', ['{"id":{"a":1}}', '{"id":{"a":2}}']],
    ['it is a fraction', ['{"id":1.5}', '{"id":2.5}']],
    ['two rows share it', ['{"id":1,"a":1}', '{"id":1,"a":2}']],
    ['its name only looks like one', ['{"address":"0xA"}', '{"address":"0xB"}']],
  ])('is a digest of the row where %s', (_, rows) => {
    expect(checkNews(rows).shape?.key).toBeNull();
    expect(keysOf(...rows)).toEqual(rows.map(() => isDigest));
  });
});

describe('rows without a key', () => {
  it('differ by the last digit of a large number', () => {
    expect(new Set(keysOf('{"a":12345678901234567890}', '{"a":12345678901234567891}')).size).toBe(2);
  });

  it('are the same whatever the fields say that are no part of the digest', () => {
    const shape = { ...unknownShape, hasLookedForKey: true, ages: [['age']], leftOut: [['stats', 'rank']] };
    const { keys } = checkNews(
      [
        '{"a":1,"age":5,"stats":{"rank":1,"x":1}}',
        '{"a":1,"age":6,"stats":{"rank":9,"x":1}}',
        '{"a":1,"stats":{"x":2}}',
      ],
      shape,
    );
    expect(keys[0]).toBe(keys[1]);
    expect(keys[2]).not.toBe(keys[0]);
  });
});

describe('the rows of a list whose key is known', () => {
  const known = (...key: string[]) => ({
    ...unknownShape,
    hasLookedForKey: true,
    key: key.map((name) => [name]),
  });

  it('are known by several fields together, whatever their values hold', () => {
    const rows = [
      '{"chain":"a","address":"b|c"}',
      '{"chain":"a|b","address":"c"}',
      '{"chain":"a","address":7}',
    ];
    const { keys } = checkNews(rows, known('chain', 'address'));
    expect(keys).toEqual(['a|b\\|c', 'a\\|b|c', 'a|7']);
  });

  it('show that a number and a text alike may be two', () => {
    const { accepted, keys } = checkNews(['{"id":1}', '{"id":"1"}', '{"id":"x"}'], known('id'));
    expect(keys).toEqual(['1', '1', 'x']);
    expect(accepted.map(({ discovered }) => discovered?.textKey)).toEqual([undefined, '"1"', undefined]);
  });

  it('are known by their digest where they lack it, and it is said', () => {
    const page = checkNews(['{"x":1}', '{"id":2}'], known('id'));
    expect(page.keys).toEqual([isDigest, '2']);
    expect(page.withoutKeyField).toBe(1);
    expect(page.drifts).toEqual([
      { kind: 'contradicted-key', path: 'id', detail: 'a row without it', times: 1 },
    ]);
  });
});

describe('a row as it is kept', () => {
  it('is the text that was sent', () => {
    const rows = ['{ "id" : 1,\n "n":1.50, "n2":12345678901234567890, "s":"\\u0000\\u00e9" }', '{"id":2}'];
    expect(checkNews(rows).accepted.map(({ values }) => values['_body'])).toEqual(rows);
  });

  it('has its names in their plain spelling, and all else as it was sent', () => {
    const row = '{ "\\u0069d" : 1,\n "n":1.50, "s":"\\u00e9:\\"", "o":[{"a\\/b" : 12345678901234567890}] }';
    const plain = '{ "id" : 1,\n "n":1.50, "s":"\\u00e9:\\"", "o":[{"a/b" : 12345678901234567890}] }';
    const { accepted, keys } = checkNews([row]);
    expect(accepted).toMatchObject([{ key: '1', values: { _body: plain } }]);
    expect(checkNews([plain]).keys).toEqual(keys);
  });

  it.each<[string, string, string]>([
    ['at the top', '{"id":"x","id":"b"}', 'id'],
    ['in two spellings', '{"id":"x","\\u0069d":"b"}', 'id'],
    ['further down', '{"id":"b","a":[{"c":1},{"b":1,"b":1}]}', 'a.1.b'],
    ['in a value that another of its name hides', '{"id":"b","a":{"b":1,"b":2},"a":1}', 'a.b'],
  ])('is refused under its last key where it names a member twice, %s', (_, row, path) => {
    const page = checkNews([row, '{"id":"c","x":{"id":1},"y":{"id":1}}']);
    expect(page.refused).toMatchObject([
      { key: 'b', body: row, problems: [{ path, expected: 'each name once in an object' }] },
    ]);
    expect(page.accepted.map(({ key }) => key)).toEqual(['c']);
  });

  it.each<[string, string, string]>([
    ['a number', '5', 'an object'],
    ['a text with a lone surrogate', '{"id":1,"a":"\\ud800"}', 'well-formed Unicode'],
    ['a name with a lone surrogate', '{"id":1,"\\ud800":1}', 'well-formed Unicode'],
    [
      'a name that SQLite takes for that of another member',
      '{"id":1,"a\\u0000b":1,"a":2}',
      'names without NUL',
    ],
    ['a number too large', '{"id":1,"a":[1e400]}', 'a number that a double can hold'],
  ])('is refused where it is or holds %s', (_, row, expected) => {
    const page = checkNews(['{"id":0}', row]);
    expect(page.refused).toMatchObject([{ body: row, problems: [{ expected }] }]);
    expect(page.accepted).toHaveLength(1);
  });

  it('is refused where it nests a hundred thousand levels deep, and kept whole', () => {
    const row = `{"id":1,"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(checkNews([row]).refused).toMatchObject([{ body: row, key: null }]);
  });
});
