import { describe, expect, test } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import { lookBack } from '../../src/reading/query/as-of.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { keepFor, passDays } from './support.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** What the dataset held then, as `--as-of` and `changes` tell it. */
function lookAt(bench: Bench, time: string) {
  const connection = openReadOnly(bench.store.file);
  lookBack(connection, ['ai_signals'], time);
  const rows = connection.prepare('SELECT * FROM ai_signals ORDER BY _key').all();
  const changes = connection.prepare('SELECT * FROM main.changes WHERE at > ? ORDER BY seq, key').all(time);
  connection.close();
  return { rows, changes };
}

describe('history', () => {
  test('forgets what ended long ago; what is kept answers as before, and says where it begins', async () => {
    const bench = await setup({ rows: 6 });
    const job = bench.job('ai-signals');
    const upstream = bench.upstream('ai-signals');
    const moments: string[] = [];
    for (let day = 0; day < 8; day += 1) {
      Object.assign(upstream.rows[day % 3] ?? {}, { confidence: day / 100 });
      if (day === 2) upstream.rows.pop();
      upstream.generatedAt = isoTime(bench.clock.now());
      await bench.mirror('ai-signals');
      moments.push(isoTime(bench.clock.now() + 1_000));
      bench.clock.advance(DAY);
    }
    const before = new Map(moments.map((time) => [time, lookAt(bench, time)]));
    const versions = bench.sql('SELECT * FROM ai_signals_history').length;

    bench.store.prune(job, keepFor({}));
    expect(bench.sql('SELECT * FROM ai_signals_history')).toHaveLength(versions);
    bench.store.prune(job, keepFor({ history: 4 }));

    const left = bench.sql<{ _valid_to: string }>('SELECT _valid_to FROM ai_signals_history');
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(versions);
    const horizon = isoTime(bench.clock.now() - 4 * DAY);
    for (const { _valid_to } of left) expect(_valid_to > horizon).toBe(true);
    const [dataset] = bench.sql<{ from: string }>(
      `SELECT history_from AS "from" FROM _datasets WHERE job = 'ai-signals'`,
    );
    const from = dataset?.from ?? '';
    const told = moments.filter((time) => time >= from);
    expect(told.length).toBeGreaterThan(2);
    for (const time of told) expect(lookAt(bench, time)).toEqual(before.get(time));
    const forgotten = moments.filter((time) => time < from);
    expect(lookAt(bench, forgotten.at(-1) ?? '')).not.toEqual(before.get(forgotten.at(-1) ?? ''));
  });
});

test('much that is old goes at once, however much a walk changes', async () => {
  const bench = await setup({ rows: 1, walked: ['ai-signals'] });
  const versions = bench.sql<{ name: string }>(
    `SELECT name FROM pragma_table_info('_ai_signals_history_rows') WHERE name <> 'number'`,
  );
  const names = versions.map(({ name }) => name);
  const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10700)';
  const long = isoTime(bench.clock.now() - 100 * DAY);
  bench.tamper(
    `UPDATE _ai_signals_rows SET confidence = 0.5 - confidence, _changed_at = '${isoTime(bench.clock.now() + 1)}';
     ${numbers} INSERT INTO _ai_signals_history_rows (${names}) SELECT ${names} FROM _ai_signals_history_rows, n;
     ${numbers} INSERT INTO requests (at, job, url, ms, bytes) SELECT '${long}', 'old', '', 0, 0 FROM n`,
  );
  expect(bench.sql('SELECT count(*) AS rows FROM ai_signals_history')).toEqual([{ rows: 10_701 }]);
  bench.clock.advance(2 * DAY);
  await bench.mirror('usage');
  bench.clock.advance(DAY);
  bench.store.prune(bench.job('ai-signals'), keepFor({ history: 1, records: 90 }));
  expect(bench.sql('SELECT count(*) AS rows FROM ai_signals_history')).toEqual([{ rows: 0 }]);
  expect(bench.sql('SELECT job, count(*) AS calls FROM requests GROUP BY job')).toEqual([
    { job: 'ai-signals', calls: 1 },
    { job: 'usage', calls: 1 },
  ]);
});

describe('snapshots', () => {
  test('go when they are old, and the answers say so', async () => {
    const bench = await setup({ rows: 1 });
    for (let day = 0; day < 6; day += 1) {
      await bench.mirror('usage');
      bench.clock.advance(DAY);
    }
    const taken = bench.sql<{ at: string }>('SELECT _fetched_at AS at FROM usage ORDER BY at');
    // One that was refused, and fits when it is retried, comes behind those after it.
    bench.tamper(`UPDATE _usage_rows SET number = 100 WHERE _fetched_at = '${taken[1]?.at}'`);
    bench.store.prune(bench.job('usage'), keepFor({ history: 3.5 }));
    expect(bench.sql('SELECT _fetched_at AS at FROM usage ORDER BY at')).toEqual(taken.slice(-3));
    expect(bench.sql(`SELECT history_from AS "from" FROM _datasets WHERE job = 'usage'`)).toEqual([
      { from: taken[2]?.at },
    ]);
  });
});

describe('refused rows and differences', () => {
  const kept = (bench: Bench, table: string) => bench.sql(`SELECT * FROM ${table}`).length;

  test('go when they have been resolved, or not been seen, for long', async () => {
    const bench = await setup({ rows: 3 });
    const upstream = bench.upstream('ai-signals');
    const good = structuredClone(upstream.rows);
    Object.assign(upstream.rows[0] ?? {}, { confidence: 'high' });
    Object.assign(upstream.rows[1] ?? {}, { assetClass: 'unheard of' });
    await bench.mirror('ai-signals');
    const pruneAfter = async (days: number) => {
      passDays(bench, days);
      bench.store.prune(bench.job('ai-signals'), keepFor({ records: 90 }));
      return [kept(bench, 'quarantine'), kept(bench, 'drift')];
    };
    expect(await pruneAfter(89)).toEqual([1, 1]);
    expect(await pruneAfter(2)).toEqual([1, 0]);
    upstream.rows = good;
    await bench.mirror('ai-signals');
    expect(await pruneAfter(89)).toEqual([1, 0]);
    expect(await pruneAfter(2)).toEqual([0, 0]);
  });
});
