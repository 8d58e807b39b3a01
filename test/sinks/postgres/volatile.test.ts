import { expect, test } from 'vitest';
import { edit } from '../edit.ts';
import { expectEqual, type setup, setupShipped } from './bench.ts';

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

test('values that make no version arrive with the walk, and with a row that came; no row is written anew for them', async () => {
  const bench = await setupShipped();
  const written = () => bench.there.query('SELECT _key, xmin::text FROM _ai_signals_rows ORDER BY _key');
  const before = await written();
  await age(bench);
  expect((await bench.ship('ai-signals')).stdout).toMatch(/^ai-signals: nothing new/m);
  await expectEqual(bench.file, bench.there);
  expect(await written()).toEqual(before);
  const [oldest] = await bench.there.query<{ age: number }>(
    'SELECT max(quality_age_seconds) AS age FROM ai_signals',
  );
  expect(oldest?.age).toBe(Math.max(...qualities(bench.model).map(({ ageSeconds }) => ageSeconds)));
  const { rows } = bench.model.data.aiSignals;
  rows.push({ ...rows[0], id: 'of today' });
  edit(bench, 1);
  await bench.clock.sleep(200_000);
  await bench.sync('ai-signals');
  await bench.ship('ai-signals');
  await expectEqual(bench.file, bench.there);
  const came = await bench.there.query(
    `SELECT 1 FROM ai_signals WHERE id = 'of today' AND quality_age_seconds IS NOT NULL`,
  );
  expect(came.length).toBe(1);
});

test('a value that somebody changed there is put back by --verify, and the view is made again where it is gone', async () => {
  const bench = await setupShipped();
  await bench.there.query('UPDATE _ai_signals_volatile SET quality_age_seconds = -1');
  await bench.there.query('DROP VIEW ai_signals CASCADE');
  expect((await bench.ship('ai-signals', '--verify')).code).toBe(0);
  await expectEqual(bench.file, bench.there);
});
