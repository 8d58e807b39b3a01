/** Questions as the page writes them are what the service reads. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRequest } from '../../src/serve/answers/mirror-v1/parse.ts';
import {
  anyContains,
  askOf,
  type Comparison,
  columnsIn,
  comparisons,
  condition,
  conditionsIn,
  conditionText,
  orderIn,
  orderText,
  selectText,
} from '../../web/question.ts';

const operators: Partial<Record<Comparison, string>> = {
  null: 'is',
  'not null': 'is',
  contains: 'ilike',
  starts: 'ilike',
};
const text = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((name) => !name.includes('\0'));
const column = fc.oneof(
  fc.constantFrom('at', 'order', 'select', 'and', 'a.b', 'a"b', 'x'),
  text.filter(Boolean),
);
const is = fc.constantFrom(...(Object.keys(comparisons) as Comparison[]));

const requestOf = (ask: string) => parseRequest(new URLSearchParams(ask.slice(ask.indexOf('?'))), 0);

test('a condition on any column with any value', () => {
  fc.assert(
    fc.property(column, is, text, (name, is, value) => {
      const { filters } = requestOf(askOf({ table: 't', where: [condition(name, is, value)] }));
      const [filter] = filters;
      const found = filter && 'members' in filter ? filter.members[0] : filter;
      if (!found || 'members' in found) throw new Error('no condition was read');
      expect(found.field.column.trim()).toBe(name.trim());
      expect(found.operator).toBe(operators[is] ?? is);
      if (operators[is] === undefined) expect('value' in found && found.value).toBe(value);
    }),
  );
});

test('texts that are looked for in several columns, an order and columns', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(column, text), { minLength: 1, maxLength: 4 }), column, (pairs, name) => {
      const order = { column: name, descending: true };
      const request = requestOf(
        askOf({ table: 't', select: [name], where: [anyContains(pairs)], order: [order] }),
      );
      const [tree] = request.filters;
      expect(tree && 'members' in tree && tree.members.length).toBe(pairs.length);
      expect(request.order).toMatchObject([{ isDescending: true, nulls: 'last' }]);
      const search = new URLSearchParams({ order: orderText(order), select: selectText([name, 'b']) });
      expect(orderIn(search)).toEqual(order);
      expect(columnsIn(search)).toEqual([name, 'b']);
    }),
  );
});

test('what an address holds is told in words, and is the question', () => {
  const search = new URLSearchParams(
    'at=2026-01-01&q=x&quality_grade=eq.A&n=gte.5&e=eq.&t=ilike.*b%25*&x=not.is.null&y=in.(1,2)',
  );
  expect(conditionsIn(search).map(conditionText)).toEqual([
    ...[
      'quality_grade is A',
      'n is at least 5',
      'e is empty',
      't contains b%',
      'x is not null',
      'y in.(1,2)',
    ],
  ]);
});
