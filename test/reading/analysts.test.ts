import { describe, expect, test } from 'vitest';
import { change, editBefore, insert, publish, remove } from '../helpers/edits.ts';
import { setup } from '../helpers/setup.ts';

type Line = {
  kind: string;
  _key: string;
  column: string | null;
  old: unknown;
  new: unknown;
  walk_id: number;
};

describe('every dataset has views for analysts:', () => {
  test('what changed, column by column, without what moves by itself and without calling the first walk news', async () => {
    const bench = await setup({ rows: 120 });
    const first = await bench.mirror('ai-signals');
    editBefore(bench, 'ai-signals', {
      1: (dataset) => {
        publish('2026-11-21T13:00:00Z')(dataset);
        change(5, { status: 'closed', confidence: 0.125 })(dataset);
        remove(7)(dataset);
        insert(0)(dataset);
      },
    });
    const second = await bench.mirror('ai-signals');
    const lines = bench.sql<Line>('SELECT * FROM ai_signals_changes ORDER BY seq, kind, "column"');
    expect(lines.filter(({ kind }) => kind === 'first')).toHaveLength(120);
    expect(new Set(lines.filter(({ kind }) => kind === 'first').map(({ walk_id }) => walk_id))).toEqual(
      new Set([first.id]),
    );
    const later = lines.filter(({ kind }) => kind !== 'first');
    expect(later.map(({ kind, column, new: value, walk_id }) => [kind, column, value, walk_id])).toEqual([
      ['changed', 'confidence', 0.125, second.id],
      ['changed', 'status', 'closed', second.id],
      ['new', null, null, second.id],
      ['gone', null, null, second.id],
    ]);
    const counted = bench.sql(
      `SELECT count(*) AS n FROM ai_signals_changes AS one JOIN changes AS all_ ON all_.seq = one.seq AND all_.key = one._key`,
    );
    expect(counted).toEqual([{ n: lines.length }]);
  });

  test('fields that were found are named as in SQL, and every list has a view of its elements, under a free name', async () => {
    const bench = await setup({ rows: 30 });
    const { rows } = bench.upstream('news');
    for (const [at, row] of rows.entries())
      Object.assign(row as object, { history: [at, { deep: true }], when: { at: 'now' } });
    await bench.mirror('news');
    const views = bench.sql<{ name: string }>(
      `SELECT name FROM sqlite_master WHERE type = 'view' AND name LIKE 'news@_%' ESCAPE '@' ORDER BY name`,
    );
    expect(views.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'news_changes',
        'news_current',
        'news_history',
        'news_history_list',
        'news_symbols',
      ]),
    );
    expect(
      bench.sql('SELECT position, value FROM news_history_list ORDER BY _key, position LIMIT 2'),
    ).toEqual([
      { position: 0, value: expect.any(Number) },
      { position: 1, value: '{"deep":true}' },
    ]);
    const [first] = rows as { headline?: string }[];
    Object.assign(first ?? {}, { when: { at: 'later' }, late: ['a list that came later'] });
    await bench.mirror('news');
    expect(
      bench.sql(`SELECT "column", old, new FROM news_changes WHERE kind = 'changed' ORDER BY "column"`),
    ).toEqual([
      { column: 'late', old: null, new: '["a list that came later"]' },
      { column: 'when_at', old: 'now', new: 'later' },
    ]);
    expect(bench.sql('SELECT position, value FROM news_late')).toEqual([
      { position: 0, value: 'a list that came later' },
    ]);
    expect(bench.sql('SELECT count(*) AS n FROM news_current')).toEqual([{ n: 30 }]);
  });
});
