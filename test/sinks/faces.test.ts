/** One list of naughty texts, numbers in every form and types that change: every face shows the values that came. */

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { readSchedules } from '../../src/config.ts';
import { ownSchedules } from '../../src/job/list.ts';
import { loadJobs } from '../../src/job/load.ts';
import { listed } from '../../src/job.ts';
import { openKeyring } from '../../src/serve/access/keyring.ts';
import { Database } from '../../src/store/sqlite.ts';
import { duckdb, presentIn } from '../helpers/lake.ts';
import { brokenForms, longForms, naughtyStrings, tooLargeForms, wholeForms } from '../helpers/naughty.ts';
import { allScopes, quietSettings, serveOnLoopback } from '../helpers/serve-bench.ts';
import { read } from '../helpers/sync-bench.ts';
import { setup as setupPostgres } from './postgres/bench.ts';
import { publishRaw } from './raw.ts';

type Bench = Awaited<ReturnType<typeof setup>>;

async function setup() {
  const bench = await setupPostgres(3);
  const lake = join(bench.cwd, 'lake');
  const run = async (...args: string[]) => {
    const ended = await bench.run(args, { MIRROR_SHIP: bench.there.url, MIRROR_LAKE: lake });
    expect({ args, ...ended }).toEqual({ ...ended, args, code: 0 });
    return ended.stdout;
  };
  return { ...bench, run, lake };
}

/** The JSON of each value of a row, by its field. */
type Row = Readonly<Record<string, string>>;

const rowText = (row: Row) => `{${Object.entries(row).map(([name, value]) => `"${name}": ${value}`)}}`;

/** As some servers write it: every letter by its number. */
const escaped = (text: string) =>
  `"${text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`;

const turn = <T>(of: readonly T[], at: number) => of[at % of.length] as T;

/** Around what an index of Postgres takes, and far beyond; two of each length that differ in their last letter alone. */
const longKeys = [1_998, 2_000, 2_002, 2_690, 2_704, 2_706, 6_000, 60_000].flatMap((length) => {
  const key = randomBytes(length / 2).toString('hex');
  return [key, `${key.slice(0, -1)}.`];
});

const texts = [...naughtyStrings, ...longKeys];
const numbers = [...wholeForms, ...brokenForms, ...longForms];

/**
 * Each text is a key, or a value, and in a list.
 * @param drifting a value whose type changes.
 */
const rowsWith = (drifting: (at: number) => string): Row[] =>
  Array.from({ length: Math.ceil(texts.length / 2) }, (_, at) => {
    const [key, text] = [texts[2 * at] as string, turn(texts, 2 * at + 1)];
    const json = at % 2 === 0 ? JSON.stringify(text) : escaped(text);
    return {
      place: String(at),
      id: key === '' ? '"empty"' : at % 2 === 0 ? escaped(key) : JSON.stringify(key),
      text: json,
      whole: turn(wholeForms, at),
      broken: turn([...wholeForms, ...brokenForms], at),
      long: turn(numbers, at),
      mixed: [turn(numbers, at), json, turn(['true', 'null', '[1.0,"x"]'], at)][at % 3] ?? '',
      flag: turn(['true', 'false', 'null'], at),
      list: `[${json},${JSON.stringify(key)},${turn(numbers, at)}]`,
      drifting: drifting(at),
    };
  });

/** What a field becomes in one row after the other, one walk after the other. */
const whole = (at: number) => turn(['1', '2.0', '1e1', '-0'], at);
const drifts = [[], ['1.5', '12345678901234567890', '"a text"', '["a list",1.0]']].map(
  (others) => (at: number) => others[at] ?? whole(at),
);

/** `isSpelt`: NUL is U+FFFD there. `isExact`: a whole number has all its digits there. */
type Face = {
  name: string;
  rows: readonly Record<string, unknown>[];
  isSpelt?: boolean;
  isExact?: boolean;
};

/** What a face does not show as it came, in the order of these rows. */
function wrongIn({ name, rows, isSpelt = false, isExact = false }: Face, wanted: readonly Row[]): string[] {
  const wrong = rows.length === wanted.length ? [] : [`${name}: ${rows.length} rows of ${wanted.length}`];
  const inOrder = rows.toSorted((one, other) => Number(one['place']) - Number(other['place']));
  for (const [at, row] of wanted.entries())
    for (const [field, json] of Object.entries(row)) {
      const shown = inOrder[at]?.[field];
      if (!isShown(shown ?? null, json, isSpelt, isExact))
        wrong.push(`${name}: ${field} is ${String(shown).slice(0, 80)}, not ${json.slice(0, 80)}`);
    }
  return wrong.slice(0, 12);
}

function isShown(shown: unknown, json: string, isSpelt: boolean, isExact: boolean): boolean {
  const meant: unknown = JSON.parse(json);
  const spelt = (value: unknown) =>
    isSpelt && typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value;
  if (meant === null || shown === null) return meant === shown;
  if (typeof meant === 'string') return shown === spelt(meant);
  if (typeof meant === 'boolean') return [String(meant), String(Number(meant))].includes(String(shown));
  if (Array.isArray(meant))
    return isDeepStrictEqual(typeof shown === 'string' ? JSON.parse(shown) : shown, meant.map(spelt));
  const isLong = !Number.isSafeInteger(meant) && /^-?\d+$/.test(json);
  const hasDigits = !isExact || !isLong || String(shown) === json;
  return String(shown).trim() !== '' && Number(shown) === meant && hasDigits;
}

function inSql({ file }: Bench): Face {
  const database = new Database(file, { readonly: true });
  const rows = database.prepare<[], Record<string, unknown>>('SELECT * FROM news').safeIntegers().all();
  database.close();
  return { name: 'SQL', rows };
}

/** @returns what gives the body at a path. */
async function openService({ cwd, clock }: Bench): Promise<(path: string) => Promise<string>> {
  const dir = join(cwd, 'data');
  const jobs = await loadJobs();
  const { url, close } = await serveOnLoopback({
    dir,
    jobs: jobs.map(listed),
    settings: { ...quietSettings, query: true, schedules: readSchedules({}, ownSchedules(jobs)) },
    clock,
    log: pino({ enabled: false }),
  });
  onTestFinished(close);
  const keyring = openKeyring(dir);
  const terms = { name: 'desk', account: 'desk', scopes: allScopes, addresses: null, expiresAt: null };
  const { key } = keyring.create(terms, {}, clock.now());
  keyring.close();
  return async (path) => {
    const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } });
    expect([path, answer.status]).toEqual([path, 200]);
    return await answer.text();
  };
}

async function served(bench: Bench): Promise<Face[]> {
  const get = await openService(bench);
  const all = async (path: string) => {
    const rows: Record<string, unknown>[] = [];
    for (let more = true; more; ) {
      const body = JSON.parse(await get(`${path}?limit=100&offset=${rows.length}`));
      const page = body.rows ?? body;
      rows.push(...page);
      more = page.length > 0;
    }
    return { name: path, rows };
  };
  return [await all('/api/v1/news'), await all('/mirror/v1/news')];
}

async function exported({ run, cwd }: Bench): Promise<Face[]> {
  const file = async (form: string) => {
    const place = join(cwd, `news.${form}`);
    await run('export', 'news', '--exact', '-o', place);
    return place;
  };
  const lines = readFileSync(await file('ndjson'), 'utf8')
    .trimEnd()
    .split('\n');
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const parquet = await parquetReadObjects({
    file: await asyncBufferFromFile(await file('parquet')),
    parsers: { stringFromBytes: (bytes) => bytes && decoder.decode(bytes) },
  });
  return [
    { name: 'csv', rows: csvRows(readFileSync(await file('csv'), 'utf8')) },
    { name: 'ndjson', rows: lines.map((line) => JSON.parse(line)) },
    { name: 'json', rows: JSON.parse(readFileSync(await file('json'), 'utf8')) },
    { name: 'parquet', rows: parquet },
  ];
}

/** RFC 4180: what stands in quotes is a text, also an empty one; nothing at all is null. */
function csvRows(text: string): Record<string, unknown>[] {
  const lines: (string | null)[][] = [[]];
  for (const [, inQuotes, bare, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))([,\n])/g)) {
    lines.at(-1)?.push(inQuotes === undefined ? bare || null : inQuotes.replaceAll('""', '"'));
    if (end === '\n') lines.push([]);
  }
  const [head = [], ...rows] = lines.slice(0, -1);
  return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at]])));
}

async function inPostgres({ there }: Bench, table = 'news'): Promise<Face> {
  const order = table === 'news' ? '' : 'ORDER BY _valid_from';
  const rows = await there.query<Record<string, unknown>>(`SELECT * FROM ${table} ${order}`);
  return { name: `${table} in Postgres`, rows, isSpelt: true, isExact: true };
}

async function inLake({ lake }: Bench): Promise<Face> {
  // The client of DuckDB drops a U+FEFF at the beginning of a text.
  const rows = await duckdb<Record<string, string | null>>(
    `SELECT '.' || COLUMNS(*)::VARCHAR AS "\\0" FROM ${presentIn(lake, 'news')}`,
  );
  const shown = rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value?.slice(1) ?? null])),
  );
  return { name: 'the lake', rows: shown, isExact: true };
}

test('naughty texts, long keys, numbers of every form and changed types have equal values on every face', async () => {
  const bench = await setup();
  const refused = [
    ...tooLargeForms.map((form, at) => `{"id": "large ${at}", "number": ${form}}`),
    ...['{"id": "half", "text": "\\ud83d"}', '{"id": "\\udcc8"}', '{"id": "name", "\\ud800": 1}'],
  ];
  let rows: Row[] = [];
  const ended: Row[] = [];
  for (const drifting of drifts) {
    const before = rows;
    rows = rowsWith(drifting);
    ended.push(...before.filter((row, at) => !isDeepStrictEqual(row, rows[at])));
    publishRaw(bench.model, 'news', [...rows.map(rowText), ...refused]);
    await bench.clock.sleep(25 * 3_600_000);
    await bench.sync('news');
    for (const command of ['ship', 'lake']) await bench.run(command, 'news');
    const [equal, ...notes] = (await bench.run('ship', 'news', '--check')).trimEnd().split('\n');
    expect(equal).toBe('news: both sides are equal');
    // Letters that Postgres has not are named, and are no difference.
    expect(notes).toContainEqual(
      expect.stringMatching(
        /^ {2}news\.text has U\+FFFD in \d+ rows? for a NUL, or half of a surrogate pair, /,
      ),
    );
    expect(wrongIn(await inPostgres(bench), rows)).toEqual([]);
  }
  const history = await inPostgres(bench, 'news_history');
  expect(
    wrongIn(
      history,
      ended.toSorted((one, other) => Number(one['place']) - Number(other['place'])),
    ),
  ).toEqual([]);
  await bench.run('lake', 'news', '--check');
  expect(read(bench.file, `SELECT 1 FROM quarantine WHERE job = 'news'`)).toHaveLength(refused.length);
  for (const face of [
    inSql(bench),
    await inLake(bench),
    ...(await served(bench)),
    ...(await exported(bench)),
  ])
    expect.soft(wrongIn(face, rows)).toEqual([]);
});

/** Letters that a terminal would obey or hide are escapes in the JSON that is printed. */
const inJson = (json: string) => json.replaceAll('\ufeff', '\\ufeff');

test('what the contract of ai-signals does not list has the same digits and letters on every face', async () => {
  const bench = await setup();
  const extra =
    '"fee":0.1234567890123456789,"whole":1.0,"long":9007199254740993,"small":1e-400,"text":"\\ufeff \\u0000 \\\\ \\" 📈",';
  bench.model.faults = [
    when(
      { endpoint: 'aiSignals' },
      faults.editText((text) => text.replace('"asset"', `${extra}"asset"`)),
    ),
  ];
  await bench.sync('ai-signals');
  const [{ extra: shown } = { extra: '' }] = read<{ extra: string }>(
    bench.file,
    'SELECT extra FROM ai_signals WHERE extra IS NOT NULL',
  );
  expect(shown).toContain('9007199254740993');
  for (const command of ['ship', 'lake']) await bench.run(command, 'ai-signals');
  const select = 'SELECT extra FROM ai_signals WHERE extra IS NOT NULL';
  const inText = 'SELECT extra::text AS extra FROM ai_signals WHERE extra IS NOT NULL';
  expect(await bench.there.query(inText)).toEqual([{ extra: shown.replaceAll('\\u0000', '\ufffd') }]);
  const laid = presentIn(bench.lake, 'ai_signals');
  expect(await duckdb(`SELECT extra FROM ${laid} WHERE extra IS NOT NULL`)).toEqual([{ extra: shown }]);
  for (const format of ['json', 'ndjson'])
    expect(await bench.run('query', '--format', format, select)).toContain(`{"extra":${inJson(shown)}}`);
  const get = await openService(bench);
  expect(await get('/mirror/v1/ai_signals?select=extra&extra=not.is.null')).toBe(`[{"extra":${shown}}]`);
});
