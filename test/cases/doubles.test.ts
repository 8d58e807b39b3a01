/** Lists that hold a row more than once, and lists that say in other ways where they end: they are proven, too. */

import { describe } from 'vitest';
import {
  before,
  envelope,
  finds,
  mirrorsAll,
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
  /** Places of a row and its twin in the list as it is then, which comes in pages of 100 and then 99 rows. */
  const twins: [number, number][] = [
    [0, 1],
    [10, 11],
    [20, 80],
    [98, 99],
    [198, 199],
  ];
  const doubled = twins.reduce((rows, [at, twin]) => withRow(rows, twin, rows[at]), news(250));
  runCases([
    {
      it: 'at its head, side by side, far apart on one page, or where one page ends or the next begins: it is proven as any other, and a row that goes leaves with the second proof',
      steps: [
        upstream(doubled),
        ...[syncs(0), finds('SELECT count(*) FROM LIST', 250), verdicts('verified')],
        ...[upstream((rows) => rows.toSpliced(120, 1)), syncs(0), held(1), syncs(0)],
        ...[finds('SELECT count(*) FROM LIST', 249), held(0)],
      ],
    },
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

describe('rows of one page that differ in their ages alone are two rows', () => {
  const minutes = (count: number, rows: (minute: number) => Row[]): Step[] =>
    rowsOf(count, (minute) => ({ minute })).flatMap(({ minute }) => [
      upstream(rows(minute as number)),
      ({ clock, run, job }) => {
        clock.advance(60_000);
        return run(['sync', job, '--no-wait']).then(() => undefined);
      },
    ]);
  /** Of 150 posts the last of these pairs says what one of the same page says, at another time. */
  const posts = (pairs: readonly [number, number][], more: (at: number) => Row = () => ({})) => {
    const textOf = (at: number) => pairs.find(([, second]) => second === at)?.[0] ?? at;
    return rowsOf(150, (at) => ({ ...more(textOf(at)), text: `Post ${textOf(at)}` }));
  };
  const aged = (rows: Row[]) => (minute: number) =>
    rows.map((row, at) => ({ ...row, ageSeconds: at * 7 + minute * 60 }));
  const few: [number, number][] = [
    [3, 4],
    [10, 40],
    [120, 130],
    [120, 131],
  ];
  const settles: Step[] = [mirrorsAll, held(0), syncs(0), mirrorsAll];

  runCases([
    {
      it: 'without an id',
      job: 'meme-signals',
      aside: ['ageSeconds'],
      steps: [...minutes(7, aged(posts(few))), ...settles],
    },
    {
      it: 'under an id that they share',
      aside: ['ageSeconds'],
      steps: [...minutes(9, aged(posts(few, (id) => ({ id })))), ...settles],
    },
    {
      it: 'by what the user says is volatile',
      settings: { MIRROR_VOLATILE_NEWS: 'views' },
      aside: ['views'],
      steps: [
        ...minutes(3, (minute) => posts(few).map((row, at) => ({ ...row, views: at * (minute + 2) }))),
        ...settles,
        finds('SELECT count(*) FROM LIST_history', 0),
      ],
    },
    {
      it: 'in a published snapshot, on two pages as well',
      settings: { MIRROR_VOLATILE_NEWS: 'views' },
      aside: ['views'],
      steps: [
        envelope((rows, request, total) => ({
          ...pageOf(rows, request, total),
          generatedAt: '2026-11-21T12:00:00Z',
        })),
        ...minutes(1, () => posts([...few, [5, 145]]).map((row, at) => ({ ...row, views: at }))),
        ...[mirrorsAll, verdicts('snapshot')],
      ],
    },
    {
      it: 'on two pages of a list that moves they prove nothing',
      settings: { MIRROR_VOLATILE_NEWS: 'views' },
      aside: ['views'],
      steps: [
        upstream(posts([[5, 145]]).map((row, at) => ({ ...row, views: at }))),
        ...[syncs(75, { times: 2 }), verdicts('union', 'union')],
        statusSays(/its last walk proved nothing: .*repeat/),
      ],
    },
  ]);
});

describe('rows of two pages that differ in their ages alone', () => {
  const alerts = (minute: number) =>
    rowsOf(150, (at) => ({ title: `Title ${at % 147}`, age: at * 10 + minute * 60 }));
  runCases([
    {
      it: 'keep the age from being left out: all of them are there, and none becomes another',
      steps: Array.from({ length: 6 }, (_, minute) => [
        upstream(alerts(minute)),
        syncs(0),
        mirrorsAll,
      ]).flat(),
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
