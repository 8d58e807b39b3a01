/** What one question through the page may take: of memory, of the disk, of everybody's time. */

import { execFileSync } from 'node:child_process';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Receipt } from '../../../src/reading/export.ts';
import {
  type Bounds,
  type Question,
  startQueryProcess,
  startServedProcess,
} from '../../../src/reading/query.ts';
import { needs } from '../../helpers/tools.ts';
import { rowsIn, sharedPage } from './support.ts';

const MB = 1_000_000;

const openedPage = sharedPage({ walked: [] });

/** Asks for little, and gets much: the text of one cell. */
const large = (bytes: number) => `SELECT hex(zeroblob(${bytes / 2})) AS cell`;

describe('a cell', () => {
  test('of more than a megabyte is cut, and says so', async () => {
    const { ask } = await openedPage();
    const lines = await ask({ sql: `SELECT hex(zeroblob(${MB})), hex(zeroblob(${MB / 2})), 1` });
    const [[cut, whole, one] = []] = rowsIn(lines) as [string, string, number][];
    expect(cut).toMatch(/^0{1000000}… \[cut: the first 1 MB of 2 MB\]$/);
    expect([whole, one]).toEqual(['0'.repeat(MB), 1]);
    expect(lines.at(-1)).toMatchObject({
      end: { rows: 1, isCut: false, notes: [expect.stringContaining('1 cell cut at 1 MB')] },
    });
    // Between letters.
    const [[text] = []] = rowsIn(await ask({ sql: `SELECT 'x' || replace(hex(zeroblob(${MB})), '0', 'é')` }));
    expect(String(text).slice(0, 500_000)).toBe(`x${'é'.repeat(499_999)}`);
    expect(String(text).slice(500_000)).toBe('… [cut: the first 1 MB of 5 MB]');
  });

  test('of a download as well, and the receipt counts them', async () => {
    const { get } = await openedPage();
    const query = new URLSearchParams({ format: 'ndjson', sql: large(4 * MB) });
    const { cell } = JSON.parse(await (await get(`/page/downloads/1?${query}`)).text()) as { cell: string };
    expect([cell.length, cell.slice(-8)]).toEqual([MB + 31, 'of 4 MB]']);
    expect((await (await get('/page/downloads/1/receipt')).json()) as Receipt).toMatchObject({
      rows: 1,
      cutCells: 1,
    });
  });
});

test('an answer ends before 32 MB, with whole rows, and says so', async () => {
  const { ask } = await openedPage();
  const sql = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, hex(zeroblob(50000)) FROM n`;
  const lines = await ask({ sql, limit: 100_000 });
  const rows = rowsIn(lines);
  expect(rows.map(([i]) => i)).toEqual(rows.map((_, at) => at + 1));
  expect(rows).toHaveLength(319);
  expect(lines.at(-1)).toMatchObject({
    end: { rows: 319, isCut: true, notes: [expect.stringMatching(/cut at 32 MB, after 319 rows/)] },
  });
});

test('a row that is larger than any answer is told of, not sent', async () => {
  const { ask } = await openedPage();
  const cells = Array.from({ length: 40 }, () => `hex(zeroblob(${MB / 2}))`).join(', ');
  expect((await ask({ sql: `SELECT ${cells}` })).at(-1)).toMatchObject({ end: { rows: 0, isCut: true } });
});

/** Resident, of the query processes of this one, in MB. */
function residentMb(): number[] {
  const columns = ['-o', 'rss=,args=', '--ppid', String(process.pid)];
  const lines = execFileSync('ps', columns, { encoding: 'utf8' }).split('\n');
  return lines
    .filter((line) => line.includes('worker-main.js served'))
    .map((line) => Number.parseInt(line, 10) / 1_000);
}

describe.runIf(process.platform === 'linux')('a question that needs more than 512 MB', () => {
  const inManyCells = `SELECT ${Array.from({ length: 200 }, () => `hex(zeroblob(${2 * MB}))`).join(', ')}`;

  test('is ended and told so, never has more, and two at once leave the service its time', async () => {
    needs('ps');
    const { ask, url } = await openedPage();
    let isOver = false;
    const answers = Promise.all([large(498 * MB), inManyCells].map((sql) => ask({ sql })));
    const over = answers.finally(() => {
      isOver = true;
    });
    let most = 0;
    while (!isOver) {
      most = Math.max(most, ...residentMb());
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const message = expect.stringContaining('more than 512 MB of memory');
    expect((await over).map((lines) => lines.at(-1))).toEqual(
      Array(2).fill({ failed: { kind: 'incomplete', message } }),
    );
    expect(rowsIn(await ask({ sql: 'SELECT 1' }))).toEqual([[1]]);
    expect(most).toBeGreaterThan(30);
    expect(most).toBeLessThan(540);
  });
});

test('a question that sorts more onto the disk than it may is ended and told so', async () => {
  const { bench } = await openedPage();
  const limits = { dataBytes: 448 * 1_048_576, fileBytes: 10 * MB, outOfMemory: 'no memory' };
  const process = startQueryProcess({ task: 'served', limits });
  onTestFinished(() => process.end());
  const sql = `WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x, zeroblob(200000) r FROM c ORDER BY r, x`;
  const question = { dir: bench.dir, sql, params: {}, tables: {}, asOf: null };
  const bounds = { signal: new AbortController().signal, now: bench.clock.now };
  await expect(process.check(question, bounds)).rejects.toMatchObject({
    kind: 'incomplete',
    message: expect.stringContaining('1 GB of temporary disk space'),
  });
});

/** A process that has started, which takes long on a busy machine. */
async function setupProcess(question: Question, bounds: Bounds) {
  const process = startServedProcess('served');
  onTestFinished(() => process.end());
  await process.check({ ...question, sql: 'SELECT 1' }, { ...bounds, silentMs: 60_000 });
  return process;
}

test('a question that reads no row for long is ended; one that reads rows goes on', async () => {
  const { bench } = await openedPage();
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)';
  const question = { dir: bench.dir, sql: '', params: {}, tables: {}, asOf: null };
  const bounds = { signal: new AbortController().signal, now: bench.clock.now, silentMs: 1_500 };
  const order = {
    format: 'parquet' as const,
    exact: false,
    ...{ sql: '', params: {}, job: null, asOf: null, since: null, by: '' },
    exportedAt: '2026-11-21T12:00:00.000Z',
  };
  const silent = { ...question, sql: `${endless} SELECT count(*) FROM n` };
  await expect((await setupProcess(question, bounds)).check(silent, bounds)).rejects.toMatchObject({
    kind: 'incomplete',
    message: expect.stringMatching(/^the query read no row for .*s and was ended/),
  });
  // Parquet looks at all rows before the first comes: for longer than a question may be silent.
  const slow = `${endless} SELECT i, length(hex(randomblob(200000))) FROM n LIMIT 300`;
  const process = await setupProcess(question, bounds);
  const end = await process.file(
    { ...question, sql: slow, infersTypes: true },
    order,
    bounds,
    async () => {},
  );
  expect(end.rows).toBe(300);
});
