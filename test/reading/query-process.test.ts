/** A process that answers one question after another: nothing of one question is left for the next. */

import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import type { Cell } from '../../src/output/answer.ts';
import { type QueryProcess, type Question, startQueryProcess } from '../../src/reading/query.ts';
import { openConnection } from '../../src/store/connection.ts';
import { type Bench, openBench } from '../helpers/mirror-bench.ts';

let bench: Bench;

beforeAll(async () => {
  bench = await openBench({ rows: 20 });
  await bench.mirror('news');
});
afterAll(() => bench.close());

function setup() {
  const queryProcess = startQueryProcess();
  onTestFinished(() => queryProcess.end());
  return {
    queryProcess,
    ask: (sql: string, more?: Partial<Question>, signal?: AbortSignal) =>
      ask(queryProcess, sql, more, signal),
  };
}

async function ask(
  queryProcess: QueryProcess,
  sql: string,
  more: Partial<Question> = {},
  signal = new AbortController().signal,
): Promise<Cell[][]> {
  const question = { dir: bench.dir, sql, params: {}, tables: { news: 'news' }, asOf: null, ...more };
  return await queryProcess.rows(question, { signal, now: bench.clock.now }, async ({ batches }) => {
    const rows: Cell[][] = [];
    for await (const batch of batches) rows.push(...batch);
    return rows;
  });
}

const MANY = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT i FROM n';

test('it answers questions of the present and of the past, and those that are wrong, in any turn', async () => {
  const { queryProcess, ask } = setup();
  const past = { asOf: '2026-01-01T00:00:00.000Z' };
  for (let round = 0; round < 2; round += 1) {
    expect(await ask('SELECT count(*) FROM news')).toEqual([[20]]);
    expect(await ask('SELECT count(*) FROM news', { asOf: isoTime(bench.clock.now()) })).toEqual([[20]]);
    await expect(ask('SELECT count(*) FROM news', past)).rejects.toThrow(
      'lies before the first walk of news',
    );
    await expect(ask('SELEC')).rejects.toThrow('near "SELEC": syntax error (did you mean SELECT?)');
    await expect(ask('SELECT json_extract(value, \'$\') FROM json_each(\'["{}", "{"]\')')).rejects.toThrow(
      'malformed JSON',
    );
    expect(await ask(MANY)).toHaveLength(5_000);
    expect(queryProcess.isFree()).toBe(true);
  }
});

test('a pragma dressed as a table that would write is not allowed, and is no trouble of the disk', async () => {
  const { ask } = setup();
  await expect(ask('SELECT * FROM pragma_optimize')).rejects.toMatchObject({
    kind: 'usage',
    message: expect.stringContaining('not allowed'),
  });
});

test('it holds no moment of the mirror once it has answered', async () => {
  const { ask } = setup();
  await ask('SELECT * FROM news');
  await bench.mirror('ai-signals');
  const connection = openConnection(join(bench.dir, 'mirror.db'));
  onTestFinished(() => void connection.close());
  // It would be busy, or would leave a log that some moment needs.
  expect(connection.pragma('wal_checkpoint(TRUNCATE)')).toEqual([{ busy: 0, log: 0, checkpointed: 0 }]);
});

test('what would have stopped an earlier question does not stop a later one', async () => {
  const { queryProcess, ask } = setup();
  const earlier = new AbortController();
  await ask('SELECT 1', {}, earlier.signal);
  earlier.abort();
  expect(queryProcess.isFree()).toBe(true);
  expect(await ask('SELECT 2')).toEqual([[2]]);
});

test('it is of no more use where an answer was not read to its end, or was stopped', async () => {
  const cut = setup().queryProcess;
  await cut.rows(
    { dir: bench.dir, sql: MANY, params: {}, tables: {}, asOf: null },
    { signal: new AbortController().signal, now: bench.clock.now },
    async () => undefined,
  );
  expect(cut.isFree()).toBe(false);
  const { queryProcess, ask } = setup();
  await expect(ask('SELECT 1', {}, AbortSignal.abort())).rejects.toThrow('stopped');
  expect(queryProcess.isFree()).toBe(false);
});

test('it is of no more use once its process is gone', async () => {
  const { queryProcess, ask } = setup();
  expect(await ask('SELECT 1')).toEqual([[1]]);
  queryProcess.end();
  expect(queryProcess.isFree()).toBe(false);
});
