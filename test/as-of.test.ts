/** What the mirror says of itself as of an earlier time: on the command line, in a file, on the page. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runMain } from './helpers/main.ts';
import { listNames, openServeBench, type ServeBench } from './helpers/serve-bench.ts';
import { linesIn, rowsIn } from './serve/page/support.ts';

const HOUR = 3_600_000;

let serve: ServeBench;
/** Between two walks of news. */
let between: string;
let after: string;

beforeAll(async () => {
  const walked = [...listNames, 'usage'];
  serve = await openServeBench({ rows: 120, walked, settings: { page: 'open' } });
  const { bench } = serve;
  bench.clock.advance(HOUR);
  between = new Date(bench.clock.now()).toISOString();
  bench.clock.advance(HOUR);
  bench.upstream('news').rows.unshift(...bench.upstream('news').make(1));
  // Each answer takes a second.
  bench.model.beforeAnswer = () => bench.clock.advance(1_000);
  await bench.mirror('news');
  bench.clock.advance(HOUR);
  after = new Date(bench.clock.now()).toISOString();
});
afterAll(() => serve.close());

const query = (sql: string, asOf: string, ...more: string[]) =>
  runMain(
    ['query', sql, '--format', 'csv', '--as-of', asOf, ...more],
    { MIRROR_DIR: serve.bench.dir },
    serve.bench.clock,
  );
const rowsOf = async (sql: string, asOf: string) => {
  const { code, stdout, stderr } = await query(sql, asOf);
  expect([code, stderr]).toEqual([0, '']);
  return stdout.trim().split('\n').slice(1);
};
const onPage = async (sql: string, asOf: string) => {
  const body = JSON.stringify({ sql, asOf, limit: 100 });
  const headers = { 'content-type': 'application/json' };
  return linesIn(await (await fetch(`${serve.url}/page/query`, { method: 'POST', headers, body })).text());
};

describe('as of a time', () => {
  test('walks are those that had ended by then, and requests those that had been sent', async () => {
    const { bench } = serve;
    const counts =
      'SELECT (SELECT count(*) FROM walks) AS walks, (SELECT count(*) FROM requests) AS requests';
    const [sent] = bench.sql<{ n: number }>('SELECT count(*) AS n FROM requests WHERE at <= ?', between);
    const [all] = bench.sql<{ walks: number; requests: number }>(counts);
    expect(sent?.n).toBeLessThan(all?.requests ?? 0);
    expect(await rowsOf(counts, between)).toEqual([`5,${sent?.n}`]);
    expect(await rowsOf(counts, after)).toEqual([`${all?.walks},${all?.requests}`]);
    expect(rowsIn(await onPage(counts, between))).toEqual([[5, sent?.n]]);
  });

  test('a walk that was under way then is not there yet, whatever became of it', async () => {
    const [walk] = serve.bench.sql<{ finished_at: string }>('SELECT finished_at FROM walks WHERE id = 6');
    const end = Date.parse(String(walk?.finished_at));
    const walks = "SELECT count(*) AS n FROM walks WHERE job = 'news'";
    expect(await rowsOf(walks, new Date(end - 1).toISOString())).toEqual(['1']);
    expect(await rowsOf(walks, new Date(end).toISOString())).toEqual(['2']);
  });

  test('rows are joined with the walks of then', async () => {
    const joined = 'SELECT count(*) AS n FROM news JOIN walks ON walks.id = news._walk_id';
    expect([await rowsOf(joined, between), await rowsOf(joined, after)]).toEqual([['120'], ['121']]);
    const changes = "SELECT count(*) AS n FROM changes WHERE walk_id > 0 AND job = 'news'";
    expect([await rowsOf(changes, between), await rowsOf(changes, after)]).toEqual([['120'], ['121']]);
  });

  test('before the first call that is known, when the record begins is said', async () => {
    const line = /The record of calls begins at 2026-11-21 12:00:0\d UTC\. Choose that time or later\./;
    const { code, stderr } = await query('SELECT count(*) FROM requests', '2026-11-20');
    expect([code, stderr]).toEqual([64, expect.stringMatching(line)]);
  });

  test('freshness is refused, and what to ask instead can be asked', async () => {
    const { code, stdout, stderr } = await query('SELECT job, complete_as_of FROM freshness', between);
    expect([code, stdout]).toEqual([64, '']);
    expect(stderr).toMatch(/^market-mirror: freshness shows how things stand now: [^\n]*\n$/);
    const [, instead = ''] = /: (SELECT job, [^\n]*)\n$/.exec(stderr) ?? [];
    const [first] = serve.bench.sql<{ at: string }>(
      "SELECT started_at AS at FROM walks WHERE job = 'news' ORDER BY id LIMIT 1",
    );
    expect(await rowsOf(`${instead} HAVING job = 'news'`, between)).toEqual([`news,${first?.at},verified`]);
    expect((await onPage('SELECT * FROM freshness', between)).at(-1)).toEqual({
      failed: { kind: 'usage', message: expect.stringMatching(/^freshness shows how things stand now: /) },
    });
  });

  test('every table that knows only the present is refused, however it is named, and makes no file', async () => {
    const tables = serve.bench.sql<{ name: string }>(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%\\_rows' ESCAPE '\\'
         AND name NOT LIKE '%\\_volatile' ESCAPE '\\' AND name NOT LIKE 'sqlite%' ORDER BY name`,
    );
    const names = tables.map(({ name }) => name).filter((name) => !['walks', 'requests'].includes(name));
    expect(names).toEqual(
      expect.arrayContaining(['_datasets', 'drift', 'fields', '_governor', 'quarantine']),
    );
    for (const name of names) {
      const lines = await onPage(`SELECT count(*) FROM "${name}"`, between);
      const message = expect.stringContaining(`${name} shows how things stand now`);
      expect([name, lines]).toEqual([name, [{ failed: { kind: 'usage', message } }]]);
    }
    for (const sql of [
      'SELECT * FROM news, Drift',
      'SELECT (SELECT max(last_seen_at) FROM [drift]) FROM news',
      'WITH d AS (SELECT * FROM temp.news), e AS (SELECT * FROM "DRIFT") SELECT * FROM d, e',
    ])
      expect([sql, (await onPage(sql, between)).at(-1)]).toEqual([
        sql,
        { failed: { kind: 'usage', message: expect.stringContaining('drift shows how things stand now') } },
      ]);
    const file = join(serve.bench.dir, 'drift.csv');
    const args = ['export', 'drift', '-o', file, '--as-of', between];
    const { code, stderr } = await runMain(args, { MIRROR_DIR: serve.bench.dir }, serve.bench.clock);
    expect([code, stderr]).toEqual([64, expect.stringContaining('drift shows how things stand now')]);
    expect(existsSync(file)).toBe(false);
  });

  test.each([
    "SELECT 'freshness' AS drift, 1 AS datasets",
    'WITH freshness AS (SELECT 1 AS fields) SELECT fields FROM freshness',
    'SELECT drift._key FROM news AS drift LIMIT 1',
  ])('what only has such a name is answered: %s', async (sql) => {
    expect((await rowsOf(sql, between)).length).toBe(1);
  });
});
