/** The mirror in the hands of tools that are not ours. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Progress } from '../../src/mirror.ts';
import { viewsOf } from '../../src/store/views.ts';
import { runMain } from '../helpers/main.ts';
import { type Bench, openBench } from '../helpers/mirror-bench.ts';
import { needs } from '../helpers/tools.ts';
import { until } from '../queue/setup.ts';
import { publish } from './support.ts';

/** Rows, rows that the walk has counted, rows by way of a view, and how the walk stands. */
const look = `SELECT (SELECT count(*) FROM ai_signals), coalesce(max(rows), 0),
  (SELECT count(DISTINCT id) FROM ai_signal_checks), coalesce(max(status), 'none') FROM walks`;

/** Programs that look again and again until the walk is complete, and print each look as a line. */
const watchers: Record<string, string[]> = {
  python3: [
    '-uc',
    `
import sqlite3, sys, time
db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True, isolation_level=None)
while True:
    seen = db.execute(sys.argv[2]).fetchone()
    print('|'.join(map(str, seen)))
    if seen[3] == 'complete': break
    time.sleep(0.01)
`,
  ],
  sqlite3: [
    'sh',
    '-c',
    `until [ "\${seen##*|}" = complete ]; do
       seen=$(sqlite3 -readonly -cmd '.timeout 5000' "$1" "$2") || exit 1
       echo "$seen"
       sleep 0.05
     done`,
    'sh',
  ],
};

let bench: Bench;
const looks: Record<string, string> = {};
const watching: ChildProcess[] = [];

beforeAll(async () => {
  bench = await openBench({ rows: { aiSignals: 1_500, news: 20, smartWallets: 20, memeSignals: 20 } });
  needs(...Object.keys(watchers));
  const watched = Object.entries(watchers).map(([tool, command]) => watch(tool, command));
  for (const rows of [500, 1_000]) {
    await mirrorUntil(rows);
    for (const tool of Object.keys(looks))
      await until(`${tool} has seen ${rows} rows`, () => looks[tool]?.includes(`${rows}|`));
  }
  await bench.mirror('ai-signals');
  await Promise.all(watched);
});

async function watch(tool: string, command: string[]): Promise<void> {
  looks[tool] = '';
  const [program = '', ...args] = tool === 'sqlite3' ? command : [tool, ...command];
  const child = spawn(program, [...args, bench.store.file, look]);
  watching.push(child);
  child.stdout.on('data', (text: Buffer) => {
    looks[tool] += text.toString();
  });
  await once(child, 'close');
}

/** Walks on until the mirror holds so many rows, and stays there. */
async function mirrorUntil(rows: number): Promise<void> {
  const stop = new AbortController();
  const isThere = ({ walk }: Progress) => walk.rows >= rows && stop.abort(new Error('far enough'));
  await expect(bench.mirror('ai-signals', isThere, stop.signal)).rejects.toThrow('far enough');
}

afterAll(async () => {
  for (const child of watching) child.kill('SIGKILL');
  await bench.close();
});

describe('while the mirror is being written', () => {
  it.each(Object.keys(watchers))('%s sees whole pages with the place of their walk, never a part', (tool) => {
    const seen = (looks[tool] ?? '')
      .trim()
      .split('\n')
      .map((line) => line.split('|'));
    for (const [rows, walked, viewed] of seen) expect([walked, viewed]).toEqual([rows, rows]);
    expect(new Set(seen.map(([rows]) => rows)).size).toBeGreaterThan(2);
    expect(seen.at(-1)?.[0]).toBe('1500');
  });
});

describe('DuckDB', () => {
  async function ask<Row>(sql: string): Promise<Row[]> {
    // Nothing is fetched from anywhere.
    const settings = { autoinstall_known_extensions: 'false', autoload_known_extensions: 'false' };
    const instance = await DuckDBInstance.create(':memory:', settings);
    const connection = await instance.connect();
    try {
      return (await connection.runAndReadAll(sql)).getRowObjectsJson() as Row[];
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  }

  it('reads a Parquet file that was exported amid a walk: typed, complete, and of one moment', async () => {
    for (const row of bench.upstream('ai-signals').rows) row['confidence'] = 0.777;
    publish(bench);
    const file = join(bench.dir, 'signals.parquet');
    const command = ['export', 'ai-signals', '-o', file];
    const exporting = runMain(command, { MIRROR_DIR: bench.dir }, bench.clock);
    await bench.mirror('ai-signals');
    expect((await exporting).code).toBe(0);

    const types = await ask<{ column_name: string; column_type: string }>(`DESCRIBE FROM '${file}'`);
    expect(Object.fromEntries(types.map((column) => [column.column_name, column.column_type]))).toMatchObject(
      {
        id: 'VARCHAR',
        timestamp: 'TIMESTAMP WITH TIME ZONE',
        confidence: 'DOUBLE',
        validator_allowed: 'BOOLEAN',
        _walk_id: 'BIGINT',
        _changed_at: 'TIMESTAMP WITH TIME ZONE',
      },
    );
    const [read] = await ask<{ rows: string; keys: string; changed: string }>(
      `SELECT count(*) AS rows, count(DISTINCT id) AS keys, count(*) FILTER (confidence = 0.777) AS changed
       FROM '${file}'`,
    );
    expect(read).toMatchObject({ rows: '1500', keys: '1500' });
    expect(Number(read?.changed) % 100).toBe(0);
    const sum = 'SELECT round(sum(entry_price), 4) AS prices, max(timestamp) AS newest FROM';
    const [here] = bench.sql<{ prices: number; newest: string }>(`${sum} ai_signals`);
    const [there] = await ask<{ prices: number; newest: string }>(`SET TimeZone = 'UTC'; ${sum} '${file}'`);
    expect(there?.prices).toBe(here?.prices);
    expect(Date.parse(`${there?.newest}:00`)).toBe(Date.parse(here?.newest ?? ''));
  });

  it('runs the queries of docs/recipes.md', async () => {
    const [, written = ''] = /```duckdb\n(.*?)```/s.exec(readFileSync('docs/recipes.md', 'utf8')) ?? [];
    const queries = written.replaceAll("'signals.parquet", `'${bench.dir}/signals.parquet`).split(/;\n/);
    expect(queries.length).toBeGreaterThan(3);
    for (const sql of queries.filter((query) => query.trim() !== ''))
      expect((await ask(sql)).length, sql).toBeGreaterThan(0);
  });
});

it('the sqlite3 command line reads every view, and finds the database sound', async () => {
  for (const { name } of bench.jobs.filter(({ name }) => name !== 'ai-signals')) await bench.mirror(name);
  const views = viewsOf(bench.jobs);
  const sql = views.map(({ name, example }) => `SELECT count(*) FROM "${name}"; ${example}`).join(';\n');
  const read = (...args: string[]) =>
    execFileSync('sqlite3', ['-readonly', '-bail', bench.store.file, ...args]).toString();
  expect(views.length).toBeGreaterThan(4);
  expect(read(sql).split('\n').length).toBeGreaterThan(views.length);
  expect(read('PRAGMA integrity_check')).toBe('ok\n');
});
