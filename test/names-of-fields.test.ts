/**
 * A life of three lists whose fields have the names of everything that somebody on their way calls by a name: what breaks by a
 * name breaks for good, since whoever publishes the list will not rename a field for us.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import type { Row } from '../model-api/index.ts';
import { isoTime } from '../src/base/clock.ts';
import { loadJobs } from '../src/job/load.ts';
import { changesIn, duckdb, presentIn } from './helpers/lake.ts';
import { postgres } from './helpers/postgres.ts';
import { serveMirror } from './helpers/serve-bench.ts';
import { read, setupSync } from './helpers/sync-bench.ts';

type Bench = Awaited<ReturnType<typeof setup>>;

const lists = [
  { job: 'news', table: 'news', data: 'news' },
  { job: 'smart-wallets', table: 'smart_wallets', data: 'smartWallets' },
  { job: 'meme-signals', table: 'meme_signals', data: 'memeSignals' },
] as const;
type List = (typeof lists)[number];

const HOUR = 3_600_000;

async function setup() {
  const [bench, there] = [await setupSync({ rows: 5 }), await postgres()];
  const lake = join(bench.cwd, 'lake');
  const run = async (...args: string[]) => {
    const settings = { MIRROR_SHIP: there.url, MIRROR_LAKE: lake, ...keysOf(bench) };
    const ended = await bench.run(args, settings);
    expect({ args, ...ended }).toEqual({ ...ended, args, code: 0 });
    return ended.stdout;
  };
  return { ...bench, run, there, lake };
}

/** So few rows do not show what identifies them. */
const keysOf = ({ model }: Pick<Awaited<ReturnType<typeof setupSync>>, 'model'>) =>
  Object.fromEntries(
    lists.map(({ table, data }) => [`MIRROR_KEY_${table.toUpperCase()}`, model.data[data].idField]),
  );

/** What SQL has a meaning for, or somebody else; and what is no name at all. */
const strange = [
  ...['', ' ', '  ', '.', '..', '\n', '\r\n', '\t', '\u001b[2J', '\u202e', 'a b', '柴犬', '柴'.repeat(300)],
  ...['"); DROP TABLE news; --', "'; DROP TABLE news; --", 'x'.repeat(490), 'x'.repeat(61)],
  ...String.raw`$ $.a [0] a.b a"b a'b a\b a\"b a${'`'}b [a] a/b`.split(' '),
  ...'__proto__ constructor prototype toString hasOwnProperty valueOf __defineGetter__ length'.split(' '),
  ...'rowid _rowid_ oid ROWID main temp sqlite_master stage differing kept staged'.split(' '),
  ...'row stored beside aging before version latest wanted excluded old new life'.split(' '),
  ...'null NULL undefined NaN 0 1e9 -1 24h :p1 ?1 @p Straße STRASSE ﬁ İ'.split(' '),
  ...'category market symbol source filter kind lane q date course year filename file_row_number'.split(' '),
];

/** Every name of a column that a table or view of ours has, at whatever place; `inFile` are those of the mirror itself. */
async function ownNames({ file, cwd, there }: Bench): Promise<{ all: string[]; inFile: string[] }> {
  const ofSqlite = (database: string) =>
    read<{ name: string }>(
      database,
      `SELECT DISTINCT c.name FROM sqlite_master AS t, pragma_table_xinfo(t.name) AS c WHERE t.type IN ('table', 'view')
         AND NOT (t.name IN ('news', 'smart_wallets', 'meme_signals') OR t.name LIKE 'sqlite%')`,
    );
  const inPostgres = await there.query<{ name: string }>(
    `SELECT DISTINCT column_name AS name FROM information_schema.columns WHERE table_schema = 'market_mirror'
       AND table_name NOT LIKE ALL (ARRAY['news%', 'smart_wallets%', 'meme_signals%'])`,
  );
  const [mirror, serve] = [ofSqlite(file), ofSqlite(join(cwd, 'data/serve.db'))];
  const namesIn = (...found: { name: string }[][]) => [...new Set(found.flat().map(({ name }) => name))];
  return { all: namesIn(mirror, serve, inPostgres), inFile: namesIn(mirror) };
}

async function wordsOfSql({ there }: Bench): Promise<string[]> {
  const words = await there.query<{ name: string }>(
    `SELECT word AS name FROM pg_get_keywords() WHERE catcode <> 'U'
     UNION SELECT attname FROM pg_attribute WHERE attnum < 0`,
  );
  const others = ['glob', 'isnull', 'match', 'pragma', 'regexp', 'replace', 'index'];
  return [...words.map(({ name }) => name), ...others];
}

/** Of every type; those of two fields of a row, and of a field of two rows, differ wherever they can. */
function valueFor(field: number, row: number, version: number): unknown {
  const number = (field * 100 + row) * 10 + version;
  return [
    `text ${number}`,
    number,
    number + 0.5,
    number % 2 === 0,
    new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString(),
    [number],
  ][field % 6];
}

/** Makes the rows of the list anew, each with these fields and nothing else but its key; some of them differ from the version before. */
function publish({ model }: Bench, { data }: List, names: readonly string[], version: number): void {
  const { rows, idField } = model.data[data];
  const others = names.filter((name) => name !== idField);
  rows.forEach((row, at) => {
    const changed = at % 3 === version % 3 ? version : 0;
    // A member named __proto__ is none like others to whoever assigns it.
    rows[at] = Object.fromEntries([
      [idField, row[idField]],
      ...others.map((name, field) => [name, valueFor(field, at, changed)]),
    ]);
  });
}

const keyed = (rows: readonly Row[], key = '_key') => new Map(rows.map((row) => [String(row[key]), row]));

/** Where each name of the API is found: the field's column. */
function columnsOf({ file }: Bench, { job }: List): Map<string, string> {
  const fields = read<{ column: string; path: string }>(
    file,
    `SELECT "column", path FROM fields WHERE job = '${job}'`,
  );
  return new Map(
    fields.flatMap(({ column, path }) => {
      const [, name] = /^\$\.(\w+|"(?:[^"\\]|\\.)*")$/.exec(path) ?? [];
      return name === undefined ? [] : [[name.startsWith('"') ? (JSON.parse(name) as string) : name, column]];
    }),
  );
}

/** A value of the API as SQLite shows it. */
const inSqlite = (value: unknown): unknown => {
  if (typeof value === 'boolean') return Number(value);
  if (value !== null && typeof value === 'object') return JSON.stringify(value);
  // Half of a pair of surrogates is no letter.
  return typeof value === 'string' ? value.toWellFormed() : (value ?? null);
};

/** A row of JSON, in which lists and booleans stand as such, as SQL shows it. */
const asInSql = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, inSqlite(value)]));

/** A value wherever it was brought, in one form. */
function plain(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'boolean') return String(Number(value));
  if (typeof value === 'object') return JSON.stringify(value);
  return String(value);
}

/** The values that there are, in whatever order. */
const bag = (values: readonly unknown[]) =>
  values
    .map(plain)
    .filter((value) => value !== null)
    .map((value) => JSON.stringify(value))
    .sort();

/** By keys, the rows that are upstream now. */
const upstream = ({ model }: Bench, { data }: List) => keyed(model.data[data].rows, model.data[data].idField);

/** Rows of the mirror, as SQL shows them, beside those of the API: every field in its column. */
function expectMirrored(
  bench: Bench,
  list: List,
  shown: readonly Row[],
  wanted = upstream(bench, list),
): void {
  const columns = columnsOf(bench, list);
  const found = keyed(shown);
  expect([...found.keys()].sort()).toEqual([...wanted.keys()].sort());
  for (const [key, row] of wanted) {
    const here = found.get(key) ?? {};
    const wrong = Object.entries(row).flatMap(([name, value]) => {
      const column = columns.get(name);
      // Nested ones have columns of their own.
      if (column === undefined) return isNested(value) ? [] : [`${name} has no column`];
      const is = here[column];
      return isDeepStrictEqual(is, inSqlite(value))
        ? []
        : [`${name} in ${column}: ${is} instead of ${value}`];
    });
    expect(wrong).toEqual([]);
  }
}

const isNested = (value: unknown) => value === null || (typeof value === 'object' && !Array.isArray(value));

/** Rows that were brought elsewhere have the values of the mirror's, each under its name where that name is there. */
function expectBrought(there: readonly Row[], here: readonly Row[], what: string): void {
  const found = keyed(there);
  expect([what, [...found.keys()].sort()]).toEqual([what, here.map((row) => String(row['_key'])).sort()]);
  for (const row of here) {
    const { _body: body, ...other } = found.get(String(row['_key'])) ?? {};
    expect(typeof body === 'string' ? JSON.parse(body) : body).toEqual(JSON.parse(String(row['_body'])));
    const names = Object.keys(row).filter((name) => name !== '_body');
    const wrong = names.flatMap((name) => {
      const value = name in other ? other[name] : other[`${name}_`];
      return value === undefined || plain(value) === plain(row[name])
        ? []
        : [`${what}, ${name}: ${plain(value)}`];
    });
    expect(wrong).toEqual([]);
    const values = bag(Object.values(other));
    expect([what, bag(names.map((name) => row[name])).filter((value) => !values.includes(value))]).toEqual([
      what,
      [],
    ]);
  }
}

const shown = (bench: Bench, table: string): Row[] => read<Row>(bench.file, `SELECT * FROM "${table}"`);

/** Walks over all lists, some time later. */
async function sync(bench: Bench): Promise<void> {
  await bench.clock.sleep(HOUR);
  await bench.run('sync');
}

const verdicts = ({ file }: Bench) =>
  read<{ verdict: string }>(
    file,
    `SELECT verdict FROM walks AS walk WHERE job IN ('news', 'smart-wallets', 'meme-signals')
       AND id = (SELECT max(id) FROM walks WHERE job = walk.job)`,
  ).map(({ verdict }) => verdict);

/** Walks that proved something have left exactly what is upstream. */
function expectProven(bench: Bench): void {
  expect(new Set(verdicts(bench))).not.toContain('union');
  for (const list of lists) expectMirrored(bench, list, shown(bench, list.table));
}

async function expectShipped(bench: Bench): Promise<void> {
  await bench.run('ship');
  expect(await bench.run('ship', '--verify')).not.toContain('loaded anew');
  await bench.run('lake');
  await bench.run('lake', '--check');
  for (const { table } of lists) {
    const here = shown(bench, table);
    expectBrought(await bench.there.query<Row>(`SELECT * FROM ${table}`), here, `${table} in Postgres`);
    const laid = await duckdb<Row>(`SELECT * EXCLUDE (epoch, date) FROM ${presentIn(bench.lake, table)}`);
    expectBrought(laid, here, `${table} in the lake`);
    const [changes] = await duckdb<{ n: bigint }>(
      `SELECT count(DISTINCT (_seq, _key, _change)) AS n FROM ${changesIn(bench.lake, table)}`,
    );
    expect(Number(changes?.n)).toBe(
      read<{ n: number }>(bench.file, `SELECT count(*) AS n FROM changes WHERE "table" = '${table}'`)[0]?.n,
    );
  }
}

/** Every form in which rows leave in a file has every value of every field. */
async function expectExported({ run, file, cwd }: Bench, { job, table }: List): Promise<void> {
  const here = read<Row>(file, `SELECT * FROM ${table}`);
  const exported = async (form: string) => {
    const place = join(cwd, `${job}.${form}`);
    await run('export', job, '--exact', '--with-body', '-o', place);
    return place;
  };
  expectBrought(JSON.parse(readFileSync(await exported('json'), 'utf8')), here, 'json');
  const csv = `read_csv('${await exported('csv')}', header = true, all_varchar = true)`;
  expectBrought(await duckdb<Row>(`FROM ${csv}`), here, 'csv');
  const parquet = await asyncBufferFromFile(await exported('parquet'));
  expectBrought(await parquetReadObjects({ file: parquet }), here, 'parquet');
}

/** What the service answers is what the API answers. */
async function expectServed(bench: Bench): Promise<void> {
  const { url, key, close } = await serveMirror(join(bench.cwd, 'data'), await loadJobs(), bench.clock);
  const get = async (path: string) => {
    const answer = await fetch(`${url}/api/v1/${path}`, { headers: { authorization: `Bearer ${key}` } });
    expect([path, answer.status]).toEqual([path, 200]);
    return (await answer.json()) as { rows: Row[] };
  };
  try {
    for (const list of lists) {
      const wanted = upstream(bench, list);
      const { idField } = bench.model.data[list.data];
      const { rows } = await get(`${list.job}?limit=100`);
      expect(keyed(rows, idField)).toEqual(wanted);
      if (list.job === 'meme-signals') continue;
      const [one] = wanted.values();
      const text = Object.values(one ?? {}).find(
        (value) => typeof value === 'string' && /^text \d+$/.test(value),
      );
      const found = await get(`${list.job}?limit=100&q=${encodeURIComponent(String(text))}`);
      expect(found.rows.map((row) => row[idField])).toContain(one?.[idField]);
    }
    const [one] = upstream(bench, lists[0]).values();
    for (const filter of ['category', 'kind', 'market', 'source', 'symbol', 'filter']) {
      const value = one?.[filter];
      if (typeof value !== 'string') continue;
      const { rows } = await get(`news?limit=100&${filter}=${encodeURIComponent(value)}`);
      expect([filter, rows.map((row) => row['id'])]).toEqual([filter, expect.arrayContaining([one?.['id']])]);
    }
  } finally {
    await close();
  }
}

/** Of a name of ours, in capitals or as a word of its own. */
const respelt = (name: string, at: number) =>
  at % 2 === 0 ? name.toUpperCase() : `_${name.charAt(0).toUpperCase()}${name.slice(1)}`;

test('fields named like columns of ours, words of SQL, and what is hardly a name, are mirrored, proven, kept, asked for, exported, served and shipped as others are', async () => {
  const bench = await setup();
  const { model, clock, run } = bench;
  const publishAll = (names: readonly string[][], version: number) => {
    for (const [at, list] of lists.entries()) publish(bench, list, [...new Set(names[at])], version);
  };
  publishAll([], 0);
  await run('keys', 'create', '--name', 'desk');
  await sync(bench);
  await run('ship');
  await run('lake');
  const ours = await ownNames(bench);
  // A third of those that another spelling may confuse: the database of the mirror alone takes no heed of case.
  const respeltNames = ours.inFile.filter((_, at) => at % 3 === 0).map(respelt);
  const names = [ours.all, [...(await wordsOfSql(bench)), ...strange], respeltNames];
  publishAll(names, 1);
  await sync(bench);
  expectProven(bench);
  expect(read(bench.file, `SELECT path, detail FROM drift WHERE kind = 'no-column'`)).toEqual([]);
  const [then, before] = [isoTime(clock.now()), new Map(lists.map((list) => [list, upstream(bench, list)]))];

  publishAll(names, 2);
  for (const { data } of lists) model.data[data].rows.splice(3, 1);
  // A row is gone once two proofs lack it.
  for (let walk = 0; walk < 2; walk += 1) await sync(bench);
  expectProven(bench);

  for (const list of lists) {
    const past = await run('query', `SELECT * FROM ${list.table}`, '--as-of', then, '--format', 'json');
    expectMirrored(bench, list, JSON.parse(past).map(asInSql), before.get(list));
  }
  await expectExported(bench, lists[0]);
  await run('export', 'news', '--since', then, '-o', join(bench.cwd, 'since.parquet'));
  await expectShipped(bench);
  await expectServed(bench);
});
