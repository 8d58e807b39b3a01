import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAlive } from '../../src/base/process-name.ts';
import { queryCommand } from '../../src/commands/query.ts';
import { startCli } from '../helpers/cli.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { runMain } from '../helpers/main.ts';
import { type Bench, openBench } from '../helpers/mirror-bench.ts';
import { onTerminal } from '../reading/support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ rows: 40 });
  await bench.mirror('ai-signals');
  bench.clock.advance(600_000);
  await bench.mirror('news');
});
afterAll(() => bench.close());

const query = (...args: string[]) => runMain(['query', ...args], { MIRROR_DIR: bench.dir }, bench.clock);

const sql = "SELECT 1 AS a, 'x' AS b";
const params = ['--param', 'text=a=b', '--param', 'n:=9223372036854775807', '--param', 'none:=null'];

it.each<[what: string, args: string[], stdout: string | RegExp, stderr?: string | RegExp]>([
  [
    'a table',
    ['SELECT count(*) AS signals, max(asset_class) AS class FROM ai_signals'],
    /^signals {2}class\n {5}40 {2}\w+\n$/,
  ],
  ['JSON', [sql, '--json'], '[\n{"a":1,"b":"x"}\n]\n'],
  ['Markdown', [sql, '--format', 'md'], '| a | b |\n| --- | --- |\n| 1 | x |\n'],
  ['CSV, within a long time', [sql, '--format', 'csv', '--timeout', '60d'], 'a,b\n1,x\n'],
  [
    'lines of JSON, with parameters of its own',
    ['SELECT :text, :n, typeof(:n), :none', ...params, '--format', 'ndjson'],
    '{":text":"a=b",":n":9223372036854775807,"typeof(:n)":"integer",":none":null}\n',
  ],
  [
    'rows up to a limit, and is told of the rest',
    ['SELECT id FROM ai_signals', '--limit', '3', '--format', 'csv'],
    /^id\n(.+\n){3}$/,
    'note: there are more rows than these 3: raise --limit\n',
  ],
  ['all rows that the limit lets through', ['SELECT id FROM ai_signals', '--limit', '40'], /^id/],
])('a question gets %s', async (_, args, stdout, stderr = '') => {
  const ran = await query(...args);
  expect(ran).toEqual({
    code: 0,
    stdout: typeof stdout === 'string' ? stdout : expect.stringMatching(stdout),
    stderr,
  });
});

it('an answer is cut to the terminal, which is told, is safe to look at there, and exact in a pipe', async () => {
  const wide = 'SELECT id, rationale FROM ai_signals';
  const { stdout, stderr } = await onTerminal(queryCommand, [wide], bench, { columns: 60 });
  const lines = stripVTControlCharacters(stdout).split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBe(60);
  expect(stderr).toMatch(/cut to the width of the terminal/);
  const evil = "SELECT char(27) || '[2Jx' || char(10) AS a";
  const seen = await onTerminal(queryCommand, [evil, '--format', 'csv'], bench, { columns: 80 });
  expect(seen.stdout).toBe('a\n"\\u{1b}[2Jx\n"\n');
  const piped = await onTerminal(queryCommand, [evil, '--format', 'csv'], bench);
  expect(piped.stdout).toBe('a\n"\u001b[2Jx\n"\n');
});

describe('what an answer is worth', () => {
  it('is refused with 75 where a dataset that it reads is older than it may be', async () => {
    const sql = 'SELECT count(*) FROM ai_signals, news';
    expect(await query(sql, '--max-age', '10m')).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await query(sql, '--max-age', '9m');
    expect({ code, stdout }).toEqual({ code: 75, stdout: '' });
    expect(stderr).toMatch(
      /older than 9m: ai-signals was last complete at 2026-11-21T12:00:00.000Z, 10m ago\n$/,
    );
    expect(await query('SELECT count(*) FROM news', '--max-age', '9m')).toMatchObject({ code: 0 });
  });

  it('is refused with 75 where a dataset was never complete, and told without --max-age', async () => {
    const sql = 'SELECT count(*) FROM smart_wallets';
    expect(await query(sql, '--max-age', '30d')).toMatchObject({ code: 75 });
    const { code, stderr } = await query(sql);
    expect(code).toBe(0);
    expect(stderr).toBe('note: smart_wallets was never mirrored: run market-mirror sync smart-wallets\n');
  });

  it.each([
    [
      'the dataset',
      'SELECT count(*) FROM news',
      64,
      'The copy of news begins at 2026-11-21 12:10:00 UTC. Choose that time or later.',
    ],
    [
      'one of the datasets',
      'SELECT count(*) FROM ai_signals, news_history',
      64,
      'The copy of news begins at ',
    ],
    ['a dataset behind a view', 'SELECT count(*) FROM changes', 75, 'no walk of it has ended yet'],
    ['a dataset that has none', 'SELECT count(*) FROM smart_wallets', 75, 'sync smart-wallets'],
  ])('is refused for a time before the first walk of %s', async (_, sql, exitCode, line) => {
    const { code, stdout, stderr } = await query(sql, '--as-of', '8m', '--format', 'csv');
    expect([code, stdout]).toEqual([exitCode, '']);
    expect(stderr).toMatch(/^market-mirror: [^\n]*\n$/);
    expect(stderr).toContain(line);
  });

  it('of the past is as old as it was then', async () => {
    const at = ['--as-of', '2026-11-21 12:01', '--max-age', '2m'];
    expect(await query('SELECT count(*) FROM ai_signals', ...at)).toMatchObject({ code: 0, stderr: '' });
  });
});

it('wrong use ends with 64 and says what is wrong', async () => {
  for (const [args, message] of [
    [
      ['SELECT * FROM ai_signal'],
      /^ {2}1 \| SELECT \* FROM ai_signal\n {20}\^\nmarket-mirror: no such table: ai_signal \(did you mean ai_signals\?\), line 1\n$/,
    ],
    [
      ['SELECT * FROM ai-signals'],
      /^ {2}1 \| SELECT \* FROM ai-signals\n {22}\^\nmarket-mirror: near "-": syntax error \(the table is ai_signals\), line 1\n$/,
    ],
    [['DROP TABLE news'], /DROP is not allowed/],
    [['SELECT 1', '--format', 'xml'], /--format is one of table, json, ndjson, csv, md, not 'xml'/],
    [['SELECT 1', '--max-age', 'soon'], /--max-age: 'soon' is no duration such as/],
    [
      ['SELECT 1', '--as-of', 'yesterday'],
      /^market-mirror: --as-of: cannot read 'yesterday' as a time; write 2026-03-01, [^\n]+, or how long ago, such as 2h\n$/,
    ],
    [['SELECT 1', '--param', 'x'], /name=value/],
    [['SELECT :x', '--param', 'x:=9223372036854775808'], /9223372036854775808 is no number of 64 bits/],
    [['--file', '/nowhere.sql'], /cannot be read \(ENOENT\)/],
  ] as const) {
    const { code, stdout, stderr } = await query(...args);
    expect({ args, code, stdout, stderr }).toEqual({
      ...{ args, code: 64, stdout: '', stderr: expect.stringMatching(message) },
    });
  }
});

const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT';

describe('the program itself', () => {
  const start = (sql: string, settings: Record<string, string> = {}) => {
    const cwd = temporaryFolder();
    const environment = { MIRROR_DIR: bench.dir, ...settings };
    return startCli(['query', sql, '--format', 'csv'], environment, cwd);
  };
  const read = (pid: number, file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8');
  /** The process of the query, once it computes: before, it would notice by itself that nobody is there any more. */
  const queryProcessOf = async (parent: number) => {
    const child = () => Number(read(parent, `task/${parent}/children`).trim());
    const hundredths = () => (child() > 0 ? Number(read(child(), 'stat').split(' ')[13]) : 0);
    await expect.poll(hundredths).toBeGreaterThan(30);
    expect(read(child(), 'cmdline')).toContain('worker-main.js');
    return child();
  };

  it.each([
    ['Ctrl-C', 'SIGINT', { code: 75, stderr: 'market-mirror: stopped\n' }],
    ['kill -9', 'SIGKILL', { code: null }],
  ] as const)(
    'ends on %s, though SQLite never pauses, and leaves nothing running',
    async (_, signal, end) => {
      const { child, ended } = start(`${endless} count(*) FROM n`, {
        MARKET_API_KEY: 'canary',
        PGPASSWORD: 'canary',
      });
      const pid = await queryProcessOf(child.pid ?? 0);
      expect(read(pid, 'environ')).toContain('PATH=');
      expect(read(pid, 'environ')).not.toContain('canary');
      child.kill(signal);
      expect(await ended).toMatchObject(end);
      await expect.poll(() => isAlive(pid)).toBe(false);
    },
  );

  it('ends quietly where its reader has seen enough', async () => {
    const { child, ended } = start(`${endless} i FROM n`);
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
  });
});
