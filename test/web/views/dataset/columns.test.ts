/** What columns hold, and which of them are shown. */

import { describe, expect, test } from 'vitest';
import {
  columnsOfFields,
  columnsOfSample,
  numberColumns,
  searchedColumns,
  shownColumns,
  timeColumns,
} from '../../../../web/views/dataset/columns.ts';

const declared = (...names: string[]) => names.map((name) => ({ name, type: '' }));
const field = (column: string, types: string[], example: unknown = null) => ({
  column,
  types,
  example: example === null ? null : JSON.stringify(example),
});
const names = (columns: readonly { name: string }[]) => columns.map(({ name }) => name);

const news = columnsOfFields(
  declared('_body', '_key', '_changed_at', 'id', 'title', 'published_at', 'score', 'tags', 'none'),
  [
    field('id', ['string'], 'n-1'),
    field('title', ['string'], 'Bitcoin slips'),
    field('published_at', ['string'], '2026-11-22T10:00:00Z'),
    field('score', ['number', 'integer'], 0.4),
    field('tags', ['array'], ['x']),
    field('none', []),
  ],
);

describe('columns of fields that were discovered', () => {
  test('hold what was seen in them', () => {
    const kinds = Object.fromEntries(news.map(({ name, kind }) => [name, kind]));
    expect(kinds).toMatchObject({ title: 'text', published_at: 'time', score: 'number', tags: 'json' });
  });

  test('are shown where they say something, without bookkeeping and without the key', () => {
    expect(shownColumns(news, (name) => name === 'id')).toEqual(['title', 'published_at', 'score', 'tags']);
  });

  test('are searched where they hold text', () => {
    expect(searchedColumns(news)).toEqual(['_key', 'id', 'title', 'published_at', 'tags', 'none']);
  });

  test('of numbers and of times can be charted, those of the dataset first', () => {
    expect(names(numberColumns(news))).toEqual(['score']);
    expect(names(timeColumns(news))).toEqual(['published_at', '_changed_at']);
  });

  test('of numbers that are times are known by name and size', () => {
    const columns = columnsOfFields(declared('opened_at', 'closed_ts', 'lot_at'), [
      field('opened_at', ['integer'], 1_795_000_000),
      field('closed_ts', ['integer'], 1_795_000_000_000),
      field('lot_at', ['integer'], 12),
    ]);
    expect(columns.map(({ clock }) => clock)).toEqual(['seconds', 'milliseconds', null]);
  });

  test('which numbers and texts share is one of texts, and its numbers can be charted', () => {
    const [mixed] = columnsOfFields(declared('mixed'), [field('mixed', ['integer', 'string'], 5)]);
    expect(mixed?.kind).toBe('text');
    expect(names(numberColumns(mixed ? [mixed] : []))).toEqual(['mixed']);
  });
});

describe('columns of a table that is specified', () => {
  test('that are always empty, or always the same, give way to others', () => {
    const many = Array.from({ length: 12 }, (_, at) => `c${at}`);
    const rows = [1, 2, 3].map((row) => many.map((_, at) => (at < 3 ? 'same' : `v${row}`)));
    expect(shownColumns(columnsOfSample(declared(...many), rows), () => false)).toEqual(many.slice(3));
  });

  test('of a table without rows are shown all the same', () => {
    expect(shownColumns(columnsOfSample(declared('a', 'b', '_key'), []), () => false)).toEqual(['a', 'b']);
  });

  test('a large integer is a number', () => {
    expect(columnsOfSample(declared('n'), [[{ integer: '9007199254740993' }], [3]])[0]?.kind).toBe('number');
  });
});

test('of 300 columns some are shown', () => {
  const many = Array.from({ length: 300 }, (_, at) => `c${at}`);
  const columns = columnsOfFields(
    declared(...many),
    many.map((name) => field(name, ['string'], 'x')),
  );
  expect(shownColumns(columns, () => false).length).toBeLessThanOrEqual(10);
});
