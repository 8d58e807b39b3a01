import { statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { retryRefused } from '../../src/mirror.ts';
import { change, publish, shuffle } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';

const SIGNALS = 'ai-signals';
const ROWS = 350;

const qualityOf = (bench: Bench, at: number) =>
  bench.upstream(SIGNALS).rows[at]?.['quality'] as Record<string, unknown>;
const idOf = (bench: Bench, at: number) => String(bench.upstream(SIGNALS).rows[at]?.['id']);

/** Rows upstream grow older: their volatile values move, and nothing else. */
function age(bench: Bench, seconds: number, ...rows: readonly number[]): void {
  const { rows: all } = bench.upstream(SIGNALS);
  for (const at of rows.length > 0 ? rows : all.keys())
    change(at, { quality: { ...qualityOf(bench, at), ageSeconds: seconds, freshness: 'stale' } })(
      bench.upstream(SIGNALS),
    );
  publishAgain(bench);
}

function publishAgain(bench: Bench): void {
  bench.clock.advance(60_000);
  publish(new Date(bench.clock.now()).toISOString())(bench.upstream(SIGNALS));
}

const shown = (bench: Bench, id: string) =>
  bench.sql<{ age: number }>('SELECT quality_age_seconds AS age FROM ai_signals WHERE id = ?', id)[0]?.age;
const agesShown = (bench: Bench) =>
  bench
    .sql<{ age: number }>('SELECT DISTINCT quality_age_seconds AS age FROM ai_signals')
    .map(({ age }) => age);
const staged = (bench: Bench) =>
  bench.sql<{ commits: number }>('SELECT count(*) AS commits FROM staged_volatile')[0]?.commits;

/** Walks until so many pages are saved, and ends there as where somebody stops it. */
async function stopAfter(bench: Bench, pages: number): Promise<void> {
  const stop = new AbortController();
  const far = ({ walk }: { walk: { pages: number } }) => {
    if (walk.pages >= pages) stop.abort(new Error('stopped'));
  };
  await expect(bench.mirror(SIGNALS, far, stop.signal)).rejects.toThrow('stopped');
}

async function setupMirrored() {
  const bench = await setup({ rows: ROWS });
  await bench.mirror(SIGNALS);
  return bench;
}

describe('volatile values that a walk brings', () => {
  it('are shown once it has ended, all of them, and nothing is kept beside them', async () => {
    const bench = await setupMirrored();
    age(bench, 5_000);
    shuffle(bench.upstream(SIGNALS));
    let during: number[] = [];
    expect(await bench.mirror(SIGNALS, () => (during = agesShown(bench)))).toMatchObject({ updated: 0 });
    expect(during).not.toContain(5_000);
    expect(agesShown(bench)).toEqual([5_000]);
    expect(staged(bench)).toBe(0);
  });

  it('write a fraction of what the rows take, in whatever order they come', async () => {
    const bench = await setup({ rows: 2_000, ample: true });
    await bench.mirror(SIGNALS);
    age(bench, 5_000);
    shuffle(bench.upstream(SIGNALS));
    bench.tamper('PRAGMA wal_checkpoint(TRUNCATE)');
    await bench.mirror(SIGNALS);
    expect(agesShown(bench)).toEqual([5_000]);
    expect(statSync(`${bench.store.file}-wal`).size / 2_000).toBeLessThan(125);
  });

  it('stay received where it is stopped, and are shown when it has gone on to its end', async () => {
    const bench = await setupMirrored();
    age(bench, 5_000);
    await stopAfter(bench, 2);
    expect(agesShown(bench)).not.toContain(5_000);
    expect(staged(bench)).toBeGreaterThan(0);
    bench.reopen();
    const calls = bench.model.calls.length;
    await bench.mirror(SIGNALS);
    expect(bench.model.calls.length - calls).toBe(2);
    expect(agesShown(bench)).toEqual([5_000]);
    expect(staged(bench)).toBe(0);
  });

  it.each([
    ['is given up', faults.members({ rows: 5 })],
    ['cannot go on', faults.refuse(503)],
  ])('are shown where it %s', async (_, fault) => {
    const bench = await setupMirrored();
    age(bench, 5_000);
    bench.model.faults = [when({ nth: [3, 4, 5, 6, 7, 8, 9] }, fault)];
    await expect(bench.mirror(SIGNALS)).rejects.toThrow();
    expect(shown(bench, idOf(bench, 150))).toBe(5_000);
    expect(shown(bench, idOf(bench, 250))).not.toBe(5_000);
    expect(staged(bench)).toBe(0);
  });

  it('are merged again where a crash came before the end of it', async () => {
    const bench = await setupMirrored();
    age(bench, 5_000);
    bench.tamper(
      `CREATE TRIGGER crash BEFORE DELETE ON staged_volatile BEGIN SELECT RAISE(ABORT, 'no'); END`,
    );
    await expect(bench.mirror(SIGNALS)).rejects.toThrow();
    bench.tamper('DROP TRIGGER crash');
    bench.reopen();
    age(bench, 6_000, 340);
    await bench.mirror(SIGNALS);
    expect(shown(bench, idOf(bench, 340))).toBe(6_000);
    expect(agesShown(bench).sort()).toEqual([5_000, 6_000]);
    expect(staged(bench)).toBe(0);
  });
});

describe('of several values of a row, the latest is shown', () => {
  it('where it is the one that was shown before', async () => {
    const bench = await setupMirrored();
    const [id, before] = [idOf(bench, 10), Number(qualityOf(bench, 10)['ageSeconds'])];
    age(bench, 5_000, 10);
    await stopAfter(bench, 1);
    age(bench, before, 10);
    // Another snapshot: the walk begins anew, and meets the row again.
    await bench.mirror(SIGNALS);
    expect(shown(bench, id)).toBe(before);
  });

  it('where it came with a version: that has its own, and the one before what was shown with it', async () => {
    const bench = await setupMirrored();
    const [id, before] = [idOf(bench, 10), Number(qualityOf(bench, 10)['ageSeconds'])];
    age(bench, 5_000, 10);
    await stopAfter(bench, 1);
    change(10, { action: 'changed' })(bench.upstream(SIGNALS));
    age(bench, 6_000, 10);
    await bench.mirror(SIGNALS);
    expect(shown(bench, id)).toBe(6_000);
    expect(bench.sql('SELECT quality_age_seconds AS age FROM ai_signals_history WHERE id = ?', id)).toEqual([
      { age: before },
    ]);
  });

  it('where a glance brought it beside an unfinished walk', async () => {
    const bench = await setupMirrored();
    age(bench, 5_000);
    await stopAfter(bench, 2);
    age(bench, 6_000, 10);
    await bench.glance(SIGNALS);
    expect(shown(bench, idOf(bench, 10))).toBe(6_000);
    expect(shown(bench, idOf(bench, 150))).toBe(5_000);
    await bench.mirror(SIGNALS);
    expect(shown(bench, idOf(bench, 10))).toBe(6_000);
    expect(shown(bench, idOf(bench, 340))).toBe(5_000);
  });

  it('where a refused row is let in by a retry', async () => {
    const bench = await setupMirrored();
    const id = idOf(bench, 10);
    const [row] = bench.sql<{ id: number }>(`SELECT max(id) AS id FROM walks`);
    const body = {
      ...bench.upstream(SIGNALS).rows[10],
      quality: { ...qualityOf(bench, 10), ageSeconds: 7_000 },
    };
    bench.tamper(`INSERT INTO quarantine (job, key, identity, body, problems, walk_id, first_seen_at, last_seen_at, times)
      VALUES ('${SIGNALS}', '${id}', '${id}', '${JSON.stringify(body).replaceAll("'", "''")}', '[]', ${row?.id}, '', '', 1)`);
    expect(retryRefused(bench.job(SIGNALS), bench.store)).toMatchObject({ mirrored: 1 });
    expect(shown(bench, id)).toBe(7_000);
  });
});

it('rows that leave take their volatile values along into the history', async () => {
  const bench = await setupMirrored();
  const id = idOf(bench, 10);
  age(bench, 5_000);
  await bench.mirror(SIGNALS);
  bench.upstream(SIGNALS).rows.splice(10, 1);
  for (let proof = 0; proof < 2; proof += 1) {
    publishAgain(bench);
    await bench.mirror(SIGNALS);
  }
  expect(bench.sql('SELECT quality_age_seconds AS age FROM ai_signals_history WHERE id = ?', id)).toEqual([
    { age: 5_000 },
  ]);
  const numbers = 'SELECT count(*) AS rows FROM ai_signals_volatile';
  expect(bench.sql(numbers)).toEqual([{ rows: ROWS - 1 }]);
});

it('the view is as good as a table: it counts without looking at volatile values, and finds by key within a join', async () => {
  const bench = await setupMirrored();
  const planOf = (sql: string) =>
    bench.sql<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => detail);
  expect(planOf('SELECT count(*) FROM ai_signals').join()).not.toContain('volatile');
  const joined = planOf('SELECT * FROM walks LEFT JOIN ai_signals ON _key = walks.job').join();
  expect(joined).toMatch(/SEARCH stored USING INDEX/);
  expect(joined).not.toMatch(/MATERIALIZE/);
  expect(
    bench.sql(`SELECT name, type FROM pragma_table_xinfo('ai_signals') WHERE name LIKE 'quality_%s%'`),
  ).toContainEqual({ name: 'quality_age_seconds', type: 'REAL' });
});
