import { expect, test } from 'vitest';
import { publishRaw } from '../raw.ts';
import { setup } from './bench.ts';

type Bench = Awaited<ReturnType<typeof setup>>;

/** Publishes these rows and mirrors them. */
async function publish(
  { model, clock, sync }: Bench,
  rows: readonly Record<string, unknown>[],
): Promise<void> {
  publishRaw(
    model,
    'news',
    rows.map((row) => JSON.stringify(row)),
  );
  await clock.sleep(400_000);
  await sync('news');
}

const idsIn = async ({ there }: Bench, table = 'news') =>
  (await there.query<{ id: string }>(`SELECT id FROM ${table} ORDER BY _key`)).map(({ id }) => id);

/** So many fields with short times: 280 of them, with a column of times beside each, are too much for a page. */
const times = (fields: number, from = 0) =>
  Object.fromEntries(Array.from({ length: fields }, (_, at) => [`at${from + at}`, '2026-10-01T00:00:01.1Z']));

const lacking = (table: string, rows: string, keys: string) =>
  new RegExp(
    `${table} lacks ${rows} that \\d+ columns make wider than a page of Postgres \\(8,160 bytes\\): ${keys}(;|$)`,
    'm',
  );

test('a row that becomes too wide goes from Postgres, is named at each load and by --check, its version stays there, and it comes back once it fits', async () => {
  const bench = await setup(3);
  const others = [
    { id: 'left', ...times(140) },
    { id: 'right', ...times(140, 140) },
  ];
  for (const [fields, ids, ended, code] of [
    [3, ['left', 'one', 'right'], [], 0],
    [280, ['left', 'right'], ['one'], 75],
    [4, ['left', 'one', 'right'], ['one'], 75],
    [5, ['left', 'one', 'right'], ['one', 'one'], 75],
  ] as const) {
    await publish(bench, [{ id: 'one', ...times(fields) }, ...others]);
    const shipped = await bench.ship('news');
    expect([fields, shipped.code, await idsIn(bench), await idsIn(bench, 'news_history')]).toEqual([
      ...[fields, code, ids, ended],
    ]);
    if (fields < 280) continue;
    await bench.there.query('DROP TABLE news CASCADE');
    for (const [option, said] of [
      [[], /^news: /],
      [[], /^news: nothing new, up to change \d+; /],
      [['--verify'], /^news: all else is equal, up to change \d+; /],
      [['--check'], /^news: all else is equal; /],
    ] as const) {
      const { code, stdout } = await bench.ship('news', ...option);
      expect([option, code, stdout]).toEqual([option, 75, expect.stringMatching(said)]);
      expect(stdout).toMatch(lacking('news', '1 row', 'one'));
      expect(await idsIn(bench)).toEqual(ids);
    }
  }
  const { code, stdout } = await bench.ship('news', '--check');
  expect([code, stdout]).toEqual([75, expect.stringMatching(lacking('news_history', '1 row', 'one'))]);
  // Where it is gone upstream, too.
  for (let walk = 0; walk < 2; walk += 1) await publish(bench, others);
  await bench.ship('news');
  expect(await idsIn(bench)).toEqual(['left', 'right']);
});

/** So many letters fit a page, and so do twenty more. */
const FITTING = 333;

/** Texts and numbers in turn, and times, which leave little room on a page; and fields that share so many letters. */
function crowdedRow(letters: number): Record<string, unknown> {
  const numbered = Array.from({ length: 60 }, (_, at) => [`f${at}`, at % 2 === 0 ? 'y'.repeat(22) : 7]);
  const shares = Array.from({ length: 20 }, (_, at) => {
    return [`share${at}`, 'z'.repeat(Math.max(0, Math.min(23, letters - at * 23)))];
  });
  return { id: `r${letters}`, ...Object.fromEntries([...numbered, ...shares]), yes: true, ...times(216) };
}

test('no row is left out that fits a page, also where some of its fields were found later', async () => {
  const bench = await setup(3);
  const rows = Array.from({ length: 40 }, (_, at) => crowdedRow(FITTING + at));
  const some = Object.entries(rows[0] ?? {}).filter(
    ([name, value]) => name === 'id' || typeof value !== 'string',
  );
  await publish(bench, [Object.fromEntries(some)]);
  expect((await bench.ship('news')).code).toBe(0);
  await publish(bench, rows);
  const { code, stdout } = await bench.ship('news');
  const held = await idsIn(bench);
  expect([code, stdout]).toEqual([
    75,
    expect.stringContaining(`news lacks ${rows.length - held.length} rows that `),
  ]);
  expect(held.length).toBeGreaterThan(0);
  expect(held).toEqual(rows.slice(0, held.length).map(({ id }) => id));
  const last = rows[held.length - 1] ?? {};
  const share = Object.keys(last).find((name) => name.startsWith('share') && String(last[name]).length < 23);
  const oneMore = `UPDATE news SET ${share} = ${share} || 'z' WHERE id = '${last['id']}'`;
  await expect(bench.there.query(oneMore)).rejects.toThrow('row is too big');
});

test('a value for which a view of somebody leaves no column is a difference, and is named', async () => {
  const bench = await setup(3);
  await publish(bench, [
    { id: 'a', n: 1 },
    { id: 'b', n: 2 },
  ]);
  expect((await bench.ship('news')).code).toBe(0);
  await bench.there.query('CREATE VIEW theirs AS SELECT n FROM news');
  await publish(bench, [
    { id: 'a', n: 1 },
    { id: 'b', n: 'two' },
  ]);
  const why =
    'news.n is null in 1 row where the mirror has a value that is no bigint: b; news.n cannot be text: a view uses it';
  for (const option of [[], [], ['--verify']]) {
    const { code, stdout } = await bench.ship('news', ...option);
    expect([code, stdout]).toEqual([75, expect.stringContaining(why)]);
    expect(stdout).not.toContain('both sides are equal');
  }
  expect(await bench.ship('news', '--check')).toMatchObject({
    code: 75,
    stdout: `news: all else is equal; ${why}\n`,
  });
  await bench.there.query('DROP VIEW theirs');
  expect((await bench.ship('news')).code).toBe(0);
  expect((await bench.ship('news', '--check')).stdout).toBe('news: both sides are equal\n');
});

test('a column for which a table of Postgres has no room left is named, and all else is there', async () => {
  const bench = await setup(3);
  await publish(bench, [{ id: 'a' }]);
  await bench.ship('news');
  const theirs = Array.from({ length: 1_591 }, (_, at) => `ADD COLUMN theirs${at} integer`);
  await bench.there.query(`ALTER TABLE news ${theirs}`);
  await publish(bench, [{ id: 'a', n: 1, m: 2 }, { id: 'b' }]);
  for (const option of [[], ['--check']]) {
    const { code, stdout } = await bench.ship('news', ...option);
    expect([code, stdout]).toEqual([
      75,
      expect.stringMatching(/news\.[mn] cannot be bigint: Postgres \S+ takes no more columns/),
    ]);
    expect(stdout).not.toContain('both sides are equal');
  }
  expect(await idsIn(bench)).toEqual(['a', 'b']);
});

test('a row that an index of somebody there does not take is told in words', async () => {
  const bench = await setup(3);
  await publish(bench, [{ id: 'a', text: 'short' }]);
  await bench.ship('news');
  await bench.there.query('CREATE INDEX theirs ON news (text)');
  const long = Array.from({ length: 3_000 }, (_, at) => at.toString(36)).join('');
  await publish(bench, [{ id: 'a', text: long }]);
  const { code, stdout } = await bench.ship('news');
  expect([code, stdout]).toEqual([
    74,
    expect.stringMatching(/^news: Postgres \S+ cannot hold a row: .* index "theirs"; 54000\)$/m),
  ]);
});

test('a text with a letter that Postgres has not is named, by ship and by --check, and is no difference', async () => {
  const bench = await setup(3);
  await publish(bench, [
    { id: 'nul', text: 'a\0b', list: ['\0'] },
    { id: 'whole', text: 'a\ufffdb' },
  ]);
  const note =
    '  news.text has U+FFFD in 1 row for a NUL, or half of a surrogate pair, which Postgres has not: nul\n';
  const first = await bench.ship('news');
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining(note) });
  expect(first.stdout).toContain('  news.list has U+FFFD in 1 row');
  expect((await bench.ship('news')).stdout).toMatch(/^news: nothing new, up to change \d+\n$/);
  const checked = await bench.ship('news', '--check');
  expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining(`news: both sides are equal\n`) });
  expect(checked.stdout).toContain(note);
});
