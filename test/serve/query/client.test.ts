/**
 * The same questions put to `/mirror/v1` and to SQL: by a client that is not ours, and at random. What is no question ends in an
 * error that says why, and shows nothing of another table.
 */

import { PostgrestClient } from '@supabase/postgrest-js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openServeBench, type ServeBench } from '../../helpers/serve-bench.ts';
import { type Get, getter } from '../client.ts';

type Row = Record<string, unknown>;

const SECRET = 'canary-7f3a';
let serve: ServeBench;
let get: Get;
let client: PostgrestClient;

beforeAll(async () => {
  serve = await openServeBench({ rows: 80, settings: { query: true }, walked: ['ai-signals', 'news'] });
  const { key } = serve.issue();
  get = getter(serve.url, key);
  client = new PostgrestClient(`${serve.url}/mirror/v1`, { headers: { Authorization: `Bearer ${key}` } });
  serve.bench.tamper(`CREATE TABLE canary (secret TEXT); INSERT INTO canary VALUES ('${SECRET}')`);
});
afterAll(() => serve.close());

const sql = (text: string) => serve.bench.sql(text);

const keysOf = (rest: string) => sql(`SELECT _key FROM ai_signals ${rest}`).map(({ _key }) => _key);

test('@supabase/postgrest-js finds what SQL finds by each of its filters', async () => {
  const keys = () => client.from('ai_signals').select('_key').order('_key');
  const a = "asset = 'BTCUSDT'";
  const questions: [PromiseLike<{ data: Row[] | null; error: unknown }>, string][] = [
    [keys().eq('asset', 'BTCUSDT').neq('action', 'BUY'), `${a} AND action <> 'BUY'`],
    [keys().gt('confidence', 0.5).lte('confidence', 0.8), 'confidence > 0.5 AND confidence <= 0.8'],
    [keys().in('asset', ['BTCUSDT', 'a,b', 'SOLUSDT']), "asset IN ('BTCUSDT', 'SOLUSDT')"],
    [keys().is('regime', null).is('validator_allowed', true), 'regime IS NULL AND validator_allowed = 1'],
    [keys().not('asset', 'in', '(BTCUSDT,SOLUSDT)'), "asset NOT IN ('BTCUSDT', 'SOLUSDT')"],
    [keys().like('asset', '%USD%').ilike('asset', '%usd_'), "asset GLOB '*USD*' AND asset LIKE '%usd_'"],
    [
      keys().or('asset.eq.BTCUSDT,and(confidence.gt.0.7,action.eq.SELL)'),
      `${a} OR confidence > 0.7 AND action = 'SELL'`,
    ],
    [keys().match({ asset: 'BTCUSDT', quality_grade: 'A' }), `${a} AND quality_grade = 'A'`],
    [
      keys().filter('validator_reason_codes->>0', 'eq', 'SPREAD_OK'),
      "validator_reason_codes ->> 0 = 'SPREAD_OK'",
    ],
  ];
  for (const [asked, where] of questions) {
    const { data, error } = await asked;
    expect([where, error, data?.map(({ _key }) => _key)]).toEqual([
      where,
      null,
      keysOf(`WHERE ${where} ORDER BY _key`),
    ]);
  }
});

test('and reads orders, ranges, counts, heads, single and maybe single rows, and CSV', async () => {
  const from = () => client.from('ai_signals');
  const { data, count, status } = await from()
    .select('_key', { count: 'exact' })
    .order('confidence', { ascending: false })
    .order('asset', { nullsFirst: true })
    .range(10, 19);
  expect([status, count]).toEqual([206, 80]);
  expect(data?.map(({ _key }) => _key)).toEqual(
    keysOf('ORDER BY confidence DESC, asset NULLS FIRST, _key LIMIT 10 OFFSET 10'),
  );
  const id = String(keysOf('ORDER BY _key LIMIT 1')[0]);
  for (const [asked, expected] of [
    [from().select('*', { count: 'planned', head: true }), { count: 80, data: null, error: null }],
    [from().select('*', { count: 'exact' }).range(81, 90), { error: { code: 'PGRST103' } }],
    [from().select('id').eq('id', id).single(), { data: { id }, error: null }],
    [from().select('id').single(), { status: 406, error: { code: 'PGRST116' } }],
    [from().select('id').eq('id', 'none').maybeSingle(), { data: null, error: null }],
    [from().select('id').limit(1).csv(), { data: `id\n${id}\n` }],
  ] as [PromiseLike<unknown>, object][])
    expect(await asked).toMatchObject(expected);
});

/** A condition as the grammar has it, and in SQL. */
type Pair = { asked: string; sql: string };

const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;
const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
const signs = { eq: '=', neq: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
const sign = fc.constantFrom(...(Object.keys(signs) as (keyof typeof signs)[]));

const texts = fc.oneof(
  fc.constantFrom(...`BTCUSDT SOLUSDT BUY A trend_up active a'b x,y ( " \\ é`.split(' '), ''),
  fc.string({ maxLength: 4, unit: 'grapheme' }).filter((text) => !text.includes('\0')),
);
const compared = fc.oneof(
  fc.tuple(fc.constantFrom('asset', 'action', 'regime', 'quality_grade', '_key'), sign, texts).map(
    ([column, name, text]): Pair => ({
      asked: `${column}.${name}.${quoted(text)}`,
      sql: `${column} ${signs[name]} ${literal(text)}`,
    }),
  ),
  fc
    .tuple(
      fc.constantFrom('confidence', 'risk_reward', 'tp_price', '_walk_id'),
      sign,
      fc.integer({ min: -10, max: 2_000 }),
    )
    .map(
      ([column, name, value]): Pair => ({
        asked: `${column}.${name}.${value / 10}`,
        sql: `${column} ${signs[name]} ${value / 10}`,
      }),
    ),
  fc.tuple(fc.constantFrom('asset', 'regime'), fc.array(texts, { minLength: 1, maxLength: 4 })).map(
    ([column, list]): Pair => ({
      asked: `${column}.in.(${list.map(quoted)})`,
      sql: `${column} IN (${list.map(literal)})`,
    }),
  ),
  fc
    .constantFrom('regime', 'tp_price', 'dual_ai_verdict')
    .map((column): Pair => ({ asked: `${column}.is.null`, sql: `${column} IS NULL` })),
  fc
    .tuple(fc.constantFrom('validator_allowed', 'quality_publishable'), fc.boolean())
    .map(([column, flag]): Pair => ({ asked: `${column}.is.${flag}`, sql: `${column} IS ${flag ? 1 : 0}` })),
  fc
    .tuple(fc.constantFrom('asset', 'regime'), fc.constantFrom('B', 'US', 'T', 'up'))
    .map(
      ([column, part]): Pair => ({ asked: `${column}.like.*${part}*`, sql: `${column} GLOB '*${part}*'` }),
    ),
);
const negatable = (pair: fc.Arbitrary<Pair>) =>
  fc.tuple(pair, fc.boolean()).map(([{ asked, sql }, isNot]): Pair => {
    if (!isNot) return { asked, sql };
    const tree = /^(?:and|or)\(/.test(asked);
    return { asked: tree ? `not.${asked}` : asked.replace('.', '.not.'), sql: `NOT (${sql})` };
  });
const tree = (members: fc.Arbitrary<Pair>) =>
  fc.tuple(fc.constantFrom('and', 'or'), fc.array(members, { minLength: 1, maxLength: 3 })).map(
    ([join, each]): Pair => ({
      asked: `${join}(${each.map(({ asked }) => asked)})`,
      sql: `(${each.map(({ sql }) => `(${sql})`).join(` ${join.toUpperCase()} `)})`,
    }),
  );
const leaf = negatable(compared);
const filter = fc.oneof(leaf, negatable(tree(fc.oneof(leaf, negatable(tree(leaf))))));
const order = fc
  .uniqueArray(fc.constantFrom('asset', 'confidence', 'regime', 'tp_price'), { maxLength: 2 })
  .chain((columns) =>
    fc
      .tuple(...columns.map((column) => fc.tuple(fc.constant(column), fc.boolean(), fc.boolean())))
      .map((terms) => ({
        asked: terms
          .map(
            ([column, down, first]) => `${column}.${down ? 'desc' : 'asc'}.nulls${first ? 'first' : 'last'}`,
          )
          .join(','),
        sql: [
          ...terms.map(
            ([column, down, first]) => `${column} ${down ? 'DESC' : 'ASC'} NULLS ${first ? 'FIRST' : 'LAST'}`,
          ),
          '_key',
        ].join(', '),
      })),
  );

test('a question at random is its SQL', async () => {
  const question = fc.record({
    filters: fc.array(filter, { maxLength: 3 }),
    order,
    limit: fc.integer({ min: 0, max: 90 }),
    offset: fc.integer({ min: 0, max: 30 }),
  });
  await fc.assert(
    fc.asyncProperty(question, async ({ filters, order, limit, offset }) => {
      const query = new URLSearchParams({
        select: '_key',
        order: order.asked,
        limit: String(limit),
        offset: String(offset),
      });
      for (const { asked } of filters) query.append('and', `(${asked})`);
      const got = await get(`/mirror/v1/ai_signals?${query}`, { prefer: 'count=exact' });
      const where = filters.length > 0 ? `WHERE ${filters.map(({ sql }) => `(${sql})`).join(' AND ')}` : '';
      const [{ n } = {}] = sql(`SELECT count(*) AS n FROM ai_signals ${where}`);
      if (offset > Number(n)) {
        expect(got.status).toBe(416);
        return;
      }
      expect((got.json as Row[]).map(({ _key }) => _key)).toEqual(
        keysOf(`${where} ORDER BY ${order.sql} LIMIT ${limit} OFFSET ${offset}`),
      );
      expect(String(got.headers['content-range']).split('/')[1]).toBe(String(n));
    }),
    { numRuns: 40 },
  );
});

describe('what is no question', () => {
  const escaped = encodeURIComponent;
  test.each([
    ['ten thousand conditions', `or=(${Array(10_000).fill('id.eq.1')})`, 431],
    ['nine hundred', `or=(${Array(900).fill('id.eq.1')})`, 400],
    ['two thousand orders', `order=${Array(2_000).fill('id')}`, 400],
    ['deep nesting', `and=${'(and'.repeat(500)}`, 400],
    ['a pattern of stars', `rationale=like.${'*a'.repeat(2_000)}b`, 200],
    ['a pattern of single letters', `rationale=ilike.${'_*'.repeat(1_000)}b`, 200],
    ['a long path', `select=dual_ai${'->a'.repeat(1_500)}`, 200],
    ['NUL', 'asset=eq.%00', 400],
    ['half a letter', 'asset=eq.%ED%A0%80', 200],
    ['SQL as a column', `${escaped('id" FROM canary --')}=eq.1`, 400],
    ['SQL as a quoted column', `select=${escaped('"secret\\" FROM canary --"')}`, 400],
    ['SQL as a value', `asset=eq.${escaped("' UNION SELECT secret FROM canary --")}`, 200],
    ['SQL as a member', `dual_ai->>${escaped(`"') FROM canary --"`)}=eq.1`, 200],
    ['SQL as an order', `order=${escaped('id;SELECT secret FROM canary')}`, 400],
    ['SQL as a limit', 'limit=1%20UNION%20SELECT%201', 400],
    ['SQL as a time', `as_of=${escaped("2026-01-01T00:00:00Z' OR '1")}`, 400],
    ['a subquery as a list', `asset=in.(${escaped('SELECT secret FROM canary')})`, 200],
    ['an alias of SQL', `select=${escaped('"x\\", (SELECT secret FROM canary) AS \\"y":id')}&limit=1`, 200],
  ])('%s', async (_, query, status) => {
    const got = await get(`/mirror/v1/ai_signals?${query}`);
    expect(got.status).toBe(status);
    expect(got.bytes.toString()).not.toContain(SECRET);
    if (status === 400) expect(Object.keys(got.json as Row)).toEqual(['code', 'message', 'details', 'hint']);
  });

  test('and no other table is a dataset', async () => {
    for (const name of 'canary main.canary _ai_signals_rows requests ai_signals;canary "canary"'.split(' '))
      expect(await get(`/mirror/v1/${escaped(name)}`)).toMatchObject({ status: 404 });
  });

  test('whatever is put together', async () => {
    const pieces = String.raw`( ) , . " \ -> ->> * : :: not. eq. in.( is. and or asset dual_ai _key canary secret`;
    const piece = fc.constantFrom(...`${pieces} ' -- ; é 😀 % _ 1 -`.split(' '), ' ');
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    const names = ['select', 'order', 'or', 'and', 'not.and', 'asset', 'confidence', 'dual_ai->>a'];
    const pairs = fc.array(fc.tuple(fc.oneof(fc.constantFrom(...names), text), text), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(pairs, async (pairs) => {
        const got = await get(`/mirror/v1/ai_signals?limit=1&${new URLSearchParams(pairs)}`);
        expect([200, 400]).toContain(got.status);
        expect(got.bytes.toString()).not.toContain(SECRET);
      }),
      { numRuns: 40 },
    );
  });
});
