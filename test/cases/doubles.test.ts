/** Lists that hold a row more than once, and lists that say in other ways where they end: they are proven, too. */

import { describe } from 'vitest';
import {
  before,
  type Case,
  envelope,
  finds,
  pageOf,
  type Row,
  rowsOf,
  runCases,
  type Step,
  statusSays,
  syncs,
  upstream,
} from './bench.ts';

const news = (count: number) => rowsOf(count, (at) => ({ title: `Title ${at}`, source: `s${at % 7}` }));
const withRow = (rows: Row[], at: number, row: Row | undefined) => rows.toSpliced(at, 0, row as Row);
const verdicts = (...expected: string[]): Step => finds('SELECT verdict FROM walks ORDER BY id', ...expected);
const held = (count: number) => finds('SELECT count(*) FROM LIST WHERE _held_since IS NOT NULL', count);

describe('a list holds a row twice', () => {
  runCases(
    [
      ['side by side', 10, 11],
      ['as the last two of a page', 98, 99],
      ['as the last of a page and the first of the next', 99, 100],
      ['as the first two of the list', 0, 1],
      ['far apart on one page', 3, 80],
    ].map(
      ([it, at, twin]): Case => ({
        it: `${it}: it is proven as any other, and a row that goes leaves with the second proof`,
        steps: [
          upstream(withRow(news(250), twin as number, news(250)[at as number])),
          ...[syncs(0), finds('SELECT count(*) FROM LIST', 250), verdicts('verified')],
          ...[upstream((rows) => rows.toSpliced(120, 1)), syncs(0), held(1), syncs(0)],
          ...[finds('SELECT count(*) FROM LIST', 249), held(0)],
        ],
      }),
    ),
  );

  runCases([
    {
      it: 'on two pages: an order that is not the same for each page would look alike and hide a row, so nothing is proven',
      steps: [
        upstream(withRow(news(250), 180, news(250)[5])),
        ...[syncs(75, { times: 2 }), verdicts('union', 'union'), finds('SELECT count(*) FROM LIST', 250)],
      ],
    },
    {
      it: 'all rows are the same one',
      steps: [upstream(rowsOf(150, () => ({ title: 'x' }))), syncs(0), verdicts('verified')],
    },
    {
      it: 'a row that moves down past one that comes in repeats, and proves nothing',
      steps: [
        ...[upstream(news(250)), syncs(0)],
        // Row 3 moves behind the first page, while another comes in between: no boundary shows it.
        before(90, (rows) => {
          const rest = rows.toSpliced(3, 1).toSpliced(50, 0, { title: 'unseen' });
          return rest.toSpliced(150, 0, rows[3] as Row);
        }),
        ...[syncs(75), syncs(0), verdicts('verified', 'union', 'verified')],
        finds("SELECT count(*) FROM LIST WHERE title = 'unseen'", 1),
      ],
    },
  ]);
});

describe('the end of a list', () => {
  const paging = (make: (page: ReturnType<typeof pageOf>['pagination']) => Row): Step =>
    envelope((rows, request, total) => ({ rows, pagination: make(pageOf(rows, request, total).pagination) }));

  runCases([
    {
      it: 'is read from hasMore as a text',
      steps: [
        paging((page) => ({ ...page, hasMore: String(page.hasMore), total: String(page.total) })),
        ...[upstream(news(250)), syncs(0), verdicts('verified')],
        finds('SELECT total FROM walks', 250),
      ],
    },
    {
      it: 'without hasMore is where nothing new comes and as many rows came as total says',
      steps: [
        paging(({ offset, limit, total }) => ({ offset, limit, total })),
        ...[upstream(news(250)), syncs(0), verdicts('verified')],
        ...[upstream((rows) => rows.toSpliced(7, 1)), syncs(0), held(1), syncs(0), held(0)],
        finds('SELECT count(*) FROM LIST', 249),
      ],
    },
    {
      it: 'without hasMore, where fewer rows came than total says, is not known',
      steps: [
        envelope((rows) => ({ rows, total: 300 })),
        ...[upstream(news(250)), syncs(75), verdicts('union')],
      ],
    },
    {
      it: 'without hasMore and total is not known: nothing is removed, and status says so',
      steps: [
        envelope((rows) => ({ rows })),
        ...[upstream(news(250)), syncs(0), verdicts('union')],
        statusSays(/news: its last walk proved nothing: the API does not say where this list ends/),
        ...[upstream((rows) => rows.toSpliced(7, 1)), syncs(0), syncs(0)],
        finds('SELECT count(*) FROM LIST', 250),
      ],
    },
  ]);
});
