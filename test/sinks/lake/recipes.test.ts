import { readFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { read } from '../../helpers/sync-bench.ts';
import { virtualClock } from '../../helpers/virtual-clock.ts';
import { setup } from './bench.ts';

test('the queries of docs/recipes.md tell of a lake what the mirror tells', async () => {
  const { sync, lake, there, file, model, clock } = await setup(
    { rows: 30 },
    virtualClock(Date.parse('2026-11-22T09:00:00Z')),
  );
  const signals = () =>
    read<{ asset: string; signals: number }>(
      file,
      'SELECT asset, count(*) AS signals FROM ai_signals GROUP BY 1',
    );
  await sync();
  await lake();
  const past = signals();
  clock.advance(6 * 3_600_000);
  model.data.aiSignals.rows.push(...structuredClone(model.data.aiSignals.rows.slice(0, 9)).map(renamed));
  model.data.aiSignals.generatedAt = new Date(clock.now()).toISOString();
  await sync();
  await lake();

  const [, section = ''] = /\n## A lake\n(.*?)\n## /s.exec(readFileSync('docs/recipes.md', 'utf8')) ?? [];
  const [, written = ''] = /```duckdb\n(.*?)```/s.exec(section) ?? [];
  const queries = written
    .replaceAll("'lake/", `'${there}/`)
    .split(/;\n/)
    .filter((query) => query.trim());
  expect(queries).toHaveLength(6);
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const answers: Record<string, unknown>[][] = [];
  for (const query of queries)
    answers.push((await connection.runAndReadAll(query)).getRowObjectsJS() as Record<string, unknown>[]);
  connection.closeSync();
  instance.closeSync();
  const [proof, , present, then, day, snapshot] = answers;
  expect(proof).toMatchObject([{ verdict: 'snapshot' }]);
  const counted = (rows: readonly Record<string, unknown>[] = []) =>
    Object.fromEntries(rows.map(({ asset, signals }) => [asset, Number(signals)]));
  expect(counted(present)).toEqual(counted(signals()));
  expect(counted(then)).toEqual(counted(past));
  expect(counted(then)).not.toEqual(counted(present));
  expect(day?.map(({ _change, rows }) => [_change, Number(rows)])).toEqual([
    ['insert', 30],
    ['insert', 9],
  ]);
  expect(snapshot?.reduce((sum, { signals }) => sum + Number(signals), 0)).toBe(30);
});

test('the views of docs/lake.md show what those of the mirror show', async () => {
  const { sync, lake, there, file } = await setup({ rows: 30 });
  await sync('news');
  await lake('news');
  const [, views = ''] = /```duckdb\n(.*?)```/s.exec(readFileSync('docs/lake.md', 'utf8')) ?? [];
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(views.replaceAll("'lake/", `'${there}/`));
  const names = ['news', 'news_current', 'news_symbols'];
  for (const name of names) {
    const count = `SELECT count(*) AS rows FROM ${name}`;
    const [row] = (await connection.runAndReadAll(count)).getRowObjectsJS();
    expect(Number(row?.['rows']), name).toBe(read<{ rows: number }>(file, count)[0]?.rows);
    expect(Number(row?.['rows']), name).toBeGreaterThan(0);
  }
  connection.closeSync();
});

const renamed = (row: Record<string, unknown>, at: number) => ({ ...row, id: `sig_new_${at}` });
