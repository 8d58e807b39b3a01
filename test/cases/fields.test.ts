/** Fields that move by themselves, and values that a table or a double holds otherwise than they came. */

import { describe } from 'vitest';
import { signal } from '../validate/support.ts';
import {
  envelope,
  finds,
  mirrorsAll,
  pageOf,
  publishes,
  type Row,
  rowsOf,
  runCases,
  runs,
  type Step,
  statusLacks,
  statusSays,
  syncs,
  syncsUntil,
  upstream,
  versions,
} from './bench.ts';

const MINUTE_S = 60;

/** The list is read at each minute, and is what `rows` says of that minute. */
const minutes = (
  first: number,
  last: number,
  rows: (minute: number) => readonly Row[],
  ...then: Step[]
): Step[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at).flatMap((minute) => [
    upstream(rows(minute)),
    syncs(0),
    ...then,
  ]);

const tokens = (count: number, more: (minute: number, at: number) => Row) => (minute: number) =>
  rowsOf(count, (at) => ({ id: `t${at}`, name: `Token ${at}`, ...more(minute, at) }));

describe('a field that moves by the same amount in all rows', () => {
  const aging = tokens(150, (minute, at) => ({ ageSeconds: at * 7 + minute * MINUTE_S }));
  const nested = tokens(150, (minute, at) => ({ stats: { seen: at + minute * MINUTE_S, size: at } }));
  runCases([
    {
      it: 'is an age after three walks: kept current, without a version',
      aside: ['ageSeconds'],
      steps: [
        ...[...minutes(0, 3, aging), versions(450)],
        ...[...minutes(4, 5, aging), versions(450), mirrorsAll],
        finds(`SELECT path FROM drift WHERE kind = 'moving-field'`, 'ageSeconds'),
        statusSays(
          '! news: ageSeconds moves alike in all rows, as an age does: kept current, without versions\n  → MIRROR_VOLATILE_NEWS=ageSeconds confirms it, =none keeps every change\n',
        ),
        statusLacks('from the expected'),
        ...[syncs(0, { settings: { MIRROR_VOLATILE_NEWS: 'ageSeconds' } }), statusLacks('ageSeconds')],
      ],
    },
    {
      it: 'is one in an object, too, and beside what else moves, which keeps its versions',
      aside: ['stats.seen'],
      steps: [
        ...[...minutes(0, 3, nested), versions(450), ...minutes(4, 4, nested), versions(450), mirrorsAll],
        upstream((rows) => rows.map((row, at) => (at < 5 ? { ...row, name: 'changed' } : row))),
        ...[syncs(0), versions(455), mirrorsAll],
      ],
    },
    {
      it: 'is no age any more once it moves apart in three walks',
      aside: ['ageSeconds'],
      steps: [
        ...minutes(0, 3, aging),
        versions(450),
        ...minutes(
          4,
          6,
          tokens(150, (minute, at) => ({ ageSeconds: at * minute * 13 })),
        ),
        versions(450),
        ...minutes(
          7,
          7,
          tokens(150, (minute, at) => ({ ageSeconds: at * minute * 13 })),
        ),
        ...[finds(`SELECT count(*) > 450 FROM LIST_history`, 1), mirrorsAll],
      ],
    },
    {
      it: 'is none where it moves otherwise: every change is kept, and status names it',
      steps: [
        ...minutes(
          0,
          4,
          tokens(150, (minute, at) => ({ price: at + minute * ((at % 7) + 1) })),
        ),
        ...[versions(600), mirrorsAll],
        // 150 versions a minute, of some 250 bytes each.
        statusSays(
          /^! news: price changes most rows at each walk: its versions take about 5\d MB a day\n {2}→ MIRROR_VOLATILE_NEWS=price keeps only the last value, =none/m,
        ),
        ...[syncs(0, { settings: { MIRROR_VOLATILE_NEWS: 'none' } }), statusLacks('price')],
      ],
    },
    {
      it: 'is none of ten rows or more: too few are no evidence',
      steps: [
        ...minutes(
          0,
          4,
          tokens(9, (minute, at) => ({ age: at + minute })),
        ),
        versions(36),
        mirrorsAll,
      ],
    },
  ]);
});

describe('a list without a key, and with an age', () => {
  const factors = [1, 3, 7, 9, 11, 13, 17, 19, 21];
  const rankOf = (minute: number, at: number) => (at * (factors[minute] ?? 1)) % 200;
  const aging = (minute: number) =>
    rowsOf(200, (at) => ({
      token: `token ${at}`,
      ageSeconds: minute * MINUTE_S + at,
      stats: { rank: rankOf(minute, at) },
    }));
  runCases([
    {
      it: 'shows each row once, and knows it again',
      aside: ['ageSeconds'],
      job: 'meme-signals',
      steps: [
        ...minutes(0, 2, aging),
        ...minutes(3, 5, aging, mirrorsAll),
        finds('SELECT count(*), count(DISTINCT _key) FROM LIST', [200, 200]),
        finds(`SELECT count(*) FROM LIST_history WHERE _ended_by = 'delete'`, 0),
      ],
    },
  ]);

  const posts = (first = 0) =>
    rowsOf(120, (at) => ({ text: `Post ${first + at}`, author: (first + at) % 9 }));
  const refused = (at: number): Row => ({ text: `Refused ${at}`, note: '\ud800' });
  const paging = (change: (page: ReturnType<typeof pageOf>['pagination']) => Row): Step =>
    envelope((rows, request, total) => ({
      rows,
      pagination: change(pageOf(rows, request, total).pagination),
    }));
  /** Each page is answered a second after the one before; a row without an age shows none. */
  const moving =
    (rows: (nth: number) => readonly Row[]): Step =>
    ({ clock, state }) => {
      const from = clock.now();
      state.before = ({ nth }) => {
        clock.advance(1_000);
        const seconds = (clock.now() - from) / 1_000;
        state.rows = rows(nth).map((row, at) =>
          'author' in row ? { ...row, ageSeconds: Math.floor(seconds) + at } : row,
        );
      };
    };
  const shows = (count: number): Step =>
    finds('SELECT count(*), count(DISTINCT text) FROM LIST', [count, count]);
  const isProven = [syncsUntil(0, 4), syncs(0, { times: 2 })];

  describe('that moves between two of its pages is proven all the same', () => {
    runCases(
      (
        [
          ['', [moving(() => posts()), ...isProven, shows(120)]],
          [
            'beside a row that does not fit',
            [moving(() => [...posts(), refused(0)]), ...isProven, shows(120)],
          ],
          [
            'beside several that do not fit',
            [
              moving(() => posts().flatMap((post, at) => (at % 10 === 3 ? [post, refused(at)] : [post]))),
              ...[...isProven, shows(120)],
            ],
          ],
          [
            'where rows that do not fit have ages, too',
            [
              moving(() => posts().map((post, at) => (at % 20 === 3 ? { ...post, note: '\ud800' } : post))),
              ...[
                ...isProven,
                shows(114),
                finds('SELECT count(*) FROM quarantine WHERE resolved_at IS NULL', 6),
              ],
            ],
          ],
          [
            'without a total',
            [paging(({ total: _, ...page }) => page), moving(() => posts()), ...isProven, shows(120)],
          ],
          [
            'with a total that is a text',
            [paging((page) => ({ ...page, total: String(page.total) })), moving(() => posts()), ...isProven],
          ],
          [
            'with a total of its page',
            [paging((page) => ({ ...page, total: page.returned })), moving(() => posts()), ...isProven],
          ],
          [
            'behind a row that has no age',
            [moving(() => [{ text: 'pinned' }, ...posts()]), ...isProven, shows(121)],
          ],
          ['while rows come in', [moving((nth) => posts(-nth)), syncsUntil(0, 5)]],
          [
            'while a third of its rows come in',
            [moving((nth) => posts(-10 * Math.floor(nth / 8))), syncsUntil(0, 6)],
          ],
        ] satisfies [string, Step[]][]
      ).map(([it, steps]) => ({ it, aside: ['ageSeconds'], job: 'meme-signals', steps })),
    );

    runCases([
      {
        it: 'or, with a total that is too large, at least shows each row once',
        aside: ['ageSeconds'],
        job: 'meme-signals',
        steps: [
          paging((page) => ({ ...page, total: 10_000 })),
          ...[moving(() => posts()), syncs(75, { times: 2 }), shows(120)],
        ],
      },
    ]);
  });
});

describe('MIRROR_VOLATILE_…', () => {
  const moving = tokens(20, (minute, at) => ({ views: minute * at, stats: { rank: minute + at } }));
  runCases([
    {
      it: 'names fields that are kept current and make no version, from the first walk on',
      settings: { MIRROR_VOLATILE_NEWS: 'views,stats.rank' },
      aside: ['views', 'stats.rank'],
      steps: [
        ...[...minutes(0, 2, moving), versions(0), mirrorsAll],
        upstream((rows) => rows.map((row) => ({ ...row, name: 'x' }))),
        ...[syncs(0), versions(20), mirrorsAll],
        finds(`SELECT group_concat(DISTINCT "column") FROM news_changes WHERE kind = 'changed'`, 'name'),
      ],
    },
    {
      it: 'keeps every change where it says none',
      settings: { MIRROR_VOLATILE_NEWS: 'none' },
      steps: [
        ...minutes(
          0,
          4,
          tokens(20, (minute, at) => ({ ageSeconds: minute * MINUTE_S + at })),
        ),
        ...[versions(80), mirrorsAll],
      ],
    },
    {
      it: 'is for properties beside the contract, too, and refused for what has none',
      job: 'ai-signals',
      settings: { MIRROR_VOLATILE_AI_SIGNALS: 'secondsOld' },
      steps: [
        ...publish(0, 3),
        finds('SELECT count(*) FROM LIST_history', 0),
        runs('sync news', 78, 'MIRROR_VOLATILE_USAGE', { MIRROR_VOLATILE_USAGE: 'x' }),
      ],
    },
  ]);
});

describe('a property that the contract of ai-signals does not list, and that moves', () => {
  runCases([
    {
      it: 'is an age after three walks',
      job: 'ai-signals',
      steps: [
        ...[...publish(0, 3), finds('SELECT count(*) FROM LIST_history', 90)],
        ...[...publish(4, 5), finds('SELECT count(*) FROM LIST_history', 90)],
        finds(
          `SELECT DISTINCT extra ->> 'secondsOld' - CAST(substr(id, 3) AS INTEGER) FROM LIST`,
          5 * MINUTE_S,
        ),
        finds(`SELECT path FROM drift WHERE kind = 'moving-field'`, 'secondsOld'),
      ],
    },
  ]);
});

/** Thirty signals, published anew at each minute. */
function publish(first: number, last: number): Step[] {
  return minutes(first, last, (minute) =>
    rowsOf(30, (at) => signal({ id: `s-${at}`, secondsOld: minute * MINUTE_S + at })),
  ).flatMap((step, at) => (at % 2 === 0 ? [publishes(first + at / 2), step] : [step]));
}

/** The response of one page, with its rows as text. */
const text =
  (rows: string, envelope = ''): Step =>
  ({ state, came }) => {
    came.clear();
    const count = rows.trim() ? JSON.parse(`[${rows}]`).length : 0;
    const pagination = JSON.stringify({
      offset: 0,
      limit: 100,
      total: count,
      returned: count,
      hasMore: false,
    });
    state.answer = () => ({ text: `{${envelope}"rows":[${rows}],"pagination":${pagination}}` });
  };

const signalText = (changes: string) =>
  JSON.stringify(signal({})).replace('"id":"s-1"', `"id":"s-1",${changes}`);
const published =
  '"generatedAt":"2026-11-21T12:00:00Z","source":"published-signal-snapshot","mode":"read-only",';

describe('values that a double does not hold', () => {
  runCases([
    {
      it: 'keep their digits in the properties that the contract does not list',
      job: 'ai-signals',
      steps: [
        text(
          signalText('"fee":0.1234567890123456789,"whole":1.0,"exp":1E5,"neg":-0,"big":12345678901234567890'),
          published,
        ),
        syncs(0),
        finds(
          'SELECT extra FROM LIST',
          '{"fee":0.1234567890123456789,"whole":1.0,"exp":1E5,"neg":-0,"big":12345678901234567890}',
        ),
      ],
    },
    {
      it: 'make a version where the digits change that it does not hold',
      steps: [
        ...[text('{"id":1,"p":0.12345678901234567890}'), syncs(0)],
        ...[text('{"id":1,"p":0.12345678901234567899}'), syncs(0), versions(1)],
        finds('SELECT _body FROM LIST', '{"id":1,"p":0.12345678901234567899}'),
      ],
    },
    {
      it: 'make none where only the spelling changes',
      steps: [
        ...[text('{"id":1,"p":1.50,"q":100}'), syncs(0)],
        ...[text('{"q":1e2,"p":1.5,"id":1}'), syncs(0), versions(0)],
      ],
    },
  ]);
});

describe('a signal', () => {
  const aged = (seconds: number): Step =>
    upstream(
      rowsOf(250, (at) => signal({ id: `s-${at}` })).map((row) => ({
        ...row,
        quality: { ...(row['quality'] as Row), ageSeconds: seconds },
      })),
    );
  runCases([
    {
      it: 'has the age that the last snapshot shows, whatever the one before it showed that was replaced meanwhile',
      job: 'ai-signals',
      steps: [
        ...[publishes(0), aged(1), syncs(0), publishes(1), aged(5)],
        (bench) => {
          const from = bench.asked.length;
          bench.state.before = ({ nth }) => {
            if (nth === from + 2) for (const step of [publishes(2), aged(1)]) step(bench);
          };
        },
        ...[syncs(0), finds('SELECT DISTINCT quality_age_seconds FROM LIST', 1), versions(0)],
      ],
    },
    {
      it: 'that names a member twice is refused, as elsewhere',
      job: 'ai-signals',
      steps: [
        text(`${JSON.stringify(signal({ id: 's-0' }))},${signalText('"confidence":0.05')}`, published),
        syncs(0),
        finds('SELECT id FROM LIST', 's-0'),
        finds(`SELECT key, problems ->> '$[0].path' FROM quarantine`, ['s-1', 'confidence']),
      ],
    },
    {
      it: 'of 29 February of a common year is refused; of a leap year it is none',
      job: 'ai-signals',
      steps: [
        text(
          [
            signal({ id: 's-1', timestamp: '2026-02-29T00:00:00Z' }),
            signal({ id: 's-2', timestamp: '2028-02-29T00:00:00Z' }),
            signal({ id: 's-3', timestamp: '2026-04-31T00:00:00Z' }),
          ]
            .map((row) => JSON.stringify(row))
            .join(),
          published,
        ),
        syncs(0),
        finds('SELECT id FROM LIST', 's-2'),
        finds('SELECT key FROM quarantine ORDER BY key', 's-1', 's-3'),
      ],
    },
  ]);
});
