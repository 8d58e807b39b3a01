import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Failure } from '../../src/base/errors.ts';
import { type Params, prepareReading } from '../../src/reading/query/statement.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import { type Bench, openBench } from '../helpers/mirror-bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ rows: 5 });
  return () => bench.close();
});

function prepare(sql: string, params: Params = {}) {
  const connection = openReadOnly(bench.store.file);
  onTestFinished(() => void connection.close());
  return prepareReading(connection, sql, params);
}

function refusalOf(sql: string, params: Params = {}): string {
  try {
    prepare(sql, params);
  } catch (thrown) {
    if (thrown instanceof Failure && thrown.kind === 'usage') return thrown.message;
    throw thrown;
  }
  throw new Error(`not refused: ${sql}`);
}

it('a statement that only reads is taken', () => {
  for (const sql of [
    ...[
      '  select id from ai_signals;',
      '/* why */ SELECT 1 -- because',
      'VALUES (1), (2)',
      'EXPLAIN SELECT 1',
    ],
    ...['WITH a AS (SELECT 1) SELECT * FROM a', 'EXPLAIN QUERY PLAN SELECT * FROM news'],
    ...['PRAGMA table_info(news)', "SELECT 'DELETE FROM news; DROP TABLE news'"],
    "SELECT 'load_extension(1)' AS load_extension",
  ])
    expect(prepare(sql).statement.reader, sql).toBe(true);
});

describe('a statement that would write, or reach beyond the mirror, is refused', () => {
  it.each([
    ['DELETE FROM news', /DELETE is not allowed/],
    ['REPLACE INTO news SELECT * FROM news', /REPLACE is not allowed/],
    ['WITH a AS (SELECT 1) DELETE FROM news', /would write/],
    ['WITH a AS (SELECT 1) INSERT INTO news SELECT * FROM news RETURNING *', /would write/],
    ['CREATE TEMP TABLE t (a)', /CREATE is not allowed/],
    ["ATTACH '/etc/passwd' AS p", /ATTACH is not allowed/],
    ["SELECT load_extension('./evil')", /extensions are not loaded/],
    ['SELECT "LOAD_EXTENSION" (:a)', /extensions are not loaded/],
    ["VACUUM INTO '/tmp/copy.db'", /VACUUM is not allowed/],
    ['BEGIN', /BEGIN is not allowed/],
    ['PRAGMA query_only = 0', /PRAGMA is not allowed/],
    ['PRAGMA journal_mode(delete)', /PRAGMA is not allowed/],
    ['PRAGMA main.table_info(news)', /PRAGMA is not allowed/],
    ['EXPLAIN PRAGMA query_only = 0', /EXPLAIN is not allowed/],
    ['EXPLAIN QUERY PLAN DELETE FROM news', /EXPLAIN is not allowed/],
    ['SELECT 1; PRAGMA query_only = 0', /more than one statement/],
    ['; PRAGMA hard_heap_limit = 1', /begins with a semicolon/],
    ['-- nothing', /no SQL was given/],
    [' ;; -- nothing', /no SQL was given/],
    ['\0SELECT 1', /no SQL was given/],
  ])('%s', (sql, why) => {
    expect(refusalOf(sql)).toMatch(why);
  });

  it('changes nothing by a pragma dressed as a table', () => {
    const { statement } = prepare('SELECT * FROM pragma_optimize');
    expect(() => statement.all({})).toThrow(/readonly/);
  });
});

describe('a mistake is shown where it is', () => {
  const shown = (sql: string) => {
    const [message, line = '', mark = ''] = refusalOf(sql).split('\n');
    return { message, at: line.slice(mark.indexOf('^')) };
  };

  it.each([
    ['SELECT * FORM news', /near "FORM"/, 'FORM news'],
    ['selct foo', /^near "selct": syntax error \(did you mean SELECT\?\)/, 'selct foo'],
    ['(SELECT 1)', /^near "\(": syntax error, line 1/, '(SELECT 1)'],
    ['SELECT a FROM news\nWHERE a = = 3', /near "="/, '= 3'],
    ["SELECT 'abc", /unrecognized token/, "'abc"],
    [
      'SELECT assett FROM ai_signals',
      /no such column: assett \(did you mean asset/,
      'assett FROM ai_signals',
    ],
    [
      'SELECT confidence FROM news',
      /^no such column: confidence \(it is a column of ai_signals, ai_signal_changes\), line 1/,
      'confidence FROM news',
    ],
    [
      'SELECT rate_remaining, statuz FROM walks, requests',
      /^no such column: statuz \(did you mean status\?\), line 1/,
      'statuz FROM walks, requests',
    ],
    ['SELECT * FROM ai-signals', /^near "-": syntax error \(the table is ai_signals\), line 1/, '-signals'],
    ['SELECT ai-signals.id FROM ai_signals', /\(the table is ai_signals\)/, 'ai-signals.id FROM ai_signals'],
    ['SELECT * FROM "ai-signals"', /no such table: ai-signals \(the table is ai_signals\)/, '"ai-signals"'],
    ["SELECT 'newz', * FROM newz", /no such table: newz \(did you mean news\?\)/, 'newz'],
    ['SELECT "n"."hedline" FROM news AS n', /no such column: n\.hedline/, '"hedline" FROM news AS n'],
    ['SELECT cuont(*) FROM news', /no such function: cuont/, 'cuont(*) FROM news'],
    ['SELECT (1', /incomplete input/, ''],
    ['SELECT\t*\nFROM\tnewz -- newz', /no such table: newz .*, line 2/, 'newz -- newz'],
  ])('%s', (sql, message, at) => {
    expect(shown(sql)).toEqual({ message: expect.stringMatching(message), at });
  });
});

describe('parameters', () => {
  it('are bound by name, whatever their prefix', () => {
    const { statement } = prepare('SELECT :a, @b, $c', { a: 'x', b: 1.5, c: null });
    expect(statement.all({ a: 'x', b: 1.5, c: null })).toEqual([['x', 1.5, null]]);
  });

  it('are asked for by name where one is missing', () => {
    expect(refusalOf('SELECT :a, :b', { a: 1 })).toMatch(/the value of :b is missing: --param b=/);
  });

  it('are refused where the statement has no such name', () => {
    expect(refusalOf('SELECT :asset', { asset: 'BTC', aset: 'ETH' })).toMatch(
      /no parameter :aset \(did you mean :asset\?\)/,
    );
  });
});
