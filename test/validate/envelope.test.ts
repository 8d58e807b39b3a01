import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/base/errors.ts';
import { checkPage, errorInBody, type KnownOfList, unknownShape } from '../../src/validate.ts';
import { checkSignals, job, pagination, signal, signalPage } from './support.ts';

const breaks = (message: string) =>
  expect.objectContaining({ kind: 'contract', exitCode: 65, message: expect.stringContaining(message) });

function failureOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (thrown) {
    return thrown;
  }
}

describe('an envelope that is specified', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['source is another', { source: 'live' }, 'source'],
    ['mode is missing', { mode: undefined }, 'mode'],
    ['generatedAt is no time', { generatedAt: 'today' }, 'generatedAt'],
    ['rows is no array', { rows: {} }, 'rows'],
    ['hasMore is missing', { pagination: { ...pagination, hasMore: undefined } }, 'pagination.hasMore'],
    ['returned is below zero', { pagination: { ...pagination, returned: -1 } }, 'pagination.returned'],
  ])('halts the dataset where %s', (_, changes, path) => {
    expect(failureOf(() => checkSignals(signalPage([signal()], changes)))).toEqual(
      breaks(`at ${path}: expected`),
    );
  });

  it.each([null, [], 'text', 5])('halts the dataset where the response is %j', (json) => {
    expect(failureOf(() => checkSignals(JSON.stringify(json)))).toBeInstanceOf(Failure);
  });

  it('says so where there is more in it than is listed, or a larger page than can be', () => {
    const larger = { pagination: { ...pagination, limit: 500, cursor: 'x' } };
    const { accepted, drifts } = checkSignals(signalPage([signal()], { ...larger, note: 1 }));
    expect(accepted).toHaveLength(1);
    expect(drifts).toMatchObject([
      { kind: 'extra-property', path: 'note' },
      { kind: 'out-of-range', path: 'pagination.limit' },
      { kind: 'extra-property', path: 'pagination.cursor' },
    ]);
  });
});

describe('an envelope that is not specified', () => {
  const check = (json: unknown, known?: Partial<KnownOfList>) =>
    checkPage(job('news'), { text: () => JSON.stringify(json) }, json, {
      ...{ shape: unknownShape, hints: {} },
      ...known,
    });
  const rows = [{ id: 1 }];

  it.each<[string, unknown, string[]]>([
    ['rows', { items: [{ a: 1 }], rows }, ['rows']],
    ['rows one level below', { data: { rows, items: [{ a: 1 }] } }, ['data', 'rows']],
    ['the one array of objects', { tags: ['a'], items: rows }, ['items']],
    [
      'the one array of objects one level below',
      { page: 1, data: { items: rows, tags: [1] } },
      ['data', 'items'],
    ],
    ['the one array of objects further below', { a: { b: { c: rows } } }, ['a', 'b', 'c']],
    ['a bare array', rows, []],
    [
      'the one array that is not about the list',
      { facets: [{ a: 1 }], included: [{ b: 1 }], items: rows },
      ['items'],
    ],
  ])('has its rows in %s', (_, json, place) => {
    expect(check(json)).toMatchObject({ received: 1, shape: { place } });
  });

  it.each<[string, unknown, string]>([
    ['no array', { message: 'hello' }, 'expected an array of rows, received {"message":"hello"}'],
    [
      'two arrays of objects',
      { a: rows, b: rows },
      'its rows may be a or b; say which with MIRROR_ROWS_NEWS',
    ],
    ['only errors', { errors: rows }, 'expected an array of rows'],
    ['only warnings', { warnings: rows }, 'expected an array of rows'],
    [
      'an array within a row',
      [{ id: 1, rows: 5 }].map((row) => ({ list: row }))[0],
      'expected an array of rows',
    ],
    ['null', null, 'expected an array of rows'],
  ])('halts the dataset where it holds %s', (_, json, says) => {
    expect(failureOf(() => check(json))).toEqual(breaks(says));
  });

  it('is empty where the only array is, and says nothing where several are', () => {
    expect(check({ a: [] })).toMatchObject({ received: 0, shape: { place: ['a'] } });
    expect(failureOf(() => check({ a: [], b: [] }))).toEqual(breaks('its rows may be a or b'));
  });

  it('has its rows where the user says, and nowhere else', () => {
    const hints = { place: ['b'] };
    expect(check({ a: rows, b: rows }, { hints })).toMatchObject({ received: 1, shape: { place: ['b'] } });
    expect(failureOf(() => check({ rows }, { hints }))).toEqual(
      breaks('MIRROR_ROWS_NEWS says that its rows are there'),
    );
  });

  describe('whose rows were found before', () => {
    const shape = { ...unknownShape, place: ['items'] };

    it('is read where they were, whatever else it holds', () => {
      expect(check({ items: [], rows }, { shape }).received).toBe(0);
    });

    it('is empty where null stands there and the paging says so', () => {
      expect(check({ items: null, total: 0, returned: 0 }, { shape }).received).toBe(0);
      for (const paging of [{}, { total: 1, returned: 0 }, { total: 0 }])
        expect(failureOf(() => check({ items: null, ...paging }, { shape }))).toEqual(breaks('items'));
    });

    it('halts the dataset once they are elsewhere, and follows them in the next run, which is noted', () => {
      for (const json of [{ rows }, rows, { data: { items: rows } }]) {
        expect(failureOf(() => check(json, { shape }))).toEqual(breaks('the rows are no longer at items'));
        const again = check(json, { shape: { ...shape, runsWithoutPlace: 1 } });
        expect(again).toMatchObject({ received: 1, drifts: [{ kind: 'moved-rows', path: 'items' }] });
        expect(again.shape).toMatchObject({ runsWithoutPlace: 0 });
      }
    });

    it('halts the dataset where there are no rows at all', () => {
      const known = { shape: { ...shape, runsWithoutPlace: 5 } };
      expect(failureOf(() => check({ message: 'x' }, known))).toEqual(breaks('at items: expected an array'));
    });
  });

  it('has its paging where its rows are, in an object of its own or not, or at the top', () => {
    const paging = { offset: 0, limit: 50, total: 7, returned: 1, hasMore: true };
    for (const json of [
      { rows, pagination: paging },
      { rows, ...paging },
      { data: { rows, pagination: paging } },
      { data: { rows, ...paging } },
      { data: { rows }, pagination: paging },
      { data: { rows }, ...paging },
      { rows, pagination: null, ...paging },
    ])
      expect(check(json).pagination).toEqual(paging);
  });
});

describe('an error that is told with status 200', () => {
  const told = (json: unknown, name = 'news') => errorInBody(json, job(name)) !== undefined;
  const rows = [{ id: 1 }];

  it.each<[string, unknown]>([
    ['the Error of the specification', { error: 'x', message: 'y' }],
    ['error: true', { error: true }],
    ['a text', { error: 'no' }],
    ['an object', { error: { code: 1 } }],
    ['errors', { errors: [{ message: 'x' }] }],
    ['success: false', { success: false, data: null }],
  ])('is seen in %s', (_, json) => {
    expect(told(json)).toBe(true);
  });

  it.each<[string, unknown]>([
    ['rows beside it', { rows, errors: ['partial'] }],
    ['an empty list', { errors: [], data: { rows: [] } }],
    ['a number, which counts', { error: 0, errors: 3, data: {} }],
    ['message and code alone', { code: 0, message: 'success', data: {} }],
    ['false', { error: false, data: {} }],
    ['null', { error: null, data: {} }],
    ['success: true', { success: true, data: {} }],
    ['a bare array', rows],
  ])('is not seen in %s', (_, json) => {
    expect(told(json)).toBe(false);
  });

  it('is not what errors say of usage', () => {
    expect(told({ errors: { today: 5 }, used: 3 }, 'usage')).toBe(false);
    expect(told({ error: 'no', message: 'x' }, 'usage')).toBe(true);
  });
});
