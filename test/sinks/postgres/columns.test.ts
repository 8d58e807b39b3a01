import { expect, test } from 'vitest';
import { edit } from '../edit.ts';
import { expectEqual, setup, setupShipped } from './bench.ts';

type Bench = Awaited<ReturnType<typeof setup>>;

/** Gives the first news items these values, and mirrors them. */
async function publish({ model, clock, sync }: Bench, values: readonly unknown[]): Promise<void> {
  for (const [at, value] of values.entries())
    Object.assign(model.data.news.rows[at] ?? {}, { strength: value });
  await clock.sleep(400_000);
  await sync('news');
}

const typeOf = async ({ there }: Bench) =>
  (
    await there.query<{ type: string }>(
      `SELECT format_type(atttypid, atttypmod) AS type FROM pg_attribute
       WHERE attrelid = 'news'::regclass AND attname = 'strength'`,
    )
  )[0]?.type;

const strengths = async ({ there }: Bench) =>
  (
    await there.query<{ s: string }>(
      'SELECT strength::text AS s FROM news WHERE strength IS NOT NULL ORDER BY 1',
    )
  ).map(({ s }) => s);

/** Publishes those values in turn: each time the column is of that type, and holds those texts. */
async function expectSteps(bench: Bench, steps: readonly [unknown[], string, string[]][]): Promise<void> {
  for (const [values, type, found] of steps) {
    await publish(bench, values);
    expect((await bench.ship('news')).code).toBe(0);
    expect([await typeOf(bench), await strengths(bench)]).toEqual([type, found]);
  }
}

test('a field that is found later becomes a column, whose type widens with its values', async () => {
  const bench = await setup();
  await bench.sync('news');
  await bench.ship();
  expect(await typeOf(bench)).toBeUndefined();
  await expectSteps(bench, [
    [[true, false], 'boolean', ['false', 'true']],
    [[1, 2], 'text', ['1', '2']],
  ]);
});

test('a whole number becomes one with a part, then one with every digit', async () => {
  const bench = await setup();
  await expectSteps(bench, [
    [[7, 8], 'bigint', ['7', '8']],
    [[7.5, 8], 'double precision', ['7.5', '8']],
    [[9007199254740993000, 8.25], 'numeric', ['8.25', '9007199254740993000']],
  ]);
});

test('the times beside a field stay those of its texts when it gets other values, too', async () => {
  const bench = await setup();
  const times = async () =>
    await bench.there.query('SELECT strength AS text, strength_utc AS time FROM news ORDER BY _key LIMIT 3');
  const time = (day: number) => `2026-10-0${day}T02:00:00+02:00`;
  const shown = (day: number) => ({ text: time(day), time: new Date(Date.UTC(2026, 9, day)) });
  bench.model.data.news.rows.sort((one, other) => (String(one['id']) < String(other['id']) ? -1 : 1));
  await publish(bench, [time(1), time(2), time(3)]);
  await bench.ship('news');
  expect(await times()).toEqual([shown(1), shown(2), shown(3)]);
  await publish(bench, [time(1), 5.0, time(4)]);
  await bench.ship('news');
  expect(await times()).toEqual([shown(1), { text: '5', time: null }, shown(4)]);
  expect((await bench.ship('news', '--check')).code).toBe(0);
});

test('a column on which a view of somebody rests keeps its type, and is named; all else goes on, and no report waits for a lock', async () => {
  const bench = await setup();
  await publish(bench, [1, 2]);
  await bench.ship();
  await bench.there.query('CREATE VIEW theirs AS SELECT strength FROM news');
  await publish(bench, [1, 'strong']);
  edit(bench, 1);
  await bench.sync();
  await bench.there.query('BEGIN; LOCK TABLE news IN ACCESS SHARE MODE');
  const { code, stdout } = await bench.ship();
  expect([code, stdout]).toEqual([
    75,
    expect.stringMatching(/^news: .*news\.strength cannot be text: a view uses it$/m),
  ]);
  await bench.there.query('COMMIT');
  expect(await strengths(bench)).toEqual(['1']);
  await bench.there.query('DROP VIEW theirs');
  expect((await bench.ship()).code).toBe(0);
  expect(await strengths(bench)).toEqual(['1', 'strong']);
  await bench.sync();
  await bench.ship();
  await expectEqual(bench.file, bench.there);
});

test('a column of another type than ours, on which a view of somebody rests, gets its values all the same', async () => {
  const bench = await setup();
  await publish(bench, [1, 2]);
  await bench.ship();
  await bench.there.query(
    'DROP VIEW news_current; ALTER TABLE news ALTER COLUMN strength TYPE numeric USING NULL',
  );
  await bench.there.query('CREATE VIEW theirs AS SELECT strength FROM news');
  const { code, stdout } = await bench.ship('news');
  expect([code, stdout]).toEqual([75, expect.stringContaining('news.strength cannot be bigint')]);
  expect(await strengths(bench)).toEqual(['1', '2']);
});

test('a table or a column that somebody dropped there is made again, with all that was in it', async () => {
  const bench = await setupShipped();
  await bench.there.query('DROP TABLE news CASCADE');
  await bench.there.query('ALTER TABLE meme_signals DROP COLUMN _body CASCADE');
  expect((await bench.ship()).code).toBe(0);
  await expectEqual(bench.file, bench.there);
  expect((await bench.ship()).stdout).toMatch(/^news: nothing new/m);
});
