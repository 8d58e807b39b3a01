import { describe, expect, test } from 'vitest';
import { readSchedules } from '../../../src/config.ts';
import { datasetsOf, ownSchedules } from '../../../src/job/list.ts';
import { listed } from '../../../src/job.ts';
import { planJson, readPlan } from '../../../src/plan.ts';
import { readStatus } from '../../../src/reading/status.ts';
import type { Overview, Schema } from '../../../src/serve/page/wire.ts';
import { setupPage } from './support.ts';

const HOUR = 3_600_000;

describe('the overview', () => {
  test('has what status and plan print', async () => {
    const { bench, get } = await setupPage({ walked: ['news', 'ai-signals'] });
    const told = (await (await get('/page/overview')).json()) as Overview;
    const datasets = datasetsOf(bench.jobs.map(listed), readSchedules({}, ownSchedules(bench.jobs)));
    const now = bench.clock.now();
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
    expect(told.status).toEqual(plain(readStatus(bench.dir, datasets, now)));
    expect(told.plan).toEqual(plain(planJson(readPlan(bench.dir, datasets, now))));
    expect(told.at).toBe(new Date(now).toISOString());
  });

  test('has the last walks of each dataset, oldest first, and no glances', async () => {
    const { bench, get } = await setupPage({ walked: [] });
    for (let walk = 0; walk < 3; walk += 1) {
      await bench.mirror('news');
      bench.clock.advance(HOUR);
    }
    bench.tamper("UPDATE walks SET kind = 'glance', verdict = NULL WHERE id = 2");
    const { datasets } = (await (await get('/page/overview')).json()) as Overview;
    expect(datasets.map(({ job }) => job)).toEqual(bench.jobs.map(({ name }) => name));
    const expected = bench.sql(
      `SELECT id, status, verdict, started_at AS startedAt, finished_at AS finishedAt, rows, api_calls AS apiCalls, error
       FROM walks WHERE job = 'news' AND kind = 'walk' ORDER BY id`,
    );
    expect(expected).toHaveLength(2);
    expect(datasets.find(({ job }) => job === 'news')?.walks).toEqual(expected);
  });

  test('has the changes of each hour of the last day, quiet hours among them', async () => {
    const { bench, get } = await setupPage({ walked: ['news'] });
    bench.clock.advance(2 * HOUR);
    bench.upstream('news').rows.splice(0, 3);
    await bench.mirror('news');
    const { datasets } = (await (await get('/page/overview')).json()) as Overview;
    const changes = datasets.find(({ job }) => job === 'news')?.changes ?? [];
    expect(changes).toHaveLength(24);
    expect(changes.at(-1)?.hour).toBe(new Date(Math.floor(bench.clock.now() / HOUR) * HOUR).toISOString());
    const sum = (of: 'inserted' | 'updated' | 'deleted') =>
      changes.reduce((all, change) => all + change[of], 0);
    const [walked] = bench.sql(
      'SELECT sum(inserted) AS inserted, sum(updated) AS updated, sum(deleted) AS deleted FROM walks',
    );
    expect({ inserted: sum('inserted'), updated: sum('updated'), deleted: sum('deleted') }).toEqual(walked);
    expect(changes.at(-3)?.inserted).toBe(20);
    expect(changes.at(-2)).toMatchObject({ inserted: 0, updated: 0, deleted: 0 });
  });
});

test('the schema has every table and view with its columns, and how far back each dataset goes', async () => {
  const { bench, get } = await setupPage();
  bench.tamper(`UPDATE _datasets SET history_from = '2026-01-01T00:00:00.000Z' WHERE job = 'news'`);
  const { jobs, tables, historyFrom } = (await (await get('/page/schema')).json()) as Schema;
  const news = jobs.find(({ name }) => name === 'news');
  expect(news).toMatchObject({ table: 'news', history: 'news_history', isSpecified: false });
  const signals = jobs.find(({ name }) => name === 'ai-signals');
  expect(signals).toMatchObject({ table: 'ai_signals', history: 'ai_signals_history', isSpecified: true });
  expect(jobs.find(({ name }) => name === 'usage')).toMatchObject({ history: null, isSpecified: false });
  const kinds = Object.fromEntries(tables.map(({ name, kind }) => [name, kind]));
  expect(kinds).toMatchObject({
    news: 'dataset',
    news_history: 'history',
    walks: 'bookkeeping',
    freshness: 'view',
  });
  for (const { name, columns } of tables)
    expect([name, columns.map((column) => column.name)]).toEqual([
      name,
      bench
        .sql<{ name: string }>(`SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1`, name)
        .map((column) => column.name),
    ]);
  expect(historyFrom).toMatchObject({ news: '2026-01-01T00:00:00.000Z', 'ai-signals': null });
});
