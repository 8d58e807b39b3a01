import { expect, it } from 'vitest';
import type { Row } from '../model-api/index.ts';
import { bump, change, insert, publish, remove } from './helpers/edits.ts';
import type { Bench } from './helpers/mirror-bench.ts';
import { setup } from './helpers/setup.ts';

const jobs = ['ai-signals', 'news', 'smart-wallets', 'meme-signals'] as const;

it.each(jobs)(
  'one pass over one dataset leaves %s as it stands upstream, value by value, wherever it changed since the last',
  async (job) => {
    const bench = await setup({ rows: 250 });
    await bench.mirror(job);
    const dataset = bench.upstream(job);
    const { idField } = dataset;
    const [another] = dataset.make(1);
    const edits = [
      change(120, { ...another, [idField]: dataset.rows[120]?.[idField] }),
      bump(200),
      insert(240, 3),
      remove(5, 2),
      publish(dataset.generatedAt && '2026-01-02T00:00:00Z'),
    ];
    for (const edit of edits) edit(dataset);
    // Rows go on the second proof that they are gone. Without a total, a pass that finds new rows far down proves nothing.
    for (let pass = 0; pass < 3; pass += 1) await bench.mirror(job);
    expect(table(bench, job)).toEqual(upstream(bench, job));
  },
);

it('keeps what stood between, where pages that are saved together show a row twice', async () => {
  const bench = await setup({ rows: 500 });
  await bench.mirror('ai-signals');
  const dataset = bench.upstream('ai-signals');
  const row = dataset.rows[150];
  change(150, { confidence: 0.123 })(dataset);
  change(350, { ...row, confidence: 0.456 })(dataset);
  publish('2026-01-02T00:00:00Z')(dataset);
  await bench.mirror('ai-signals');
  const versions = `SELECT confidence, _valid_from < _valid_to AS lasted FROM ai_signals_history WHERE _key = ? ORDER BY _valid_from`;
  expect(bench.sql(versions, String(row?.['id'])).at(-1)).toEqual({ confidence: 0.123, lasted: 1 });
});

type Table = Map<string, Record<string, unknown>>;

/** What a row of a table says, without what the mirror adds to it. */
function table(bench: Bench, job: string): Table {
  const rows = [...bench.table(job.replaceAll('-', '_'))];
  return new Map(
    rows.map(([key, row]) => [
      key,
      Object.fromEntries(
        Object.entries(row).filter(([column, value]) => !column.startsWith('_') && value !== null),
      ),
    ]),
  );
}

/** The same of the rows upstream, by the rule for names and values alone: not by the contract, which is under test. */
function upstream(bench: Bench, job: string): Table {
  const { rows, idField } = bench.upstream(job);
  return new Map(rows.map((row) => [String(row[idField]), flat(row)]));
}

/** Members of objects joined by `_`, in snake_case; truth as 0 or 1, lists as JSON; a signal's `dualAi` whole as well. */
function flat(row: Row, prefix = ''): Record<string, unknown> {
  const columns = Object.entries(row).flatMap(([name, value]): [string, unknown][] => {
    const column = prefix + name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (value === null) return [];
    if (typeof value === 'boolean') return [[column, Number(value)]];
    if (Array.isArray(value)) return [[column, JSON.stringify(value)]];
    if (typeof value !== 'object') return [[column, value]];
    const whole: [string, unknown][] = name === 'dualAi' ? [[column, JSON.stringify(value)]] : [];
    return [...whole, ...Object.entries(flat(value as Row, `${column}_`))];
  });
  return Object.fromEntries(columns);
}
