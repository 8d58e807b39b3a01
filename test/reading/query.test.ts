import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Cell } from '../../src/output/answer.ts';
import { type Answer, type Question, type RunQuery, withQueryProcess } from '../../src/reading/query.ts';
import { type Bench, openBench } from '../helpers/mirror-bench.ts';
import { needs } from '../helpers/tools.ts';
import { digestOf } from './support.ts';

const ask: RunQuery = (...request) => withQueryProcess((run) => run(...request));

let bench: Bench;
let question: (sql: string, more?: Partial<Question>) => Question;
const bounds = { signal: new AbortController().signal, now: Date.now };

beforeAll(async () => {
  bench = await openBench({ rows: 120 });
  await bench.mirror('ai-signals');
  const tables = { ai_signals: 'ai-signals', news: 'news' };
  question = (sql, more) => ({ dir: bench.dir, sql, params: {}, tables, asOf: null, ...more });
});
afterAll(() => bench.close());

async function allRows({ batches }: Answer): Promise<Cell[][]> {
  const rows: Cell[][] = [];
  for await (const batch of batches) rows.push(...batch);
  return rows;
}

const rowsOf = (sql: string, more?: Partial<Question>) => ask(question(sql, more), bounds, allRows);

/** Rows without an end, and a question that takes no end to answer. */
const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)';
const rowsForEver = `${endless} SELECT i, printf('%1000d', i) FROM n`;
const thinksForEver = `${endless} SELECT count(*) FROM n`;

describe('an answer', () => {
  it('has every row once and in order, however many batches they come in', async () => {
    const sql = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 12345) SELECT i FROM n';
    const rows = await rowsOf(sql);
    expect(rows).toEqual(Array.from({ length: 12_345 }, (_, at) => [at + 1]));
  });

  it('keeps every value as SQLite has it', async () => {
    const sql = `SELECT 9007199254740991, 9223372036854775807, -9223372036854775808, 1.0, 9e999, 'é' || char(0, 10), x'00ff', NULL`;
    expect(await rowsOf(sql)).toEqual([
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
  });

  it('names its columns with the types they were declared with', async () => {
    const { columns } = await ask(
      question('SELECT id, confidence, 1 + 1 FROM ai_signals'),
      bounds,
      async (answer) => answer,
    );
    expect(columns).toEqual([
      { name: 'id', type: 'TEXT' },
      { name: 'confidence', type: 'REAL' },
      { name: '1 + 1', type: null },
    ]);
  });

  it('is over at once where there is nothing', async () => {
    expect(await rowsOf('SELECT * FROM news')).toEqual([]);
  });

  it('comes while it is still being computed, in pieces of bounded size', async () => {
    const sizes = await ask(question(rowsForEver), bounds, async ({ batches }) => {
      const sizes: number[] = [];
      for await (const batch of batches) {
        sizes.push(batch.reduce((sum, row) => sum + String(row[1]).length, 0));
        if (sizes.length === 30) break;
      }
      return sizes;
    });
    expect(Math.max(...sizes)).toBeLessThan(300_000);
  });
});

describe('a question ends', () => {
  it('within its time limit, though SQLite never pauses', async () => {
    const asked = ask(question(thinksForEver), { ...bounds, timeoutMs: 900 }, allRows);
    await expect(asked).rejects.toMatchObject({
      kind: 'incomplete',
      message: expect.stringMatching(/longer than 900ms/),
    });
  });

  it('when it is stopped in the middle', async () => {
    const stop = new AbortController();
    const asked = ask(question(rowsForEver), { ...bounds, signal: stop.signal }, async ({ batches }) => {
      for await (const _ of batches) stop.abort();
    });
    await expect(asked).rejects.toMatchObject({ kind: 'incomplete', message: 'stopped' });
  });

  it('with nothing of it left running', async () => {
    needs('ps');
    await ask(question(rowsForEver), bounds, async ({ batches }) => void (await batches.next()));
    await expect.poll(childrenAtWork).toBe('');
  });

  it('with the failure of its reader', async () => {
    const asked = ask(question('SELECT 1'), bounds, async () => {
      throw new Error('the reader has a bug');
    });
    await expect(asked).rejects.toThrow('the reader has a bug');
  });
});

/** Children of this process that run a query and are not dead. */
function childrenAtWork(): string {
  const processes = execFileSync('ps', ['-o', 'stat=,args=', '--ppid', String(process.pid)], {
    encoding: 'utf8',
  });
  return processes
    .split('\n')
    .filter((line) => line.includes('worker-main.js query') && !line.startsWith('Z'))
    .join('\n');
}

it('tells a mistake that shows only while rows are read', async () => {
  await expect(rowsOf("SELECT json_extract('{', '$.a')")).rejects.toMatchObject({
    kind: 'usage',
    message: 'malformed JSON',
  });
});

it('says where there is no mirror yet', async () => {
  await expect(rowsOf('SELECT 1', { dir: `${bench.dir}/nowhere` })).rejects.toMatchObject({
    kind: 'incomplete',
    message: expect.stringMatching(/mirror\.db does not exist yet: run market-mirror sync/),
  });
});

it('changes nothing in the mirror', async () => {
  const before = digestOf(bench.store.file);
  await rowsOf('SELECT * FROM ai_signals', { asOf: '2026-11-21T12:00:00.000Z' });
  await rowsOf('SELECT * FROM changes');
  expect(digestOf(bench.store.file)).toBe(before);
});
