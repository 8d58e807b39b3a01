import { describe, expect, test } from 'vitest';
import { edit } from '../edit.ts';
import { expectEqual, setup } from './bench.ts';

type Bench = Awaited<ReturnType<typeof setup>>;

const qualities = ({ data }: Bench['model']) =>
  data.aiSignals.rows.map((row) => row['quality'] as { ageSeconds: number });

/** The same signals, each a minute older. */
async function age({ model, clock, sync }: Bench): Promise<void> {
  for (const quality of qualities(model)) quality.ageSeconds += 60;
  model.data.aiSignals.generatedAt = new Date(clock.now()).toISOString();
  await clock.sleep(200_000);
  await sync('ai-signals');
}

test('values that make no version arrive with the walk, and no row is written anew for them', async () => {
  const bench = await setup(12);
  await bench.sync();
  await bench.ship();
  const written = () => bench.there.query('SELECT _key, xmin::text FROM ai_signals_rows ORDER BY _key');
  const before = await written();
  await age(bench);
  expect((await bench.ship()).stdout).toMatch(/^ai-signals: nothing new/m);
  await expectEqual(bench.file, bench.there);
  expect(await written()).toEqual(before);
  const [oldest] = await bench.there.query<{ age: number }>(
    'SELECT max(quality_age_seconds) AS age FROM ai_signals',
  );
  expect(oldest?.age).toBe(Math.max(...qualities(bench.model).map(({ ageSeconds }) => ageSeconds)));
});

test('such values of a row that came arrive with it', async () => {
  const bench = await setup(12);
  await bench.sync();
  await bench.ship();
  const { rows } = bench.model.data.aiSignals;
  rows.push({ ...rows[0], id: 'of today' });
  edit(bench, 1);
  await bench.clock.sleep(200_000);
  await bench.sync('ai-signals');
  await bench.ship();
  await expectEqual(bench.file, bench.there);
  const came = await bench.there.query(
    `SELECT 1 FROM ai_signals WHERE id = 'of today' AND quality_age_seconds IS NOT NULL`,
  );
  expect(came.length).toBe(1);
});

test('a value that somebody changed there is found and mended, and the view is made again where it is gone', async () => {
  const bench = await setup(12);
  await bench.sync();
  await bench.ship();
  await bench.there.query('UPDATE ai_signals_volatile SET quality_age_seconds = -1');
  await bench.there.query('DROP VIEW ai_signals CASCADE');
  expect((await bench.ship('--verify')).stdout).toMatch(
    /^ai-signals: mended ai_signals_volatile \(12 with other values: /m,
  );
  await expectEqual(bench.file, bench.there);
});

describe('a schema of the first version, whose rows hold those values themselves', () => {
  test('becomes one of this version, with the views that rest on it', async () => {
    const bench = await setup(12);
    await bench.sync();
    await bench.ship();
    await putBack(bench);
    await bench.there.query('CREATE VIEW theirs AS SELECT id, status FROM ai_signals');
    edit(bench, 1);
    await age(bench);
    const { code, stdout } = await bench.ship();
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^ai-signals: mended /m)]);
    await expectEqual(bench.file, bench.there);
    expect((await bench.there.query('SELECT * FROM theirs')).length).toBe(12);
    expect((await bench.there.query('SELECT * FROM ai_signal_reason_codes')).length).toBeGreaterThan(0);
    expect((await bench.ship()).stdout).toMatch(/^ai-signals: nothing new/m);
    expect(await columns(bench, 'ai_signals_rows')).not.toContain('quality_age_seconds');
  });

  test('stays as it is while views of somebody rest on those values, and they are named', async () => {
    const bench = await setup(12);
    await bench.sync();
    await bench.ship();
    await putBack(bench);
    await bench.there.query('CREATE VIEW theirs AS SELECT * FROM ai_signals');
    expect(await bench.ship()).toMatchObject({ code: 75, stderr: expect.stringContaining('view theirs') });
    expect(await columns(bench, 'ai_signals_rows')).toEqual([]);
    await bench.there.query('DROP VIEW theirs');
    expect((await bench.ship()).code).toBe(0);
    await expectEqual(bench.file, bench.there);
  });
});

const columns = async ({ there }: Bench, table: string) =>
  (
    await there.query<{ name: string }>(
      'SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped',
      [table],
    )
  ).map(({ name }) => name);

/** Makes of it what the first version had made, the views of ours with it. */
async function putBack({ there }: Bench): Promise<void> {
  const views = await there.query<{ name: string; sql: string }>(
    `SELECT relname AS name, obj_description(oid, 'pg_class') AS sql FROM pg_class
     WHERE relnamespace = 'market_mirror'::regnamespace AND relkind = 'v' AND relname <> 'ai_signals'`,
  );
  await there.query(
    `CREATE TABLE old AS SELECT * FROM ai_signals; DROP VIEW ai_signals CASCADE;
     DROP TABLE ai_signals_rows, ai_signals_volatile; ALTER TABLE old RENAME TO ai_signals;
     ALTER TABLE ai_signals ADD PRIMARY KEY (_key); UPDATE _mirror SET version = 1;
     UPDATE _places SET shape = 'of the first version'`,
  );
  for (const { name, sql } of views) {
    await there.query(`CREATE OR REPLACE VIEW ${name} AS ${sql}`);
    await there.query(`COMMENT ON VIEW ${name} IS '${sql.replaceAll("'", "''")}'`);
  }
}
