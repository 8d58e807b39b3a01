import { expect, it } from 'vitest';
import { columnName } from '../../../src/store/fields/column-name.ts';

const name = (path: string[], ...taken: string[]) => columnName(path, new Set(taken));

it.each([
  [['priceUsd'], 'price_usd'],
  [['price_usd'], 'price_usd'],
  [['pnl', 'realizedUsd'], 'pnl_realized_usd'],
  [['HTMLParser', 'userID'], 'html_parser_user_id'],
  [['trades30d'], 'trades30d'],
  [['change', 'h24'], 'change_h24'],
  [['market cap (USD)'], 'market_cap_usd'],
  [['a.b', 'c-d'], 'a_b_c_d'],
  [['größeÄnderung'], 'größe_änderung'],
  [['柴犬'], '柴犬'],
])('%j is named %s', (path, expected) => {
  expect(name(path)).toBe(expected);
});

it('never begins with an underscore, as the columns of the mirror itself do', () => {
  expect(name(['_key'])).toBe('key');
  expect(name(['_body'])).toBe('body');
  expect(name(['__proto__', '_walk_id'])).toBe('proto_walk_id');
});

it('is a name where nothing of the field’s own can be one', () => {
  expect(name([''])).toBe('field');
  expect(name(['"; --'])).toBe('field');
  expect(name(['😀'], 'field')).toBe('field_2');
  expect(name(['24hVolume'])).toBe('field_24h_volume');
});

it('is no word of SQL, and does not hide the number of a row', () => {
  expect(name(['order'])).toBe('order_');
  expect(name(['Group'])).toBe('group_');
  expect(name(['rowid'])).toBe('rowid_');
  expect(name(['order', 'by'])).toBe('order_by');
});

it('is not taken twice', () => {
  expect(name(['a', 'b'], 'a_b')).toBe('a_b_2');
  expect(name(['aB'], 'a_b', 'a_b_2')).toBe('a_b_3');
  expect(name(['order'], 'order_')).toBe('order_2');
});

it('is of a length that people read', () => {
  expect(name(['x'.repeat(1_000_000)])).toHaveLength(60);
  expect(name(['A'.repeat(500), 'b'])).toHaveLength(60);
});
