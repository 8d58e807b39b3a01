import { describe, expect, it } from 'vitest';
import { fieldsToLeaveOut, findKey, keyedRow } from '../../src/validate/keys.ts';

type Members = Record<string, unknown>;

/** Rows of a walk, of which those at these places came first where rows were read again. */
const rowsOf = (rows: readonly Members[], newWhereReread: readonly number[] = []) =>
  rows.map((row, at) => ({
    ...keyedRow(JSON.stringify(row)),
    isNewWhereReread: newWhereReread.includes(at),
  }));

const many = <Of extends Members>(count: number, row: (at: number) => Of) =>
  Array.from({ length: count }, (_, at) => row(at));

describe('the key of the rows of a whole walk', () => {
  it.each<[string, (at: number) => Members, string[] | null]>([
    ['an address', (at) => ({ title: 't', address: `0x${at}` }), ['address']],
    ['a name that ends in id', (at) => ({ alertId: at }), ['alertId']],
    ['the best of several', (at) => ({ tx_hash: `h${at}`, key: at }), ['key']],
    [
      'a pair where the field alone is not unique',
      (at) => ({ chain: `c${at % 2}`, address: `0x${at >> 1}` }),
      ['chain', 'address'],
    ],
    ['id with what says where', (at) => ({ id: at >> 1, source: `s${at % 2}` }), ['source', 'id']],
    ['none where a name only ends in id', (at) => ({ paid: at }), null],
    ['none where a name only begins like one', (at) => ({ keyword: `k${at}`, MintedAt: at }), null],
    ['none where it merely happens to differ', (at) => ({ title: `t${at}` }), null],
    ['none where a row lacks it', (at) => (at === 7 ? { x: 1 } : { address: `0x${at}` }), null],
    ['none where rows share it', (at) => ({ address: `0x${at % 15}` }), null],
  ])('is %s', (_, row, key) => {
    expect(findKey(rowsOf(many(20, row)))).toEqual(key?.map((name) => [name]) ?? null);
  });

  it('is guessed from twenty rows on; id is believed at once', () => {
    expect(findKey(rowsOf(many(19, (at) => ({ address: `0x${at}` }))))).toBeNull();
    expect(findKey(rowsOf(many(1, (at) => ({ id: at }))))).toEqual([['id']]);
  });

  it('counts a row that was read again once', () => {
    const rows = [...many(20, (at) => ({ slug: `s${at}`, seen: 1 })), { slug: 's3', seen: 2 }];
    expect(findKey(rowsOf(rows))).toBeNull();
    expect(findKey(rowsOf(rows, [20]))).toEqual([['slug']]);
  });

  it('tells a number from a text', () => {
    expect(findKey(rowsOf([{ id: 1 }, { id: '1' }]))).toEqual([['id']]);
  });
});

describe('the fields that tell rows apart in vain', () => {
  const before = many(20, (at) => ({ text: `t${at}`, stats: { rank: at, size: at }, price: at }));
  const read = (rows: readonly Members[]) => rowsOf(rows);

  it('are those without which the rows that came are those that went', () => {
    const after = before.map((row, at) => ({
      ...row,
      price: at * 2 + 100,
      stats: { ...row.stats, rank: 50 - at },
    }));
    expect(fieldsToLeaveOut([read(after)], read(before), [], 20)).toEqual([['stats', 'rank'], ['price']]);
    expect(fieldsToLeaveOut([read(after)], read(before), [['price']], 20)).toEqual([['stats', 'rank']]);
  });

  it('are none where the rows are others, which merely have the same places', () => {
    const others = many(20, (at) => ({
      text: `other ${at}`,
      stats: { rank: at, size: at + 50 },
      price: at * 3 + 7,
    }));
    expect(fieldsToLeaveOut([read(others)], read(before), [], 20)).toEqual([]);
  });

  it('are none where nothing else would tell the rows apart', () => {
    const same = before.map((row) => ({ ...row, text: 'same', stats: { rank: 1, size: 1 } }));
    const after = same.map((row) => ({ ...row, price: row.price + 1_000 }));
    expect(fieldsToLeaveOut([read(after)], read(same), [], 20)).toEqual([]);
  });
});
