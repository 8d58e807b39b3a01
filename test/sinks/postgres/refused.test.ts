import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expectEqual, setup, setupMirrored } from './bench.ts';

type Bench = Awaited<ReturnType<typeof setup>>;

/** Asks as the owner of everything, in another database if one is named. */
async function asOwner({ there }: Bench, sql: string, database = there.database): Promise<void> {
  const client = new pg.Client({ host: there.folder, user: 'postgres', database });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** The address for a user that may do nothing yet. */
async function userOf(bench: Bench): Promise<{ name: string; url: string }> {
  const name = `few_${bench.there.database}`;
  await asOwner(bench, `CREATE ROLE ${name} LOGIN`);
  onTestFinished(() => asOwner(bench, `DROP OWNED BY ${name}; DROP ROLE ${name}`));
  return { name, url: bench.there.url.replace('user=postgres', `user=${name}`) };
}

const line = (text: unknown) => expect.stringMatching(new RegExp(`^market-mirror: .*${text}.*\\n$`));

describe('a user of few rights', () => {
  test('that may not make the schema is told what it takes, and nothing is made', async () => {
    const bench = await setup();
    await bench.sync('usage');
    const { url } = await userOf(bench);
    expect(await bench.run(['ship'], { MIRROR_SHIP: url })).toMatchObject({
      code: 75,
      stderr: line('it takes CREATE and TEMPORARY on the database.*permission denied for database'),
    });
    expect(await bench.there.query(`SELECT 1 FROM pg_namespace WHERE nspname = 'market_mirror'`)).toEqual([]);
  });

  test('that owns the schema and nothing else ships all of it, but makes no role', async () => {
    const bench = await setupMirrored();
    const { name, url } = await userOf(bench);
    await asOwner(bench, `CREATE SCHEMA market_mirror AUTHORIZATION ${name}`);
    expect((await bench.run(['ship'], { MIRROR_SHIP: url })).code).toBe(0);
    await expectEqual(bench.file, bench.there);
    expect(await bench.run(['ship', 'ai-signals', '--verify'], { MIRROR_SHIP: url })).toMatchObject({
      code: 0,
    });
    for (const [form, shipped] of [
      [[], /^ai-signals: nothing new, up to change \d+$/m],
      [['--json'], /^ {4}"job": "ai-signals",$/m],
    ] as const)
      expect(
        await bench.run(['ship', 'ai-signals', '--reader', `r_${name}`, ...form], { MIRROR_SHIP: url }),
      ).toEqual({
        code: 75,
        stdout: expect.stringMatching(shipped),
        stderr: line('permission denied to create role'),
      });
  });
});

test('a disk that is full costs the dataset that it hit, which comes once there is room', async () => {
  const bench = await setupMirrored();
  await bench.ship('usage', 'ai-signals');
  await asOwner(
    bench,
    `CREATE FUNCTION public.full_disk() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
     CREATE FUNCTION public.fill() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
       IF to_regclass('market_mirror.news') IS NOT NULL AND NOT EXISTS
         (SELECT 1 FROM pg_trigger WHERE tgname = 'full_disk' AND tgrelid = to_regclass('market_mirror.news')) THEN
         CREATE TRIGGER full_disk BEFORE INSERT ON market_mirror.news FOR EACH STATEMENT
           EXECUTE FUNCTION public.full_disk(); END IF; END $$;
     CREATE EVENT TRIGGER fill ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION public.fill()`,
  );
  const { code, stdout } = await bench.ship();
  expect([code, stdout]).toEqual([
    74,
    expect.stringMatching(/^news: .*no room left on its disk \(53100\)$/m),
  ]);
  expect(stdout).toMatch(/^meme-signals: 12 rows sent/m);
  expect(await bench.there.query(`SELECT to_regclass('news') AS news`)).toEqual([{ news: null }]);
  await asOwner(bench, 'DROP EVENT TRIGGER fill');
  expect((await bench.ship()).code).toBe(0);
  await expectEqual(bench.file, bench.there);
});

test('a server that is too old is named, with its version', async () => {
  const bench = await setup();
  await bench.sync('usage');
  await asOwner(
    bench,
    `CREATE SCHEMA old; CREATE FUNCTION old.current_setting(text) RETURNS text LANGUAGE sql AS
       $$ SELECT CASE $1 WHEN 'server_version_num' THEN '130022' WHEN 'server_version' THEN '13.22'
          ELSE pg_catalog.current_setting($1) END $$;
     ALTER DATABASE ${bench.there.database} SET search_path = old, pg_catalog`,
  );
  expect(await bench.ship()).toMatchObject({
    code: 74,
    stderr: line('is version 13.22, which is too old: it takes 14 or newer'),
  });
});

test('a database whose text is not UTF8 is named, with what it keeps', async () => {
  const bench = await setup();
  await bench.sync('usage');
  const database = `${bench.there.database}_latin`;
  await asOwner(
    bench,
    `CREATE DATABASE ${database} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`,
    'postgres',
  );
  onTestFinished(() => asOwner(bench, `DROP DATABASE ${database}`, 'postgres'));
  expect(
    await bench.run(['ship'], { MIRROR_SHIP: bench.there.url.replace(bench.there.database, database) }),
  ).toMatchObject({
    code: 74,
    stderr: line(`keeps its text as LATIN1: make a database with ENCODING 'UTF8'`),
  });
});
