import { expect, it } from 'vitest';
import { admit, MAX_FIELD_COLUMNS, MAX_MEMBERS } from '../../src/store/fields.ts';
import type { SeenField } from '../../src/validate/checked.ts';

const field = (...path: string[]): SeenField => ({ path, types: ['integer'], values: 1, example: 1 });
const many = (count: number, ...around: string[]) =>
  Array.from({ length: count }, (_, at) => field(...around, `f${at}`));

const nothing = { count: () => 0, has: () => false, membersOf: () => new Set<string>() };
const paths = ({ admitted }: ReturnType<typeof admit>) => admitted.map(({ path }) => path);

it('fields get their columns in the order of the row', () => {
  expect(paths(admit([field('b'), field('a', 'x'), field('c')], nothing))).toEqual(['$.b', '$.a.x', '$.c']);
});

it('a table has so many columns of fields and no more, and says that there are others', () => {
  const { admitted, refusals } = admit(many(MAX_FIELD_COLUMNS + 1), nothing);
  expect(admitted).toHaveLength(MAX_FIELD_COLUMNS);
  expect(refusals).toEqual([{ path: '$', reason: 'more than 300 fields' }]);
  expect(admit(many(1), { ...nothing, count: () => MAX_FIELD_COLUMNS }).admitted).toEqual([]);
});

it('where there is no room for all, those of nested objects stand back', () => {
  const nested = ['a', 'b', 'c'].flatMap((object) => many(MAX_MEMBERS, object));
  expect(paths(admit([...nested, field('last')], nothing))).toContain('$.last');
});

it('an object with too many members is a map, and becomes one column', () => {
  expect(admit(many(MAX_MEMBERS, 'held'), nothing).admitted).toHaveLength(MAX_MEMBERS);
  const { admitted, refusals } = admit([field('id'), ...many(MAX_MEMBERS + 1, 'held')], nothing);
  expect(admitted).toMatchObject([{ path: '$.id' }, { path: '$.held', field: { types: ['object'] } }]);
  expect(refusals).toEqual([{ path: '$.held', reason: 'more than 100 members: kept as one column of JSON' }]);
});

it('a map may come about little by little, and be nested', () => {
  const members = new Set(Array.from({ length: MAX_MEMBERS }, (_, at) => `$.a.held.t${at}`));
  const present = {
    ...nothing,
    membersOf: (object: string) => (object === '$.a.held' ? members : new Set<string>()),
  };
  expect(paths(admit([field('a', 'held', 'new', 'x'), field('a', 'held', 'new', 'y')], present))).toEqual([
    '$.a.held',
  ]);
  const known = { ...present, has: (path: string) => path === '$.a.held' };
  expect(admit([field('a', 'held', 'new', 'x')], known)).toEqual({ admitted: [], refusals: [] });
});

it('null gets no column where other rows have an object, whose members have theirs', () => {
  const absent = { path: ['token'], types: [], values: 0, example: undefined };
  const present = {
    ...nothing,
    membersOf: (object: string) => new Set(object === '$.token' ? ['$.token.a'] : []),
  };
  expect(admit([absent], present).admitted).toEqual([]);
  expect(paths(admit([absent], nothing))).toEqual(['$.token']);
});

it('a name as long as a book gets no column, and that is said', () => {
  expect(admit([field('x'.repeat(1_000_000))], nothing)).toEqual({
    admitted: [],
    refusals: [{ path: '$', reason: 'a path of more than 500 characters' }],
  });
});
