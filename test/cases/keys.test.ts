/** What identifies the rows of a list without a contract. */

import { describe } from 'vitest';
import {
  after,
  answers,
  before,
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
  upstream,
  versions,
} from './bench.ts';

/** Mirrors the list a minute later, whether it is proven or not. */
const syncsAnyhow: Step = async (bench) => {
  bench.clock.advance(60_000);
  await bench.run([...['sync', bench.job], '--no-wait']);
};

const HOUR_MS = 3_600_000;

const keyIs = (key: unknown) => finds(`SELECT shape ->> 'key' FROM _datasets WHERE shape IS NOT NULL`, key);
const drifts = (...kinds: string[]) =>
  finds(`SELECT DISTINCT kind FROM drift WHERE kind LIKE '%-key' ORDER BY kind`, ...kinds);

/** Tokens of two chains, which share addresses. */
const tokens: Row[] = [
  ...rowsOf(150, (at) => ({ chainId: 1, address: `0x${at}`, name: `One ${at}` })),
  ...rowsOf(50, (at) => ({ chainId: 137, address: `0x${at}`, name: `Other ${at}` })),
];

const pages = (count: number, more: (at: number) => Row = () => ({})) =>
  rowsOf(count, (at) => ({ slug: `s${at}`, title: `Title ${at}`, ...more(at) }));

describe('a key is found over a whole walk', () => {
  runCases([
    {
      it: 'a pair of fields, where one of them alone is unique on each page only',
      job: 'smart-wallets',
      steps: [
        ...[upstream(tokens), syncs(0), mirrorsAll, keyIs('[["chainId"],["address"]]')],
        ...[finds(`SELECT _key FROM LIST WHERE name = 'Other 3'`, '137|0x3')],
        ...[syncs(0, { times: 3 }), mirrorsAll, versions(0)],
      ],
    },
    {
      it: 'a digest, where no field and no pair is unique',
      job: 'smart-wallets',
      steps: [
        upstream([...pages(150), ...rowsOf(50, (at) => ({ slug: `s${at}`, title: `Other ${at}` }))]),
        ...[syncs(0, { times: 3 }), mirrorsAll, versions(0), keyIs(null)],
      ],
    },
    {
      it: 'and who follows the list has all of it anew, by --since 0 too',
      job: 'smart-wallets',
      steps: [
        ...[upstream(pages(30)), syncs(0)],
        runs('export smart-wallets --since 1h --format ndjson', 64, 'have got other keys'),
        runs('export smart-wallets --since 0 --format ndjson', 0, /"_change":"insert".*"_key":"s0"/),
      ],
    },
    {
      it: 'not in the one row of the first day',
      steps: [
        ...[upstream([{ authorId: 7, text: 'first' }]), syncs(0)],
        upstream(
          rowsOf(300, (at) => ({
            authorId: at === 0 ? 7 : at % 120,
            text: at === 0 ? 'first' : `post ${at}`,
          })),
        ),
        ...[syncs(0, { times: 2 }), mirrorsAll, versions(0), keyIs(null)],
      ],
    },
    {
      it: 'and then the rows that were there before have it, their versions too',
      steps: [
        ...[upstream(pages(10)), syncs(0), keyIs(null)],
        ...[upstream(pages(30)), syncs(0), keyIs('[["slug"]]'), mirrorsAll, versions(0)],
        upstream(pages(30, (at) => (at === 4 ? { title: 'changed' } : {}))),
        ...[syncs(0), mirrorsAll, versions(1)],
        finds(`SELECT _key, title FROM LIST_history`, ['s4', 'Title 4']),
      ],
    },
    {
      it: 'and a row that changed since the walk before is an earlier version of the row that has its key',
      steps: [
        ...[upstream(pages(15)), syncs(0)],
        upstream(pages(30, (at) => (at === 4 ? { title: 'changed' } : {}))),
        ...[syncs(0), keyIs('[["slug"]]'), mirrorsAll, versions(1)],
        finds(`SELECT _key, title FROM LIST_history`, ['s4', 'Title 4']),
        finds(`SELECT count(DISTINCT _first_seen_at) FROM LIST`, 2),
      ],
    },
    {
      it: 'and a held row that turns out to be one that came is held no longer',
      steps: [
        ...[upstream(pages(15)), syncs(0), upstream(pages(15).toSpliced(4, 1)), syncs(0)],
        finds('SELECT count(_held_since) FROM LIST', 1),
        upstream(pages(30, (at) => (at === 4 ? { title: 'changed' } : {}))),
        ...[syncs(0), keyIs('[["slug"]]'), mirrorsAll, versions(1)],
      ],
    },
    {
      it: 'and a row of another list that has its number is there all the same',
      steps: [
        ...[upstream([...pages(150), { slug: 's3', title: 'another' }]), syncs(0), keyIs(null)],
        ({ state }) => {
          state.others = rowsOf(350, (at) => ({ text: `Post ${at}` }));
        },
        ...[after(HOUR_MS), runs('sync meme-signals --no-wait', 75, '', { MARKET_API_QUOTA: '2/1h' })],
        // The changed row, the 152nd that came, turns out to be the fifth.
        ...[upstream(pages(150, (at) => (at === 4 ? { title: 'changed' } : {}))), syncs(0)],
        ...[after(HOUR_MS), runs('sync meme-signals --no-wait', 0)],
        finds('SELECT count(*), count(_held_since) FROM meme_signals', [350, 0]),
      ],
    },
    {
      it: 'and a row that turns out to be another one counts once: a list that is half as long is doubted',
      steps: [
        ...[publishes(0), upstream([...pages(150), { slug: 's3', title: 'another' }]), syncs(0), keyIs(null)],
        ...[publishes(1), upstream(pages(80, () => ({ title: 'changed' }))), syncs(0), keyIs('[["slug"]]')],
        finds('SELECT count(*), count(_held_since) FROM LIST', [150, 70]),
        finds('SELECT distinct_keys FROM walks', 151, 80),
      ],
    },
    {
      it: 'and a row that came again, changed, while it was read, is one row',
      steps: [
        upstream(pages(150)),
        before(50, (rows) => [{ ...rows[10], title: 'changed' }, ...rows.filter((_, at) => at !== 10)]),
        ...[syncs(0), keyIs('[["slug"]]'), mirrorsAll, versions(1)],
        ...[syncs(0, { times: 2 }), versions(1), drifts()],
      ],
    },
  ]);
});

describe('a key that was believed or found, and that two rows share', () => {
  const twin = { slug: 's3', title: 'another', source: 'b' };
  const sourced = pages(30, () => ({ source: 'a' }));
  const long = pages(150, () => ({ source: 'a' }));
  /** Twelve rows of the first page share the key of one on the second. */
  const withTwins = (more: (at: number) => Row) =>
    [...long, ...long.slice(0, 12).map((row) => ({ ...row, title: 'another', source: 'b' }))].map(
      (row, at) => ({
        ...row,
        ...more(at),
      }),
    );
  const aged = (minute: number) => (at: number) => ({ ageSeconds: at * 7 + minute * 60 });
  const priced = (minute: number) => (at: number) => ({ price: at * (minute + 3) });
  const minutes = (first: number, last: number, rows: (minute: number) => Row[]) =>
    rowsOf(last - first + 1, (at) => ({ minute: first + at })).flatMap(({ minute }) => [
      upstream(rows(minute as number)),
      syncsAnyhow,
    ]);
  const twinFarAway = { slug: 's3', title: 'another', source: 'b' };

  runCases([
    {
      it: 'is found anew where both are on one page',
      steps: [
        ...[upstream(sourced), syncs(0), keyIs('[["slug"]]')],
        ...[upstream([...sourced, twin]), syncs(0), mirrorsAll, versions(0)],
        ...[keyIs('[["source"],["slug"]]'), drifts('contradicted-key', 'new-key')],
        statusSays(
          '! news: slug does not identify its rows (two rows share s3): source and slug do now\n  → MIRROR_KEY_NEWS=source,slug confirms it',
        ),
        ...[syncs(0, { times: 3 }), mirrorsAll, versions(0)],
      ],
    },
    {
      it: 'is given up for a digest where no other tells them apart',
      steps: [
        ...[upstream(pages(30)), syncs(0), keyIs('[["slug"]]')],
        ...[upstream([...pages(30), { slug: 's3', title: 'another' }]), syncs(0), mirrorsAll, versions(0)],
        ...[keyIs(null), syncs(0, { times: 2 }), mirrorsAll, versions(0)],
        statusSays(
          /^! news: slug does not identify its rows \(two rows share s3\): each is known by its whole content/m,
          'name them: MIRROR_KEY_NEWS=',
        ),
      ],
    },
    {
      it: 'is found anew where two walks in a row meet both on different pages',
      steps: [
        ...[upstream(long), syncs(0), keyIs('[["slug"]]')],
        ...[upstream([...long, twinFarAway]), syncs(75), syncs(0), mirrorsAll],
        ...[keyIs('[["source"],["slug"]]'), syncs(0), syncs(0), mirrorsAll],
        finds(`SELECT count(*) FROM LIST WHERE slug = 's3'`, 2),
      ],
    },
    {
      it: 'is found anew at once where a published snapshot shows both',
      steps: [
        envelope((rows, request, total) => ({
          ...pageOf(rows, request, total),
          generatedAt: '2026-11-21T12:00:00Z',
        })),
        ...[upstream(long), syncs(0), keyIs('[["slug"]]')],
        envelope((rows, request, total) => ({
          ...pageOf(rows, request, total),
          generatedAt: '2026-11-21T12:05:00Z',
        })),
        ...[
          upstream([...long, twinFarAway]),
          syncs(0),
          mirrorsAll,
          versions(0),
          keyIs('[["source"],["slug"]]'),
        ],
      ],
    },
    {
      it: 'is found anew where both have ages, which move meanwhile',
      aside: ['ageSeconds'],
      steps: [
        ...[upstream(withTwins(aged(0)).slice(0, 150)), syncs(0), keyIs('[["slug"]]')],
        ...minutes(1, 6, (minute) => withTwins(aged(minute))),
        ...[mirrorsAll, keyIs('[["source"],["slug"]]'), drifts('contradicted-key', 'new-key')],
        ...[...minutes(7, 8, (minute) => withTwins(aged(minute))), mirrorsAll],
      ],
    },
    {
      it: 'proves nothing while both have prices, which change at each walk: the user names the key',
      steps: [
        ...[upstream(withTwins(priced(0)).slice(0, 150)), syncs(0), keyIs('[["slug"]]')],
        ...minutes(1, 4, (minute) => withTwins(priced(minute))),
        ...[keyIs('[["slug"]]'), statusSays(/its last walk proved nothing: .*repeat/)],
        ...[syncs(0, { settings: { MIRROR_KEY_NEWS: 'source,slug' } }), mirrorsAll],
      ],
    },
    {
      it: 'is kept where a row moves up in each walk, and its price changes',
      steps: [
        ({ state, clock }) => {
          state.before = ({ offset }) => {
            const busy = { ...state.rows.find(({ slug }) => slug === 's10'), price: clock.now() % 1_000_003 };
            if (offset > 50) state.rows = [busy, ...state.rows.filter(({ slug }) => slug !== 's10')];
          };
        },
        ...minutes(0, 7, (minute) => withTwins(priced(minute)).slice(0, 150)),
        ...[keyIs('[["slug"]]'), drifts(), mirrorsAll],
      ],
    },
    {
      it: 'is kept where the later one is the earlier, updated while the list was read',
      steps: [
        ...[upstream(long), syncs(0), keyIs('[["slug"]]')],
        before(50, (rows) => [{ ...rows[14], title: 'up' }, ...rows.filter((_, at) => at !== 14)]),
        ...[syncs(0), mirrorsAll, versions(1), drifts()],
        before(50, (rows) => [{ ...rows[20], title: 'up' }, ...rows.filter((_, at) => at !== 20)]),
        ...[syncs(0), mirrorsAll, versions(2), drifts(), keyIs('[["slug"]]')],
      ],
    },
    {
      it: 'and ids that are believed on the first page are found anew, too',
      steps: [
        ...[
          upstream([
            { id: 1, a: 1 },
            { id: 2, a: 1 },
          ]),
          syncs(0),
          keyIs('[["id"]]'),
        ],
        ...[
          upstream([
            { id: 1, a: 1 },
            { id: 2, a: 1 },
            { id: 1, a: 2 },
          ]),
          syncs(0),
          keyIs(null),
        ],
        ...[syncs(0, { times: 2 }), mirrorsAll, versions(0)],
        // It is believed again once three walks in a row have shown it unique.
        ...[upstream((rows) => rows.slice(1)), syncs(0), keyIs(null), syncs(0), keyIs(null), syncs(0)],
        ...[keyIs('[["id"]]'), mirrorsAll, versions(0, 1)],
      ],
    },
  ]);
});

describe('a number and a text alike', () => {
  const rows = (id: unknown) => [
    { id, a: 1 },
    { id: 2, a: 2 },
  ];
  runCases([
    {
      it: 'are one key where the type changes',
      steps: [
        ...[upstream(rows(1)), syncs(0), upstream(rows('1')), syncs(0), mirrorsAll, versions(1)],
        finds('SELECT _key FROM LIST ORDER BY _key', '1', '2'),
      ],
    },
    {
      it: 'are two rows at once where one pass meets both, on one page and on two',
      steps: [
        ...[upstream([...rows(1), { id: '1', a: 3 }]), syncs(0), mirrorsAll, versions(0)],
        upstream((all) => [...all, ...rowsOf(150, (at) => ({ id: at + 10, a: at })), { id: '2', a: 4 }]),
        ...[syncs(0, { times: 3 }), mirrorsAll, versions(0)],
        finds(`SELECT _key FROM LIST WHERE _key LIKE '%"%' ORDER BY _key`, '"1"', '"2"'),
      ],
    },
  ]);
});

describe('MIRROR_KEY_…', () => {
  runCases([
    {
      it: 'says the key from the first row on',
      settings: { MIRROR_KEY_NEWS: 'chain,token.address' },
      steps: [
        upstream([
          { chain: 'a', token: { address: 'x' }, price: 1 },
          { chain: 'b', token: { address: 'x' }, price: 1 },
        ]),
        ...[syncs(0), finds('SELECT _key FROM LIST ORDER BY _key', 'a|x', 'b|x')],
        upstream((rows) => rows.map((row) => ({ ...row, price: 2 }))),
        ...[syncs(0), mirrorsAll, versions(2)],
      ],
    },
    {
      it: 'gives the rows that are there its keys, without a version and without a removal',
      steps: [
        ...[upstream(pages(30)), syncs(0), keyIs('[["slug"]]')],
        ...[syncs(0, { settings: { MIRROR_KEY_NEWS: 'title' } }), mirrorsAll, versions(0)],
        finds(`SELECT _key FROM LIST WHERE slug = 's3'`, 'Title 3'),
      ],
    },
    {
      it: 'is kept with the rows that got it, though nothing came: taken back, both agree',
      steps: [
        ...[upstream(pages(30)), syncs(0), answers(() => ({ status: 503 }))],
        ...[
          syncs(75, { settings: { MIRROR_KEY_NEWS: 'title' } }),
          answers(),
          syncs(0),
          mirrorsAll,
          versions(0),
        ],
        ...[keyIs('[["title"]]'), finds(`SELECT _key FROM LIST WHERE slug = 's3'`, 'Title 3')],
      ],
    },
    {
      it: 'keeps both rows that share it, and stays',
      settings: { MIRROR_KEY_NEWS: 'title' },
      steps: [
        upstream([
          { title: 'a', n: 1 },
          { title: 'a', n: 2 },
          { title: 'b', n: 3 },
        ]),
        ...[
          syncs(0, { times: 3 }),
          mirrorsAll,
          versions(0),
          drifts('contradicted-key'),
          keyIs('[["title"]]'),
          statusSays(
            '! news: title does not identify each row (two rows share a): all are kept\n  → name fields that identify each row in MIRROR_KEY_NEWS',
          ),
        ],
      ],
    },
    {
      it: 'is refused where the specification says the key, and where it is no name',
      steps: [
        runs('sync news', 78, 'MIRROR_KEY_AI_SIGNALS', { MIRROR_KEY_AI_SIGNALS: 'id' }),
        runs('sync news', 78, 'MIRROR_KEY_NEWS', { MIRROR_KEY_NEWS: ',' }),
        runs('sync news', 78, 'MIRROR_KEY_NEW', { MIRROR_KEY_NEW: 'id' }),
      ],
    },
  ]);
});

describe('forget', () => {
  runCases([
    {
      it: 'has the key found anew, and keeps rows and history',
      steps: [
        ...[upstream(pages(30)), syncs(0)],
        ...[upstream(pages(30, () => ({ title: 'x' }))), syncs(0), versions(30)],
        ...[runs('forget news', 0, 'news'), finds('SELECT count(*) FROM LIST', 30), keyIs(null)],
        ...[syncs(0), keyIs('[["slug"]]'), mirrorsAll, versions(30)],
        finds(`SELECT _key FROM LIST_history WHERE title = 'Title 3'`, 's3'),
      ],
    },
    {
      it: 'follows rows to another place at once',
      steps: [
        ...[upstream(pages(30)), syncs(0)],
        envelope((rows, request, total) => ({
          ...pageOf(rows, request, total),
          rows: undefined,
          data: { items: rows },
        })),
        ...[runs('forget news', 0), syncs(0), mirrorsAll, versions(0)],
      ],
    },
    {
      it: 'refuses what has neither place nor key of its own',
      steps: [
        syncs(0),
        runs('forget ai-signals', 64, 'ai-signals'),
        runs('forget usage', 64, 'usage'),
        runs('forget nothing', 64, 'nothing'),
        runs('forget', 64, 'job'),
      ],
    },
  ]);
});

describe('a field that identified the rows and was renamed', () => {
  runCases([
    {
      it: 'is named by status, and the new one takes its place',
      steps: [
        ...[upstream(rowsOf(150, (at) => ({ id: at, a: at }))), syncs(0), keyIs('[["id"]]')],
        ...[upstream(rowsOf(150, (at) => ({ newsId: at, a: at }))), syncs(0), keyIs('[["newsId"]]')],
        statusSays(
          '! news: id, which identified its rows, was renamed or is gone: newsId does now\n  → MIRROR_KEY_NEWS=newsId confirms it',
        ),
        ...[mirrorsAll, after(1), syncs(0, { times: 2 }), mirrorsAll],
        ...[syncs(0, { settings: { MIRROR_KEY_NEWS: 'newsId' } }), statusLacks('newsId does')],
      ],
    },
  ]);
});

describe('a key found anew as rows change and go', () => {
  const rows = rowsOf(30, (at) => ({ slug: `s${at}`, title: `Title ${at}` }));
  const [first, ...others] = rows.slice(0, 27);
  runCases([
    {
      it: 'leaves each change with the walk that made it',
      steps: [
        ...[upstream(rows), publishes(0), syncs(0), keyIs('[["slug"]]')],
        upstream([{ ...first, title: 'changed' }, ...others, { slug: 's5', title: 'Twin' }]),
        ...[publishes(5), syncs(0), keyIs(null), mirrorsAll],
        finds(
          'SELECT change, count(*), max(walk_id) FROM changes WHERE walk_id IS NOT 1 GROUP BY change ORDER BY change',
          ...[
            ['delete', 3, 2],
            ['insert', 1, 2],
            ['update', 1, 2],
          ],
        ),
      ],
    },
  ]);
});
