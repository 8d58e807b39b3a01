import { expect, test } from 'vitest';
import { edit } from '../edit.ts';
import { expectEqual, type setup, setupShipped } from './bench.ts';

type Bench = Awaited<ReturnType<typeof setup>>;

/** A trigger of somebody on the table of news that does so with each row that comes. */
async function putTrigger({ there }: Bench, body: string, when = 'BEFORE INSERT OR UPDATE'): Promise<void> {
  await there.query(
    `CREATE OR REPLACE FUNCTION public.theirs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$`,
  );
  await there.query(`CREATE TRIGGER theirs ${when} ON news FOR EACH ROW EXECUTE FUNCTION public.theirs()`);
}

const dropTrigger = ({ there }: Bench) => there.query('DROP TRIGGER theirs ON news');

async function publish({ model, clock, sync }: Bench, headline: string): Promise<void> {
  const { rows } = model.data.news;
  rows.unshift({ ...rows[0], id: `n-${headline}`, headline });
  await clock.sleep(400_000);
  await sync('news');
}

test('rows that a trigger drops, alters or keeps from going are missed by ship or --verify itself: 75, and the table is named', async () => {
  const bench = await setupShipped();
  await putTrigger(bench, 'RETURN NULL;');
  await publish(bench, 'of today');
  edit(bench, 1);
  await bench.sync('ai-signals');
  const { code, stdout } = await bench.ship();
  expect(code).toBe(75);
  expect(stdout).toMatch(/^news: Postgres .*: the table news took 0 of 1 row: a trigger or rule/m);
  expect(stdout).toMatch(/^ai-signals: \d+ changes? sent/m);
  expect((await bench.ship('news', '--verify')).code).toBe(75);
  await dropTrigger(bench);
  expect((await bench.ship('news')).code).toBe(0);
  await expectEqual(bench.file, bench.there);

  // What was loaded anew is compared again.
  await putTrigger(bench, `NEW.headline = 'theirs'; RETURN NEW;`);
  await publish(bench, 'of tomorrow');
  await bench.ship('news');
  for (let round = 0; round < 2; round += 1) {
    const { code, stdout } = await bench.ship('news', '--verify');
    expect([code, stdout]).toEqual([
      75,
      expect.stringMatching(
        /^news: Postgres .*: the table news still differs after it was loaded anew: a trigger or rule/m,
      ),
    ]);
  }
  await dropTrigger(bench);
  expect((await bench.ship('news', '--verify')).stdout).toMatch(
    /^news: loaded anew news \(some of \d+ rows with other values\)/m,
  );
  await expectEqual(bench.file, bench.there);

  await putTrigger(bench, 'RETURN NULL;', 'BEFORE DELETE');
  await bench.there.query(`UPDATE news SET _number = 4711 WHERE _number = (SELECT min(_number) FROM news)`);
  expect(await bench.ship('news', '--verify')).toMatchObject({
    code: 75,
    stdout: expect.stringContaining('the table news still differs'),
  });
  await dropTrigger(bench);
  expect((await bench.ship('news', '--verify')).code).toBe(0);
  await expectEqual(bench.file, bench.there);
});

test('a column of somebody that has a default takes nothing from what is shipped', async () => {
  const bench = await setupShipped();
  await bench.there.query('ALTER TABLE news ADD COLUMN mine integer NOT NULL DEFAULT 7');
  await publish(bench, 'of today');
  expect((await bench.ship('news')).code).toBe(0);
  expect(await bench.there.query(`SELECT mine FROM news WHERE headline = 'of today'`)).toEqual([{ mine: 7 }]);
  await bench.there.query('ALTER TABLE news ALTER COLUMN mine DROP DEFAULT');
  await publish(bench, 'of tomorrow');
  const { code, stdout } = await bench.ship('news');
  expect([code, stdout]).toEqual([
    75,
    expect.stringMatching(
      /^news: .*a constraint that was added there refuses them.*column "mine" of relation "news"/m,
    ),
  ]);
});

test('a primary key that somebody dropped is made again, also where rows doubled meanwhile', async () => {
  const bench = await setupShipped();
  await bench.there.query('ALTER TABLE news DROP CONSTRAINT news_pkey');
  await bench.there.query('ALTER TABLE walks DROP CONSTRAINT walks_pkey');
  await publish(bench, 'of today');
  expect((await bench.ship()).code).toBe(0);
  await expectEqual(bench.file, bench.there);
  await bench.there.query('ALTER TABLE news DROP CONSTRAINT news_pkey');
  await bench.there.query(`INSERT INTO news SELECT * FROM news; UPDATE news SET headline = 'x' WHERE ctid =
    (SELECT max(ctid) FROM news)`);
  await publish(bench, 'of tomorrow');
  expect((await bench.ship('news')).code).toBe(0);
  await expectEqual(bench.file, bench.there);
  const keys = await bench.there.query<{ name: string }>(
    `SELECT conrelid::regclass::text AS name FROM pg_constraint
     WHERE contype = 'p' AND conrelid IN ('news'::regclass, 'walks'::regclass) ORDER BY 1`,
  );
  expect(keys.map(({ name }) => name)).toEqual(['news', 'walks']);
});

test('a column whose type somebody has changed, and on which a view rests, is named; all else goes on', async () => {
  const bench = await setupShipped();
  await bench.there.query(
    'DROP VIEW news_current; ALTER TABLE news ALTER COLUMN author TYPE integer USING NULL',
  );
  await bench.there.query('CREATE VIEW theirs AS SELECT author FROM news');
  await publish(bench, 'of today');
  const { code, stdout } = await bench.ship('news');
  expect([code, stdout]).toEqual([75, expect.stringContaining('news.author cannot be text')]);
  await bench.there.query('DROP VIEW theirs');
  expect((await bench.ship('news')).code).toBe(0);
  await expectEqual(bench.file, bench.there);
});

test('a search path that another sets for the session meanwhile, as behind a pooler, takes no row elsewhere', async () => {
  const bench = await setupShipped();
  await bench.there.query(
    `CREATE FUNCTION public.theirs() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM set_config('search_path', 'public', false); RETURN NULL; END $$;
     CREATE CONSTRAINT TRIGGER theirs AFTER UPDATE ON _positions DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION public.theirs()`,
  );
  await publish(bench, 'of today');
  edit(bench, 1);
  await bench.sync('ai-signals');
  await bench.there.query('DROP VIEW freshness');
  expect((await bench.ship('ai-signals', 'news')).code).toBe(0);
  expect((await bench.ship('--check')).code).toBe(0);
  await expectEqual(bench.file, bench.there);
  expect(await bench.there.query('SELECT * FROM freshness')).not.toEqual([]);
});

test('what Postgres says of a value is never printed', async () => {
  const bench = await setupShipped();
  await bench.there.query('TRUNCATE news');
  await bench.there.query('CREATE INDEX theirs ON news ((headline::int))');
  await publish(bench, 'a private headline');
  const index = await bench.ship('news');
  expect(index.code).not.toBe(0);
  expect(index.stdout).toMatch(/^news: .*\(22P02\)/m);
  await bench.there.query('DROP INDEX theirs');
  await putTrigger(bench, `RAISE EXCEPTION 'terminated: no % here', NEW.headline;`);
  const trigger = await bench.ship('news');
  expect(trigger.code).not.toBe(0);
  expect(trigger.stdout).toMatch(/^news: .*a trigger or function that was added there.*\(P0001\)/m);
  for (const { stdout, stderr } of [index, trigger]) {
    expect(stdout + stderr).not.toContain('private');
    expect(stdout.split('\n').filter((line) => line.startsWith('news:'))).toHaveLength(1);
  }
});
