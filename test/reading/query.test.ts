/** Questions to a process: their answers, their ends, and that nothing of one is left for the next. */

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import type { Cell } from '../../src/output/answer.ts';
import {
  type Answer,
  type Question,
  type RunQuery,
  startQueryProcess,
  withQueryProcess,
} from '../../src/reading/query.ts';
import { openConnection } from '../../src/store/connection.ts';
import { type Bench, openBench } from '../helpers/mirror-bench.ts';
import { needs } from '../helpers/tools.ts';
import { digestOf } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ rows: 20 });
  await bench.mirror('news');
});
afterAll(() => bench.close());

const tables = { ai_signals: 'ai-signals', news: 'news' };
const question = (sql: string, more: Partial<Question> = {}): Question => ({
  ...{ dir: bench.dir, sql, params: {}, tables, asOf: null },
  ...more,
});
const boundsOf = (signal = new AbortController().signal) => ({ signal, now: bench.clock.now });

async function allRows({ batches }: Answer): Promise<Cell[][]> {
  const rows: Cell[][] = [];
  for await (const batch of batches) rows.push(...batch);
  return rows;
}

/** Rows without an end, and a question that takes no end to answer. */
const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)';
const rowsForEver = `${endless} SELECT i, printf('%1000d', i) FROM n`;
const thinksForEver = `${endless} SELECT count(*) FROM n`;
const MANY = `${endless} SELECT i FROM n LIMIT 12345`;

function setup() {
  const queryProcess = startQueryProcess();
  onTestFinished(() => queryProcess.end());
  const ask = (sql: string, more?: Partial<Question>, signal?: AbortSignal) =>
    queryProcess.rows(question(sql, more), boundsOf(signal), allRows);
  return { queryProcess, ask };
}

describe('an answer', () => {
  it('has every row once and in order, and every value as SQLite has it', async () => {
    const { ask } = setup();
    expect(await ask(MANY)).toEqual(Array.from({ length: 12_345 }, (_, at) => [at + 1]));
    const sql = `SELECT 9007199254740991, 9223372036854775807, -9223372036854775808, 1.0, 9e999, 'é' || char(0, 10), x'00ff', NULL`;
    expect(await ask(sql)).toEqual([
      [
        9007199254740991,
        9223372036854775807n,
        -9223372036854775808n,
        1,
        Number.POSITIVE_INFINITY,
        'é\0\n',
        Buffer.from([0, 255]),
        null,
      ],
    ]);
    expect(await ask('SELECT * FROM meme_signals')).toEqual([]);
  });

  it('comes while it is still being computed, in pieces of bounded size', async () => {
    const sizes: number[] = [];
    await setup().queryProcess.rows(question(rowsForEver), boundsOf(), async ({ batches }) => {
      for await (const batch of batches) {
        sizes.push(batch.reduce((sum, row) => sum + String(row[1]).length, 0));
        if (sizes.length === 30) break;
      }
    });
    expect(Math.max(...sizes)).toBeLessThan(300_000);
  });

  it('changes nothing in the mirror, and holds no moment of it once it is given', async () => {
    const { ask } = setup();
    const before = digestOf(bench.store.file);
    await ask('SELECT * FROM news', { asOf: '2026-11-21T12:00:00.000Z' });
    await ask('SELECT * FROM changes');
    expect(digestOf(bench.store.file)).toBe(before);
    await bench.mirror('ai-signals');
    const connection = openConnection(join(bench.dir, 'mirror.db'));
    onTestFinished(() => void connection.close());
    // It would be busy, or would leave a log that some moment needs.
    expect(connection.pragma('wal_checkpoint(TRUNCATE)')).toEqual([{ busy: 0, log: 0, checkpointed: 0 }]);
  });
});

describe('a question ends', () => {
  const ask: RunQuery = (...request) => withQueryProcess((run) => run(...request));

  it('within its time limit, though SQLite never pauses', async () => {
    const asked = ask(question(thinksForEver), { ...boundsOf(), timeoutMs: 300 }, allRows);
    const message = expect.stringMatching(/longer than 300ms/);
    await expect(asked).rejects.toMatchObject({ kind: 'incomplete', message });
  });

  it('when it is stopped in the middle', async () => {
    const stop = new AbortController();
    const asked = ask(question(rowsForEver), boundsOf(stop.signal), async ({ batches }) => {
      for await (const _ of batches) stop.abort();
    });
    await expect(asked).rejects.toMatchObject({ kind: 'incomplete', message: 'stopped' });
  });

  it('with the failure of its reader, and with nothing of it left running', async () => {
    needs('ps');
    const asked = ask(question(rowsForEver), boundsOf(), async ({ batches }) => {
      await batches.next();
      throw new Error('the reader has a bug');
    });
    await expect(asked).rejects.toThrow('the reader has a bug');
    await expect.poll(childrenAtWork).toBe('');
  });

  it('where there is no mirror yet, which it says', async () => {
    const nowhere = question('SELECT 1', { dir: `${bench.dir}/nowhere` });
    const message = expect.stringMatching(/mirror\.db does not exist yet: run market-mirror sync/);
    await expect(ask(nowhere, boundsOf(), allRows)).rejects.toMatchObject({ kind: 'incomplete', message });
  });
});

/** Children of this process that run a query and are not dead. */
function childrenAtWork(): string {
  const columns = ['-o', 'stat=,args=', '--ppid', String(process.pid)];
  return execFileSync('ps', columns, { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes('worker-main.js query') && !line.startsWith('Z'))
    .join('\n');
}

describe('one process', () => {
  it('answers questions of the present and of the past, and those that are wrong, in any turn', async () => {
    const { queryProcess, ask } = setup();
    const past = { asOf: '2026-01-01T00:00:00.000Z' };
    for (let round = 0; round < 2; round += 1) {
      expect(await ask('SELECT count(*) FROM news')).toEqual([[20]]);
      expect(await ask('SELECT count(*) FROM news', { asOf: isoTime(bench.clock.now()) })).toEqual([[20]]);
      await expect(ask('SELECT * FROM news', past)).rejects.toThrow('The copy of news begins at');
      await expect(ask('SELEC')).rejects.toThrow('near "SELEC": syntax error (did you mean SELECT?)');
      // A mistake that shows only while rows are read.
      await expect(
        ask(`SELECT json_extract(value, '$') FROM json_each('["{}", "{"]')`),
      ).rejects.toMatchObject({ kind: 'usage', message: 'malformed JSON' });
      // A pragma dressed as a table that would write, which is no trouble of the disk.
      const message = expect.stringContaining('not allowed');
      await expect(ask('SELECT * FROM pragma_optimize')).rejects.toMatchObject({ kind: 'usage', message });
      expect(await ask(MANY)).toHaveLength(12_345);
      expect(queryProcess.isFree()).toBe(true);
    }
  });

  it('is of no more use where an answer was not read to its end, or was stopped, or once it is gone', async () => {
    const [cut, stopped, gone] = [setup(), setup(), setup()];
    await cut.queryProcess.rows(question(MANY), boundsOf(), async () => undefined);
    await expect(stopped.ask('SELECT 1', {}, AbortSignal.abort())).rejects.toThrow('stopped');
    expect(await gone.ask('SELECT 1')).toEqual([[1]]);
    gone.queryProcess.end();
    expect([cut, stopped, gone].map(({ queryProcess }) => queryProcess.isFree())).toEqual([
      false,
      false,
      false,
    ]);
  });
});
