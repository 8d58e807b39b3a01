/** The parameters that are found in a text of SQL, and what is typed for them. */

import { describe, expect, test } from 'vitest';
import { parametersOf, paramsOf, typedOf, typedValue } from '../../../../web/views/sql/parameters.ts';

describe('parameters', () => {
  test('are found in their order, each once', () => {
    expect(parametersOf('SELECT * FROM t WHERE b = :to AND a >= :from AND c = :to')).toEqual(['to', 'from']);
    expect(parametersOf('VALUES (@a, $b, :größe)')).toEqual(['a', 'b', 'größe']);
  });

  test.each([
    ['a text', "SELECT ':no', 'it''s :no'"],
    ['a time in a text', "SELECT strftime('%H:%M:%S', at)"],
    ['quoted names', 'SELECT ":no", `:no`, [:no]'],
    ['comments', 'SELECT 1 -- :no\n/* :no\n:no */'],
    ['a comment that is being written', 'SELECT 1 /* :no'],
    ['a text that is being written', "SELECT ':no"],
    ['a name', 'SELECT a$b, x1$y'],
  ])('are not looked for in %s', (_, sql) => {
    expect(parametersOf(`${sql}`)).toEqual([]);
  });

  test('have a value each, of those that are in the text alone', () => {
    expect(paramsOf('SELECT :a, :b', { a: '1', gone: 'x' })).toEqual({ a: 1, b: '' });
  });
});

test('what is typed is a number, null or a text, and comes back as it was typed', () => {
  const typed: Record<string, number | string | null> = {
    ...{ 12: 12, ' -3 ': -3, '.5': 0.5, '1e3': 1000, null: null, BTC: 'BTC', ' two words ': ' two words ' },
    ...{
      "'12'": '12',
      "'it''s'": "it's",
      '007': '007',
      '2026-11-22': '2026-11-22',
      '1e999': '1e999',
      '': '',
    },
  };
  for (const [text, value] of Object.entries(typed)) expect([text, typedValue(text)]).toEqual([text, value]);
  expect(typedValue('9007199254740993')).toBe('9007199254740993');
  for (const value of [12, -0.5, null, 'BTC', '12', 'null', "'quoted'", ' x ', '', '007'])
    expect(typedValue(typedOf(value))).toBe(value);
});
