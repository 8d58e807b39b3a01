import { describe, expect, it } from 'vitest';
import { change, editBefore } from '../helpers/edits.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, upstreamRows } from '../helpers/truth.ts';

const ROWS = 250;

describe('a page', () => {
  // The walk's place, the rows met and the call are written last, in this order or another.
  it.each(['UPDATE OF next_offset ON walks', 'INSERT ON rows_met', 'INSERT ON requests'])(
    'is saved with its place or not at all: a failure at %s leaves no row of it',
    async (write) => {
      const bench = await setup({ rows: ROWS });
      editBefore(bench, 'news', {
        2: () =>
          bench.tamper(`CREATE TRIGGER disk_fails BEFORE ${write} BEGIN SELECT raise(ABORT, 'disk'); END`),
      });
      await expect(bench.mirror('news')).rejects.toThrow('disk');
      expect(mirroredRows(bench, 'news').size).toBe(100);
      expect(bench.sql('SELECT next_offset, distinct_keys FROM walks')).toEqual([
        { next_offset: 100, distinct_keys: 100 },
      ]);

      bench.tamper('DROP TRIGGER disk_fails');
      expect(await bench.mirror('news')).toMatchObject({
        verdict: 'verified',
        rows: ROWS,
        distinctKeys: ROWS,
      });
      expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
    },
  );

  it('that cannot be saved takes nothing of itself along when the pages before it are', async () => {
    const bench = await setup({ rows: ROWS });
    await bench.mirror('news');
    change(150, { headline: 'corrected' })(bench.upstream('news'));
    bench.tamper(
      `CREATE TRIGGER disk_fails BEFORE UPDATE ON news_rows BEGIN SELECT raise(ABORT, 'disk'); END`,
    );
    await expect(bench.mirror('news')).rejects.toThrow('disk');
    bench.tamper('DROP TRIGGER disk_fails');
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', updated: 1, anomalies: '{}' });
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
  });

  it('writes no row that did not change', async () => {
    const bench = await setup({ rows: ROWS });
    await bench.mirror('news');
    bench.tamper(
      `CREATE TRIGGER written AFTER UPDATE ON news_rows BEGIN SELECT raise(ABORT, 'written'); END`,
    );
    expect(await bench.mirror('news')).toMatchObject({ inserted: 0, updated: 0, verdict: 'verified' });
  });

  it('keeps the row as it was in the history, from one change to the next', async () => {
    const bench = await setup({ rows: ROWS });
    const times: string[] = [];
    for (const headline of ['first', 'second', 'third']) {
      change(20, { headline })(bench.upstream('news'));
      bench.clock.advance(60_000);
      times.push(new Date(bench.clock.now()).toISOString());
      await bench.mirror('news');
    }
    const versions = bench.sql(
      `SELECT _body ->> 'headline' AS headline, _valid_from, _valid_to, _ended_by, _first_seen_at FROM news_history`,
    );
    expect(versions).toEqual([
      {
        headline: 'first',
        _valid_from: times[0],
        _valid_to: times[1],
        _ended_by: 'update',
        _first_seen_at: times[0],
      },
      {
        headline: 'second',
        _valid_from: times[1],
        _valid_to: times[2],
        _ended_by: 'update',
        _first_seen_at: times[0],
      },
    ]);
  });

  it('keeps volatile columns current without a version', async () => {
    const bench = await setup({ rows: ROWS });
    await bench.mirror('ai-signals');
    const { rows } = bench.upstream('ai-signals');
    const quality = { ...Object(rows[120]?.['quality']), ageSeconds: 77_777, freshness: 'stale' };
    change(120, { quality })(bench.upstream('ai-signals'));
    bench.upstream('ai-signals').generatedAt = '2026-01-02T03:04:05Z';
    const before = bench.table('ai_signals').get(String(rows[120]?.['id']));
    expect(await bench.mirror('ai-signals')).toMatchObject({ inserted: 0, updated: 0 });
    expect(bench.table('ai_signals').get(String(rows[120]?.['id']))).toEqual({
      ...before,
      quality_age_seconds: 77_777,
      quality_freshness: 'stale',
    });
    expect(bench.sql('SELECT * FROM ai_signals_history')).toEqual([]);
  });
});
