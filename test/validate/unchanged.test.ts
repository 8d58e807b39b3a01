import { describe, expect, it, test } from 'vitest';
import type { DiscoveredShape, Row } from '../../src/validate/checked.ts';
import { type FindStoredRun, readUnchanged } from '../../src/validate/unchanged.ts';
import { checkPage } from '../../src/validate.ts';
import { job } from './support.ts';

const bodies = ['{"id":"a","n":1}', '{"id":"b","rows":[1]}', '{"id":7}', '{"id":"ü"}'];
const keys = ['a', 'b', '7', 'ü'];
const [a = '', b = ''] = bodies;
const rows = bodies.map((body, at): Row => ({ key: keys[at] ?? '', values: { _body: body } }));

/** As the table would find them: so many rows from one on, or fewer where it ends. */
function findFrom(from: number, count: number): FindStoredRun {
  return (text) => {
    const run = rows.slice(from, from + count);
    const bytes = Buffer.from(bodies.slice(from, from + count).join());
    return text.subarray(0, bytes.length).equals(bytes) ? { rows: run, bytes: bytes.length } : undefined;
  };
}

const shape: DiscoveredShape = { rowsPath: ['rows'], keyField: 'id', sharedKeys: [] };
const read = (text: string, find: FindStoredRun, by: Partial<DiscoveredShape> = {}) =>
  readUnchanged({ bytes: Buffer.from(text), text: () => text }, { ...shape, ...by }, find);
const page = (list: string) => `{"rows":[${list}],"total":4}`;

describe('a page is told by its bytes', () => {
  test.each([
    ['all rows', 0, 4, page(bodies.join())],
    ['with space around them', 0, 4, `{"rows" :\n[ ${bodies.join()} \r\n\t] , "total":4}`],
    ['behind others', 2, 2, page(bodies.slice(2).join())],
    ['as far as the table goes', 3, 100, page(bodies.slice(3).join())],
  ])('%s', (_, from, count, text) => {
    const found = read(text, findFrom(from, count));
    expect(found?.rows).toEqual(rows.slice(from, from + count));
    expect(found?.json).toEqual({ rows: ['the rows'], total: 4 });
  });

  it('where they lie deeper, or are all there is', () => {
    const deeper = read(`{"data":{"rows":[${a}]}}`, findFrom(0, 1), { rowsPath: ['data', 'rows'] });
    expect(deeper?.rows).toEqual([rows[0]]);
    for (const before of ['', ' ', '\n\t '])
      expect(read(`${before}[${a},${b}]`, findFrom(0, 2), { rowsPath: [] })?.rows).toEqual(rows.slice(0, 2));
    expect(read(`{"rows":[${a}]}`, findFrom(0, 1), { rowsPath: [] })).toBeUndefined();
  });
});

describe('every row is looked at', () => {
  test.each([
    ['where one more comes', page(`${a},{"id":"c"}`)],
    ['where one is another', page('{"id":"a","n":2}')],
    ['where one is spelled differently', page('{"id":"a", "n":1}')],
    ['where there is none', page('')],
    ['where there is nothing behind a comma', page(`${a},`)],
    ['where something else than space is behind them', page(`${a}\u0001`)],
    ['where another bracket ends them', `{"rows":[${a}},"total":4}`],
    ['where the page is cut short', `{"rows":[${a}`],
    ['where it goes on behind its end', `${page(a)}}`],
    ['where what is around them is no JSON', `{"rows":[${a}],"total":}`],
    ['where others come under the same name', `{"rows":[${a}],"rows":[{"id":"x"}]}`],
    ['where the same name may be spelled with escapes', `{"rows":[${a}],"r\\u006fws":[]}`],
    ['where the first array of that name lies elsewhere', `{"meta":{"rows":[${a}]},"rows":[{"id":"x"}]}`],
    ['where they are no array', `{"rows":{"a":${a}}}`],
  ])('%s', (_, text) => {
    expect(read(page(a), findFrom(0, 1))).toBeDefined();
    expect(read(text, findFrom(0, 1))).toBeUndefined();
  });

  it('where a name has escapes in the table, too', () => {
    const body = '{"id":"e","\\u006e":1}';
    const find: FindStoredRun = () => ({ rows: [{ key: 'e', values: {} }], bytes: body.length });
    expect(read(page(body), find)).toBeUndefined();
  });

  it('where the shape was found to be another since the page was read', () => {
    const body = { text: () => page(a) };
    const unchanged = read(body.text(), findFrom(0, 1));
    const check = (known?: DiscoveredShape) => checkPage(job('news'), body, unchanged, known);
    expect(check(unchanged?.shape)).toMatchObject({ keys: ['a'], fields: { fields: [], areStored: true } });
    expect(check({ ...shape, sharedKeys: ['a'] })).toMatchObject({
      keys: [expect.stringMatching(/^a#/)],
      fields: { fields: [{ path: ['id'] }, { path: ['n'] }] },
    });
  });

  it('where keys do not tell rows apart, or digests do', () => {
    expect(read(page(a), findFrom(0, 1), { sharedKeys: ['z'] })).toBeUndefined();
    expect(read(page(a), findFrom(0, 1), { keyField: null })).toBeUndefined();
  });
});
