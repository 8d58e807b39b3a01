import { describe, expect, it } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { isoTime } from '../../src/base/clock.ts';
import { openStore } from '../../src/store.ts';
import { change, insert, remove } from '../helpers/edits.ts';
import { noteGlance } from '../helpers/glance-row.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';

const MINUTE = 60_000;

describe('the view freshness', () => {
  it('has one row for every dataset, also before its first walk', async () => {
    const bench = await setup({ rows: 3 });
    expect(bench.sql('SELECT * FROM freshness ORDER BY job')).toEqual(
      ['ai-signals', 'meme-signals', 'news', 'smart-wallets', 'usage'].map((job) => ({
        job,
        ...{ rows: 0, held: 0, complete_as_of: null, age_seconds: null, verdict: null },
        ...{ status: 'never', last_error: null, next_due_at: null },
        ...{ seen_as_of: null, seen_age_seconds: null },
      })),
    );
  });

  it('counts from when the last walk that proved anything began, and shows how the latest stands', async () => {
    const bench = await setup({ rows: 3 });
    const proven = new Date(bench.clock.now()).toISOString();
    await bench.mirror('news');
    bench.clock.advance(MINUTE);
    bench.model.faults = [when({ nth: 1 }, faults.returnedOff(1))];
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
});

describe('what freshness says was seen', () => {
  const seenOf = (bench: Bench, job = 'news') =>
    bench.sql(
      'SELECT complete_as_of, verdict, status, last_error, seen_as_of FROM freshness WHERE job = ?',
      job,
    )[0];

  it('is as of when the latest look at the head began, whether walk or glance, proof or not', async () => {
    const bench = await setup({ rows: 250 });
    const time = () => isoTime(bench.clock.now());
    const proven = time();
    await bench.mirror('news');
    expect(seenOf(bench)).toMatchObject({ complete_as_of: proven, seen_as_of: proven });
    bench.clock.advance(MINUTE);
    insert(0)(bench.upstream('news'));
    expect(await bench.glance('news')).toMatchObject({ kind: 'glance', inserted: 1 });
    expect(seenOf(bench)).toMatchObject({ complete_as_of: proven, verdict: 'verified', seen_as_of: time() });
    expect(seenOf(bench, 'ai-signals')).toMatchObject({ seen_as_of: null });
    bench.clock.advance(MINUTE);
    bench.model.faults = [when({ nth: 1 }, faults.returnedOff(1))];
    expect((await bench.mirror('news')).verdict).toBe('union');
    expect(seenOf(bench)).toMatchObject({ complete_as_of: proven, seen_as_of: time() });
  });

  it('is no later than what was seen: a look that has not ended well does not count', async () => {
    const bench = await setup({ rows: 3 });
    const seen = isoTime(bench.clock.now());
    await bench.mirror('news');
    for (const status of ['running', 'waiting', 'failed'] as const) {
      bench.clock.advance(MINUTE);
      noteGlance(bench, { job: 'news', status });
      expect(seenOf(bench)).toMatchObject({ seen_as_of: seen });
    }
  });

  it.each([
    [600, 600],
    [-1, 0],
    [-3, null],
  ])('of a look %s s ago has an age of %s s, and none where the clock was ahead', async (ago, expected) => {
    const bench = await setup({ rows: 3, walked: ['news'] });
    const startedAt = Date.now() - ago * 1_000;
    noteGlance(bench, { job: 'news', startedAt });
    const [row] = bench.sql<{ at: string | null; age: number | null }>(
      `SELECT seen_as_of AS at, seen_age_seconds AS age FROM freshness WHERE job = 'news'`,
    );
    expect(row?.at).toBe(expected === null ? null : isoTime(startedAt));
    if (expected === null) expect(row?.age).toBeNull();
    else expect(Math.abs((row?.age ?? Number.NaN) - expected)).toBeLessThan(1);
  });
});

/** What the mirror said at a time: the version valid then. */
const asOf = (bench: Bench, table: string, column: string, at: string) =>
  bench
    .sql(
      `SELECT ${column} AS value FROM ${table} WHERE _changed_at <= ? UNION ALL
       SELECT ${column} FROM ${table}_history WHERE _valid_from <= ? AND _valid_to > ?`,
      ...[at, at, at],
    )
    .map(({ value }) => value);

describe.each(['ai-signals', 'meme-signals'])('the history of %s', (job) => {
  const table = job.replace('-', '_');

  it('holds every superseded and removed version, each from one change to the next', async () => {
    // As many as it takes to find a key that is no id.
    const bench = await setup({ rows: 20 });
    const { idField } = bench.upstream(job);
    const field = job === 'ai-signals' ? 'status' : 'note';
    const column = job === 'ai-signals' ? 'status' : `json_extract(_body, '$.${field}')`;
    const times: string[] = [];
    for (const value of ['first', 'second', 'third']) {
      change(1, { [field]: value })(bench.upstream(job));
      bench.clock.advance(MINUTE);
      await bench.mirror(job);
      times.push(new Date(bench.clock.now()).toISOString());
    }
    const key = String(bench.upstream(job).rows[1]?.[idField]);
    remove(1)(bench.upstream(job));
    for (let proof = 0; proof < 2; proof += 1) {
      bench.clock.advance(MINUTE);
      await bench.mirror(job);
    }
    times.push(new Date(bench.clock.now()).toISOString());

    const versions = bench.sql(
      `SELECT ${column} AS value, _valid_from, _valid_to, _ended_by, _first_seen_at FROM ${table}_history WHERE _key = ? ORDER BY _valid_from`,
      key,
    );
    expect(versions).toMatchObject([
      { value: 'first', _ended_by: 'update' },
      { value: 'second', _ended_by: 'update' },
      { value: 'third', _ended_by: 'delete' },
    ]);
    const [one, two, three] = versions;
    expect([two?.['_valid_from'], three?.['_valid_from']]).toEqual([one?.['_valid_to'], two?.['_valid_to']]);
    expect(new Set(versions.map((version) => version['_first_seen_at'])).size).toBe(1);
    expect(bench.sql(`SELECT * FROM ${table} WHERE _key = ?`, key)).toEqual([]);
    const then = times.map((at) =>
      asOf(bench, table, column, at).find((value) => /^(fir|seco|thi)/.test(String(value))),
    );
    expect(then).toEqual(['first', 'second', 'third', undefined]);
  });
});

describe('columns that change while their record does not', () => {
  it('are kept current and make no version, alone or with nothing else', async () => {
    const bench = await setup({ rows: 3, walked: ['ai-signals'] });
    const [row] = bench.upstream('ai-signals').rows;
    const age = (ageSeconds: number, freshness: string) =>
      change(0, { quality: { ...(row?.['quality'] as object), ageSeconds, freshness } })(
        bench.upstream('ai-signals'),
      );
    age(5_000, 'stale');
    expect(await bench.mirror('ai-signals')).toMatchObject({ updated: 0 });
    const shown = () =>
      bench.sql(
        'SELECT quality_age_seconds AS age, quality_freshness AS freshness FROM ai_signals WHERE _key = ?',
        String(row?.['id']),
      );
    expect(shown()).toEqual([{ age: 5_000, freshness: 'stale' }]);
    expect(bench.sql('SELECT * FROM ai_signals_history')).toEqual([]);
    change(0, { status: 'closed' })(bench.upstream('ai-signals'));
    await bench.mirror('ai-signals');
    expect(bench.sql('SELECT quality_age_seconds AS age FROM ai_signals_history')).toEqual([{ age: 5_000 }]);
  });
});

it('opening a mirror again changes nothing in its schema', async () => {
  const bench = await setup({ rows: 3, walked: ['news'] });
  const version = () => bench.sql('PRAGMA schema_version');
  const before = version();
  bench.reopen();
  expect(version()).toEqual(before);
});

it('a view that no job declares any longer goes, and one that a user made stays', async () => {
  const bench = await setup({ rows: 3 });
  const views = () => bench.sql("SELECT name FROM sqlite_master WHERE type = 'view'").map(({ name }) => name);
  bench.tamper('CREATE VIEW mine AS SELECT count(*) AS rows FROM news');
  const before = views();
  const sql = 'SELECT count(*) AS rows FROM news';
  const more = bench.jobs.map((job) =>
    job.name === 'news'
      ? { ...job, views: [...job.views, { name: 'news "counted"', about: 'How many.', sql, example: sql }] }
      : job,
  );
  openStore(bench.dir, more, bench.clock.now).close();
  expect(new Set(views())).toEqual(new Set([...before, 'news "counted"']));
  openStore(bench.dir, bench.jobs, bench.clock.now).close();
  expect(new Set(views())).toEqual(new Set(before));
  expect(bench.sql('SELECT rows FROM mine')).toEqual([{ rows: 0 }]);
});
