import { expect, test } from 'vitest';
import { read } from '../../helpers/sync-bench.ts';
import { edit } from '../edit.ts';
import { setupShipped } from './bench.ts';

const inText = (row: object) =>
  JSON.stringify(Object.values(row).map((value) => (value === null ? null : String(value))));

test('the views for analysts say in Postgres what they say in the mirror', async () => {
  const bench = await setupShipped();
  const { file, model, clock, there } = bench;
  for (const round of [1, 2]) {
    await clock.sleep(1_200_000);
    edit(bench, round);
    Object.assign(model.data.news.rows[0] ?? {}, {
      headline: `of round ${round}`,
      late: [round, { deep: 'x' }],
    });
    await bench.sync();
    expect((await bench.ship()).code).toBe(0);
  }
  const views = read<{ name: string }>(
    file,
    `SELECT name FROM sqlite_master WHERE type = 'view' AND sql LIKE '%/* declared by market-mirror: %'`,
  ).map(({ name }) => name);
  expect(views).toEqual(
    expect.arrayContaining([
      'ai_signals_quality_checks',
      'news_current',
      'news_changes',
      'news_late',
      'usage_changes',
    ]),
  );
  for (const view of views) {
    const [columns, order] = view.endsWith('_changes')
      ? ['seq, kind, _key, "column", walk_id', 'seq, kind, _key, "column"']
      : view.endsWith('_current')
        ? ['_key', '_key']
        : ['_key, position, value', '_key, position'];
    const sql = `SELECT ${columns} FROM ${view} ORDER BY ${order}`;
    const here = read<object>(file, sql).map(inText).sort();
    expect([view, (await there.query<object>(sql)).map(inText).sort()]).toEqual([view, here]);
  }
  const changed = `SELECT "column", old, new FROM news_changes WHERE kind = 'changed' ORDER BY seq, "column"`;
  const lines = (rows: readonly object[]) => rows.map(inText);
  expect(lines(await there.query<object>(changed))).toEqual(lines(read<object>(file, changed)));
});
