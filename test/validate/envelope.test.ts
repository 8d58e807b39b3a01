import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { readEnvelope } from '../../src/validate/envelope.ts';
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
    ['mode is another', { mode: 'read-write' }, 'mode'],
    ['mode is missing', { mode: undefined }, 'mode'],
    ['generatedAt is no time', { generatedAt: 'today' }, 'generatedAt'],
    ['generatedAt is missing', { generatedAt: undefined }, 'generatedAt'],
    ['rows is no array', { rows: {} }, 'rows'],
    ['pagination is missing', { pagination: undefined }, 'pagination'],
    ['hasMore is missing', { pagination: { ...pagination, hasMore: undefined } }, 'pagination.hasMore'],
    ['hasMore is no boolean', { pagination: { ...pagination, hasMore: 'no' } }, 'pagination.hasMore'],
    ['returned is below zero', { pagination: { ...pagination, returned: -1 } }, 'pagination.returned'],
    ['total is no whole number', { pagination: { ...pagination, total: 1.5 } }, 'pagination.total'],
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

  it('may say that there is no snapshot yet', () => {
    expect(checkSignals(signalPage([], { generatedAt: null })).generatedAt).toBeNull();
  });
});

describe('an envelope that is not specified', () => {
  const read = (json: unknown, known?: string[]) => readEnvelope(job('news'), json, known);
  const rows = [{ id: 1 }];

  it.each<[string, unknown, string[]]>([
    ['rows', { facets: [{ a: 1 }], rows }, ['rows']],
    ['rows one level below', { data: { rows, facets: [{ a: 1 }] } }, ['data', 'rows']],
    ['rows at the top rather than below', { data: { rows: [{ a: 1 }] }, rows }, ['rows']],
    ['the one array of objects', { tags: ['a'], items: rows }, ['items']],
    [
      'the one array of objects one level below',
      { page: 1, data: { items: rows, tags: [1] } },
      ['data', 'items'],
    ],
    ['a bare array', rows, []],
    ['an array under a strange name', { 'a.b': { __proto__: null, '': rows } }, ['a.b', '']],
  ])('has its rows in %s', (_, json, path) => {
    expect(read(json)).toMatchObject({ rows, path });
  });

  it.each<[string, unknown]>([
    ['no array', { message: 'hello' }],
    ['two arrays of objects', { a: rows, b: rows }],
    ['two arrays named rows', { a: { rows }, b: { rows } }],
    ['only an array of texts', { a: ['x'] }],
    ['an array two levels below', { a: { b: { c: rows } } }],
    ['null', null],
    ['a text', 'rows'],
  ])('halts the dataset where it holds %s', (_, json) => {
    expect(failureOf(() => read(json))).toEqual(breaks('expected an array of rows'));
  });

  it('is empty where all its arrays are', () => {
    expect(read({ a: [], b: [] }).rows).toEqual([]);
  });

  it('is held to: rows found elsewhere than before halt the dataset', () => {
    expect(read({ items: [], rows }, ['items']).rows).toEqual([]);
    for (const json of [{ rows }, rows, { data: { items: rows } }])
      expect(failureOf(() => read(json, ['items']))).toEqual(breaks('items'));
    expect(failureOf(() => read({ rows }, []))).toEqual(breaks('the response'));
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
      expect(read(json).pagination).toEqual(paging);
  });

  it('has no paging where it says nothing that can be used', () => {
    const nothing = {
      offset: undefined,
      limit: undefined,
      total: undefined,
      returned: undefined,
      hasMore: undefined,
    };
    expect(read(rows).pagination).toEqual(nothing);
    expect(
      read({ rows, pagination: { total: -1, offset: '0', hasMore: 'true', returned: 1e300 } }).pagination,
    ).toEqual(nothing);
  });

  it('may carry generatedAt, at the top or beside the rows', () => {
    expect(read({ rows, generatedAt: 'x' }).generatedAt).toBe('x');
    expect(read({ data: { rows, generatedAt: null } }).generatedAt).toBeNull();
    expect(read({ rows, generatedAt: 5 }).generatedAt).toBeUndefined();
  });
});
