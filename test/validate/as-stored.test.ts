import { describe, expect, it, test } from 'vitest';
import { readAsStored } from '../../src/validate/as-stored.ts';
import type { DiscoveredShape, StoredRow, StoredRows } from '../../src/validate/checked.ts';

const bodies = ['{"id":"a","n":1}', '{"id":"b","rows":[1]}', '{"id":7}', '{"id":"ü"}'];
const [a = '', b = ''] = bodies;
const keys = ['a', 'b', '7', 'ü'];
const rows = bodies.map(
  (body, at): StoredRow => ({ rowid: at + 1, walkId: 1, key: keys[at] ?? '', body: () => body, asOf: 0 }),
);
const stored: StoredRows = {
  find: (key) => rows.find((row) => row.key === key),
  isFirstOf: (text, rowid) => {
    const body = rows[rowid - 1]?.body();
    return body !== undefined && text.subarray(0, Buffer.byteLength(body)).equals(Buffer.from(body));
  },
  run(from, count, text) {
    const run = rows.slice(from - 1, from - 1 + count);
    const bytes = Buffer.from(run.map(({ body }) => body()).join());
    const isSame = run.length > 0 && text.subarray(0, bytes.length).equals(bytes);
    return isSame ? { rows: run, bytes: bytes.length } : undefined;
  },
  after: ({ rowid }, count) => rows.slice(rowid, rowid + count),
};
const shape: DiscoveredShape = { rowsPath: ['rows'], keyField: 'id', sharedKeys: [] };
/** @param before the rows of the page before. */
const read = (text: string, by: Partial<DiscoveredShape> = {}, before: readonly StoredRow[] = []) =>
  readAsStored(
    { bytes: Buffer.from(text), text: () => text },
    { ...shape, ...by },
    stored,
    before.map((row) => ({ key: row.key, values: {}, stored: row })),
  );
const page = (list: string) => `{"rows":[${list}],"total":4}`;

describe('a page is told by the text of its rows', () => {
  test.each([
    ['in the order of the table', page(bodies.join())],
    ['in another order', page(bodies.toReversed().join())],
    ['with space around them', `{"rows" :\n[ ${bodies.join(' ,\r\n\t')} ] , "total":4}`],
  ])('%s', (_, text) => {
    const found = read(text);
    expect(found?.rows.map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
    expect(found?.json).toEqual({ rows: ['the rows'], total: 4 });
  });

  describe.each([
    ['behind those of the page before', rows.slice(0, 2), rows.slice(2)],
    ['from the last row of the page before on', rows.slice(0, 2), rows.slice(1, 3)],
    ['as far as the table goes', rows.slice(0, 3), rows.slice(3)],
    ['elsewhere than behind those of the page before', rows.slice(2), rows.slice(0, 2)],
    ['and are fewer than those of the page before', rows.slice(0, 3), rows.slice(2, 4)],
  ])('where they lie %s', (_, before, these) => {
    const list = these.map((row) => row.body());
    it('each as it is', () => expect(read(page(list.join()), {}, before)?.rows).toEqual(these));
    it('and none is another', () =>
      expect(read(page(list.with(-1, '{"id":"x"}').join()), {}, before)).toBeUndefined());
  });

  it('where they lie deeper, or are all there is', () => {
    expect(read(`{"data":{"rows":[${a}]}}`, { rowsPath: ['data', 'rows'] })?.rows).toEqual([rows[0]]);
    expect(read(`[${a},${b}]`, { rowsPath: [] })?.rows).toEqual(rows.slice(0, 2));
  });
});

describe('every row is looked at', () => {
  test.each([
    ['where one is new', page(`${a},{"id":"c"}`)],
    ['where one is another', page(`${a},{"id":"b"}`)],
    ['where one is spelled differently', page('{"id":"a", "n":1}')],
    ['where one comes twice', page(`${a},${a}`)],
    ['where one has no key', page('{"n":1}')],
    ['where there is none', page('')],
    ['where there is nothing behind a comma', page(`${a},`)],
    ['where no comma is between two', page(`${a} ${b}`)],
    ['where something else than space is between two', page(`${a},\u0001${b}`)],
    ['where the page is cut short', `{"rows":[${a}`],
    ['where it goes on behind its end', `${page(a)}}`],
    ['where what is around them is no JSON', `{"rows":[${a}],"total":}`],
    ['where others come under the same name', `{"rows":[${a}],"rows":[{"id":"x"}]}`],
    ['where the same name may be spelled with escapes', `{"rows":[${a}],"r\\u006fws":[]}`],
    ['where the first array of that name lies elsewhere', `{"meta":{"rows":[${a}]},"rows":[{"id":"x"}]}`],
    ['where a name has escapes', page(`${a},{"\\u0069d":"b"}`)],
  ])('%s', (_, text) => {
    expect(read(text)).toBeUndefined();
    // Where the page before has shown the first of these rows, they are read all at once.
    expect(read(text, {}, rows.slice(0, 1))).toBeUndefined();
  });

  it('where a name has escapes in the table, too', () => {
    const body = '{"id":"e","\\u006e":1}';
    const old: StoredRow = { rowid: 1, walkId: 1, key: 'e', body: () => body, asOf: 0 };
    const table: StoredRows = {
      find: () => old,
      isFirstOf: () => true,
      run: () => ({ rows: [old], bytes: body.length }),
      after: () => [],
    };
    const asked = { bytes: Buffer.from(page(body)), text: () => page(body) };
    expect(readAsStored(asked, shape, table)).toBeUndefined();
    expect(readAsStored(asked, shape, table, [{ key: 'e', values: {}, stored: old }])).toBeUndefined();
  });

  it('where keys do not tell rows apart, or digests do', () => {
    expect(read(page(a), { sharedKeys: ['z'] })).toBeUndefined();
    expect(read(page(a), { keyField: null })).toBeUndefined();
  });
});
