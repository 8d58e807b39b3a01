import { describe, expect, it } from 'vitest';
import { checkNews } from './support.ts';

const keysOf = (...rows: string[]) => checkNews(rows).keys;
const isDigest = expect.stringMatching(/^[0-9a-f]{32}$/);

describe('the key of a dataset that names none', () => {
  it.each<[string, string[], string[]]>([
    ['id', ['{"slug":"a","id":7}', '{"slug":"b","id":"x"}'], ['7', 'x']],
    ['another identifier', ['{"title":"t","alertId":1}', '{"title":"t","alertId":2}'], ['1', '2']],
    ['an address', ['{"address":"0xA"}', '{"address":"0xB"}'], ['0xA', '0xB']],
    [
      'named so in part',
      ['{"keyword":"k","a":0,"row-id":1}', '{"keyword":"l","a":1,"row-id":2}'],
      ['1', '2'],
    ],
    ['any uuid', ['{"paid":1,"rowuuid":"a"}', '{"paid":2,"rowuuid":"b"}'], ['a', 'b']],
    ['the last choice', ['{"HashRate":1,"tx_hash":"a"}', '{"HashRate":2,"tx_hash":"b"}'], ['a', 'b']],
    [
      'large numbers, with all digits',
      ['{"id":12345678901234567890}', '{"id" : 12345678901234567891}'],
      ['12345678901234567890', '12345678901234567891'],
    ],
  ])('is %s', (_, rows, keys) => {
    expect(keysOf(...rows)).toEqual(keys);
  });

  it.each<[string, string[]]>([
    ['one row lacks it', ['{"id":1}', '{"x":1}']],
    ['it is null in one row', ['{"id":1}', '{"id":null}']],
    ['it is no scalar', ['{"id":{"a":1}}', '{"id":{"a":2}}']],
    ['it is empty', ['{"id":""}', '{"id":"a"}']],
    ['it is a fraction', ['{"id":1.5}', '{"id":2.5}']],
    ['its digits are not written out', ['{"id":1e20}', '{"id":2e20}']],
    ['two rows share it', ['{"id":1,"a":1}', '{"id":1,"a":2}']],
    ['it merely happens to differ', ['{"title":"a"}', '{"title":"b"}']],
    ['names only begin like one', ['{"keyword":1,"MintedAt":1}', '{"keyword":2,"MintedAt":2}']],
    ['a name only ends in id', ['{"paid":1}', '{"paid":2}']],
  ])('is a digest of the row where %s', (_, rows) => {
    expect(checkNews(rows).shape?.keyField).toBeNull();
    expect(keysOf(...rows)).toEqual(rows.map(() => isDigest));
  });

  it('is chosen from the rows that are fit to be kept', () => {
    const { shape, keys } = checkNews(['5', '{"id":"a"}', '{"id":"b","t":"\\ud800"}']);
    expect(shape?.keyField).toBe('id');
    expect(keys).toEqual([null, 'a', 'b']);
  });

  it('is not chosen as long as no row is fit', () => {
    expect(checkNews([]).shape).toBeUndefined();
    expect(checkNews(['1', 'null', '[]']).shape).toBeUndefined();
  });
});

describe('rows without a key', () => {
  it('are the same whatever the order of their members and the spelling of their numbers', () => {
    const [one, two, other] = keysOf('{"a":1,"b":{"c":1,"d":2}}', '{"b":{"d":2,"c":1.0},"a":1}', '{"a":2}');
    expect(one).toBe(two);
    expect(other).not.toBe(one);
    expect(checkNews(['{"a":1,"b":2}', '{"b":2,"a":1}']).accepted).toHaveLength(1);
  });

  it('differ by the last digit of a large number', () => {
    expect(new Set(keysOf('{"a":12345678901234567890}', '{"a":12345678901234567891}')).size).toBe(2);
  });
});

describe('a key that is contradicted', () => {
  const { shape } = checkNews(['{"id":1}', '{"id":2}']);

  it('keeps both rows under it, and says so', () => {
    const page = checkNews(['{"id":1,"a":1}', '{"id":2}', '{"id":1,"a":2}'], shape);
    expect(page.accepted.map(({ values }) => values['_body'])).toEqual([
      '{"id":1,"a":1}',
      '{"id":2}',
      '{"id":1,"a":2}',
    ]);
    expect(page.keys).toEqual([
      expect.stringMatching(/^1#[0-9a-f]{32}$/),
      '2',
      expect.stringMatching(/^1#[0-9a-f]{32}$/),
    ]);
    expect(page.drifts).toMatchObject([{ kind: 'contradicted-key', path: 'id', times: 2 }]);
    expect(page.shape).toEqual({ rowsPath: ['rows'], keyField: 'id', sharedKeys: ['1'] });
  });

  it('keeps to its rows the names they have, whatever their order and company', () => {
    const rows = ['{"id":1,"a":1}', '{"id":1,"a":2}'];
    const first = checkNews(rows, shape);
    const turned = checkNews(rows.toReversed(), first.shape);
    expect(turned.keys).toEqual(first.keys.toReversed());
    expect(checkNews(rows.slice(1), first.shape).keys).toEqual(first.keys.slice(1));
    expect(turned.shape).toBe(first.shape);
  });

  it('is not what one row that came twice makes of it', () => {
    const page = checkNews(['{"id":1,"a":2}', '{"a":2,"id":1}'], shape);
    expect(page.keys).toEqual(['1', '1']);
    expect(page.accepted).toHaveLength(1);
    expect(page.shape).toBe(shape);
  });

  it('tells rows apart that differ only in digits a double has not', () => {
    const page = checkNews(['{"id":1,"a":12345678901234567890}', '{"id":1,"a":12345678901234567891}'], shape);
    expect(page.accepted).toHaveLength(2);
  });

  it('gives every row its digest too, once a thousand values were shared', () => {
    const sharedKeys = Array.from({ length: 1_000 }, (_, at) => `s${at}`);
    const full = { rowsPath: ['rows'], keyField: 'id', sharedKeys };
    const page = checkNews(['{"id":"new"}', '{"id":"new","a":1}'], full);
    expect(page.keys).toEqual([expect.stringMatching(/^new#/), expect.stringMatching(/^new#/)]);
    expect(page.shape).toBe(full);
    const nearlyFull = { ...full, sharedKeys: sharedKeys.slice(1) };
    const twoMore = ['{"id":"x","a":1}', '{"id":"x"}', '{"id":"y","a":1}', '{"id":"y"}'];
    expect(checkNews(twoMore, nearlyFull).shape?.sharedKeys).toEqual([...nearlyFull.sharedKeys, 'x']);
  });

  it('knows a row that lacks it by its digest, and says so', () => {
    const page = checkNews(['{"x":1}'], shape);
    expect(page.keys).toEqual([isDigest]);
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
    ['an array', '[{"id":1}]', 'an object'],
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

  it('is refused under no key where the key itself cannot be kept, or no field is the key', () => {
    expect(checkNews(['{"id":"a"}', '{"id":"\\ud800"}']).keys).toEqual(['a', null]);
    expect(checkNews(['{"x":1}', '{"null":"a","x":"\\ud800"}']).keys).toEqual([isDigest, null]);
  });
});
