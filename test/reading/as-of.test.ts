import { describe, expect, it } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import { lookBack, refusePresent } from '../../src/reading/query/as-of.ts';
import { sourcesOf } from '../../src/reading/query/sources.ts';
import { withQueryProcess } from '../../src/reading/query.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';

const tables = { ai_signals: 'ai-signals', news: 'news', usage: 'usage' };

/** What a query finds on a connection that looks back, and what was proven of it. */
function askAt(bench: Bench, asOf: string | null, sql: string) {
  const connection = openReadOnly(bench.store.file);
  try {
    if (asOf !== null) lookBack(connection, Object.keys(tables), asOf);
    const rows = connection.prepare<[], Record<string, unknown>>(sql).all();
    return { rows, sources: sourcesOf(connection, sql, {}, tables, asOf) };
  } finally {
    connection.close();
  }
}

/** Mirrors a dataset that changes from walk to walk, and notes what every table held after each. */
async function liveThrough(bench: Bench) {
  const { clock } = bench;
  const upstream = bench.upstream('ai-signals');
  const moments: { at: string; signals: unknown[]; news: unknown[]; history: unknown[]; usage: unknown[] }[] =
    [];
  const walk = async () => {
    for (const job of ['ai-signals', 'news', 'usage']) await bench.mirror(job);
    // Commits of one moment are told apart by milliseconds that are yet to come.
    clock.advance(1_000);
    moments.push({
      at: isoTime(clock.now()),
      signals: bench.sql('SELECT * FROM ai_signals ORDER BY _key'),
      news: bench.sql('SELECT * FROM news ORDER BY _key'),
      history: bench.sql('SELECT * FROM ai_signals_history ORDER BY _key, _valid_from'),
      usage: bench.sql('SELECT _key, _body FROM usage ORDER BY _key'),
    });
    clock.advance(60_000);
  };
  const publish = () => {
    upstream.generatedAt = isoTime(clock.now());
  };
  await walk();
  Object.assign(upstream.rows[3] ?? {}, { status: 'closed', confidence: 0.111 });
  bench.upstream('news').rows.shift();
  publish();
  await walk();
  const [gone] = upstream.rows.splice(5, 1);
  publish();
  await walk();
  publish();
  await walk();
  upstream.rows.push(gone ?? {});
  upstream.rows.unshift(...upstream.make(2));
  publish();
  await walk();
  return moments;
}

/** No version says whether a row was held: of one that no longer is, nobody knows. */
const withoutHeld = (row: unknown) => ({ ...(row as object), _held_since: null, _held_reason: null });

describe('the mirror as of some time', () => {
  it('is what the tables held then, whatever came, changed, went and came back since', async () => {
    const bench = await setup({ rows: 20 });
    const moments = await liveThrough(bench);
    expect(new Set(moments.map(({ signals }) => signals.length)).size).toBeGreaterThan(2);
    for (const { at, signals, news, history, usage } of moments) {
      const held = (sql: string) => askAt(bench, at, sql).rows;
      expect(held('SELECT * FROM ai_signals ORDER BY _key')).toEqual(signals);
      expect(held('SELECT * FROM news ORDER BY _key').map(withoutHeld)).toEqual(news.map(withoutHeld));
      expect(held('SELECT _key, _body FROM usage ORDER BY _key')).toEqual(usage);
      expect(held('SELECT * FROM ai_signals_history ORDER BY _key, _valid_from')).toEqual(history);
    }
  });

  it('reaches through the views, has no later change, is proven by walks of then, and is empty before the first', async () => {
    const bench = await setup({ rows: 20 });
    const [first, second] = await liveThrough(bench);
    const at = first?.at ?? '';
    const [counted] = askAt(bench, at, 'SELECT count(DISTINCT id) AS n FROM ai_signal_checks').rows;
    expect(counted).toEqual({ n: 20 });
    const kinds = askAt(bench, at, 'SELECT DISTINCT job, change FROM changes ORDER BY job');
    expect(kinds.rows).toEqual(Object.values(tables).map((job) => ({ job, change: 'insert' })));
    const signals = (at: string | null) => askAt(bench, at, 'SELECT * FROM ai_signals');
    const proofs = [at, second?.at ?? '', null].map((at) => signals(at).sources[0]?.proof?.walkId);
    expect(proofs).toEqual([1, 4, 13]);
    expect(signals('2020-01-01T00:00:00.000Z')).toMatchObject({
      rows: [],
      sources: [{ job: 'ai-signals', completeAsOf: null }],
    });
  });
});

it('sources are the datasets that a statement reads, through views, histories and indexes', async () => {
  const bench = await setup({ rows: 10 });
  await bench.mirror('ai-signals');
  const connection = openReadOnly(bench.store.file);
  const signals = ['ai_signals', 'snapshot'];
  for (const [sql, sources, params] of [
    ['SELECT * FROM ai_signals', [signals]],
    ['SELECT count(*) FROM ai_signals WHERE _key > :k', [signals], { k: '' }],
    ['SELECT * FROM ai_signals_history', [signals]],
    ['SELECT * FROM ai_signal_reason_codes', [signals]],
    ['SELECT (SELECT max(_key) FROM news), id FROM ai_signals', [signals, ['news', null]]],
    ["SELECT 'ai_signals' AS news FROM walks", []],
  ] as const) {
    const found = sourcesOf(connection, sql, params ?? {}, tables, null);
    expect([sql, found.map(({ table, proof }) => [table, proof?.verdict ?? null])]).toEqual([sql, sources]);
  }
  connection.close();
});

describe('no way of writing a name reads the present under a past date:', () => {
  it('main.<table>, and the tables behind the views; what means the past is let through, or has main in a text or a column', () => {
    const refuse = (sql: string) => expect(() => refusePresent(sql, ['news']), sql);
    for (const name of [
      ...['main.news', 'MAIN . news', '"main"."news"', '[Main].news', '`main`.`news`', "'main'.'news'"],
      ...['main/* . */.news', 'main -- .\n . news', 'temp.news UNION ALL SELECT * FROM main.news'],
    ])
      refuse(`SELECT * FROM ${name}`).toThrow(/^--as-of: main\.<table> is the table as it stands now/);
    refuse('WITH n AS (SELECT * FROM main.news_history) SELECT * FROM n').toThrow(/^--as-of: main/);
    for (const name of ['_news_rows', '"_News_History_Rows"', "'_news_volatile'"])
      refuse(`SELECT * FROM ${name}`).toThrow(/^--as-of: _news_\w+ is a table as it stands now: ask news/);
    for (const sql of [
      '* FROM temp.news',
      "'main.news'",
      'main FROM news',
      '* FROM news_history',
      '1 -- main.news',
    ])
      refuse(`SELECT ${sql}`).not.toThrow();
  });

  it('the process that answers refuses it', async () => {
    const bench = await setup({ rows: 3 });
    await bench.mirror('news');
    const past = isoTime(bench.clock.now());
    bench.clock.advance(60_000);
    bench.upstream('news').rows.unshift(...bench.upstream('news').make(1));
    await bench.mirror('news');
    const count = (sql: string) =>
      withQueryProcess((ask) =>
        ask(
          { dir: bench.dir, sql, params: {}, tables, asOf: past },
          { signal: new AbortController().signal, now: bench.clock.now },
          async ({ batches }) => (await batches.next()).value?.[0]?.[0],
        ),
      );
    expect(await count('SELECT count(*) FROM news')).toBe(3);
    expect(await count('SELECT count(*) FROM temp.news')).toBe(3);
    await expect(count('SELECT count(*) FROM main.news')).rejects.toMatchObject({ kind: 'usage' });
  });
});
