import { describe, expect, it } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { setup } from '../helpers/setup.ts';

const MINUTE = 60_000;

describe('the view freshness', () => {
  it('has one row for every dataset, also before its first walk', async () => {
    const bench = await setup({ rows: 3 });
    expect(bench.sql('SELECT * FROM freshness ORDER BY job')).toEqual(
      ['ai-signals', 'meme-signals', 'news', 'smart-wallets', 'usage'].map((job) => ({
        job,
        ...{ rows: 0, complete_as_of: null, age_seconds: null, verdict: null },
        ...{ status: 'never', last_error: null, next_due_at: null },
      })),
    );
  });

  it('counts from when the last walk that proved anything began, and shows how the latest stands', async () => {
    const bench = await setup({ rows: 3 });
    const proven = new Date(bench.clock.now()).toISOString();
    await bench.mirror('news');
    bench.clock.advance(MINUTE);
    bench.model.faults = [when({ nth: 1 }, faults.duplicateRow())];
    expect((await bench.mirror('news')).verdict).toBe('union');
    bench.store.keepNextDue('news', bench.clock.now() + MINUTE);
    const next = new Date(bench.clock.now() + MINUTE).toISOString();
    expect(bench.sql(`SELECT * FROM freshness WHERE job = 'news'`)).toMatchObject([
      { rows: 3, complete_as_of: proven, verdict: 'verified', status: 'complete', next_due_at: next },
    ]);
    bench.model.faults = [when({}, faults.members({ rows: 5 }))];
    await expect(bench.mirror('news')).rejects.toMatchObject({ kind: 'contract' });
    expect(bench.sql(`SELECT status, last_error, complete_as_of FROM freshness WHERE job = 'news'`)).toEqual([
      { status: 'failed', last_error: expect.stringContaining('broke its contract'), complete_as_of: proven },
    ]);
  });

  it.each([
    [600, 600],
    [0, 0],
    // Rounding, or another process that read the clock first.
    [-1, 0],
    // Ahead: nobody knows how old it is, and a negative age would pass for fresh.
    [-3, null],
    [-3 * 86_400, null],
  ])('says the age in seconds as of when it is asked: of a walk %s s ago, %s', async (ago, expected) => {
    const bench = await setup({ rows: 3 });
    await bench.mirror('usage');
    bench.tamper(`UPDATE walks SET started_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '${-ago} seconds')`);
    const [row] = bench.sql<{ age: number | null; passes: number | null }>(
      `SELECT age_seconds AS age, age_seconds < 599 AS passes FROM freshness WHERE job = 'usage'`,
    );
    if (expected === null) expect(row).toEqual({ age: null, passes: null });
    else expect(Math.abs((row?.age ?? Number.NaN) - expected)).toBeLessThan(1);
  });
});
