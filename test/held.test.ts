/** All that show the mirror show the same rows, and say which of them are doubtful. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type DatasetName, integer, type Row, seededRandom } from '../model-api/index.ts';
import { loadJobs } from '../src/job/load.ts';
import type { Receipt } from '../src/reading/export.ts';
import type { Status } from '../src/reading/status.ts';
import { Database } from '../src/store/sqlite.ts';
import { differencesThere as differencesInLake, duckdb } from './helpers/lake.ts';
import { postgres } from './helpers/postgres.ts';
import { serveMirror } from './helpers/serve-bench.ts';
import { differencesThere as differencesInPostgres } from './helpers/shipped.ts';
import { read, setupSynced } from './helpers/sync-bench.ts';

const DAY_MS = 86_400_000;

const lists = [
  { name: 'aiSignals', job: 'ai-signals', table: 'ai_signals' },
  { name: 'news', job: 'news', table: 'news' },
] as const satisfies readonly { name: DatasetName; job: string; table: string }[];

type Bench = Awaited<ReturnType<typeof setup>>;

/** A mirror, with its service, a Postgres and a lake. */
async function setup() {
  const [bench, there] = [await setupSynced(60), await postgres()];
  const dir = bench.environment.MIRROR_DIR;
  const { url, key, close } = await serveMirror(dir, await loadJobs(), bench.clock);
  onTestFinished(close);
  const ask = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/api/v1/${path}`, { headers: { Authorization: `Bearer ${key}`, ...headers } });
  return { ...bench, there, ask, url, lake: join(bench.cwd, 'lake') };
}

/** Rows that come, go and move anywhere, in every list. */
function live({ model, clock }: Bench, random: () => number): void {
  for (const { name } of lists) {
    const dataset = model.data[name];
    const { rows } = dataset;
    const place = () => integer(random, 0, rows.length - 1);
    for (const row of dataset.make(3)) rows.splice(place(), 0, row);
    for (let gone = 0; gone < 3; gone += 1) rows.splice(place(), 1);
    rows.splice(place(), 0, ...rows.splice(place(), 1));
  }
  model.data.aiSignals.generatedAt = new Date(clock.now()).toISOString();
}

/** What tells a row of its list from all others, as it was received. */
const nameOf = (row: Row) => (row['quality'] ? String(row['id']) : JSON.stringify(row));
const namesIn = (body: unknown) => nameOf((typeof body === 'string' ? JSON.parse(body) : body) as Row);

/** All rows that `serve` shows, in their order, and how many of them it says are held. */
async function servedRows({ ask }: Bench, job: string): Promise<{ names: string[]; held: number }> {
  const names: string[] = [];
  for (let seq = ''; ; ) {
    const answer = await ask(`${job}?limit=25&offset=${names.length}${seq}`);
    expect(answer.status).toBe(200);
    const { rows, pagination } = (await answer.json()) as { rows: Row[]; pagination: { total: number } };
    names.push(...rows.map(nameOf));
    seq = `&seq=${answer.headers.get('X-Mirror-Seq')}`;
    if (names.length >= pagination.total) return { names, held: Number(answer.headers.get('X-Mirror-Held')) };
  }
}

test('rows that come, go and move: SQL, serve, Postgres, an export and the lake show the same, and what is not held is upstream', async () => {
  const bench = await setup();
  const { model, clock, sync, run, file, there, lake, cwd } = bench;
  const random = seededRandom(7);
  for (let round = 0; round < 2; round += 1) {
    live(bench, random);
    clock.advance(DAY_MS);
    await sync();
    // The second round is brought as what changed since the first.
    expect((await run(['ship'], { MIRROR_SHIP: there.url })).code).toBe(0);
    expect((await run(['lake'], { MIRROR_LAKE: lake })).code).toBe(0);
  }
  const status = JSON.parse((await run(['status', '--json'])).stdout) as Status;
  let held = 0;
  for (const { name, job, table } of lists) {
    const upstream = model.data[name].rows.map(nameOf).sort();
    const shown = job === 'ai-signals' ? 'id' : '_body';
    const named = (rows: { shown: unknown; isHeld: unknown }[]) => {
      const all = rows.map(({ shown, isHeld }) => ({
        name: job === 'ai-signals' ? String(shown) : namesIn(shown),
        isHeld: Boolean(isHeld),
      }));
      return {
        proven: all.flatMap(({ name, isHeld }) => (isHeld ? [] : [name])).sort(),
        held: all.flatMap(({ name, isHeld }) => (isHeld ? [name] : [])).sort(),
      };
    };
    const sql = (of: string, isHeld: string) => `SELECT ${shown} AS shown, ${isHeld} AS "isHeld" FROM ${of}`;
    const inMirror = named(read(file, sql(table, '_held_since IS NOT NULL')));
    expect(inMirror.proven, `${job} in SQL`).toEqual(upstream);

    const { names, held: counted } = await servedRows(bench, job);
    expect(counted, `${job} in serve`).toBe(inMirror.held.length);
    expect(names.slice(0, names.length - counted).sort()).toEqual(upstream);
    expect(names.slice(names.length - counted).sort()).toEqual(inMirror.held);

    const text = job === 'ai-signals' ? 'id' : '_body::text';
    const inPostgres = await there.query<{ shown: string; isHeld: boolean }>(
      `SELECT ${text} AS shown, _held_since IS NOT NULL AS "isHeld" FROM ${table}`,
    );
    expect(named(inPostgres), `${job} in Postgres`).toEqual(inMirror);
    const [fresh] = await there.query<{ held: string }>('SELECT held FROM freshness WHERE job = $1', [job]);
    expect(Number(fresh?.held)).toBe(counted);

    const output = join(cwd, 'export.ndjson');
    expect((await run(['export', job, '-o', output, '--force', '--with-body'])).code).toBe(0);
    const exported = readFileSync(output, 'utf8').split('\n').filter(Boolean);
    const lines = exported.map((line) => JSON.parse(line) as Row);
    expect(
      named(lines.map((row) => ({ shown: row[shown], isHeld: row['_held_since'] }))),
      `${job} exported`,
    ).toEqual(inMirror);

    const day = new Date(clock.now()).toISOString().slice(0, 10);
    const inLake = await duckdb<{ shown: string; isHeld: boolean }>(
      sql(`'${lake}/${table}/snapshots/date=${day}/*.parquet'`, '_held_since IS NOT NULL'),
    );
    expect(named(inLake), `${job} in the lake`).toEqual(inMirror);

    expect(status.datasets.find((dataset) => dataset.job === job)?.held).toBe(counted);
    if (job === 'ai-signals') expect(counted).toBe(0);
    held += counted;
  }
  expect(held).toBeGreaterThan(0);
  const verified = await run(['ship', '--verify'], { MIRROR_SHIP: there.url });
  expect(verified.stdout).not.toContain('mended');
  expect((await run(['lake', '--check'], { MIRROR_LAKE: lake })).code).toBe(0);
});

test('whoever counts rows is told how many of them are held: sync, status, query and a receipt', async () => {
  const { model, clock, sync, run, cwd } = await setupSynced(60);
  const list = model.data.news.rows;
  list.splice(20, 5);
  list.unshift(...model.data.news.make(2));
  clock.advance(600_000);
  const said = await sync('news');
  expect(said.stderr).toMatch(
    /^news: verified: 57 rows in \d+ calls? \(2 new, 0 changed, 0 gone, 5 not seen \(kept\)\)$/m,
  );
  const between = clock.now();

  const status = await run(['status']);
  expect(status.stdout).toMatch(/^news +62 \(5 held\) /m);
  expect(status.stdout).toMatch(/^meme-signals +60 /m);

  const note =
    'note: news: 5 rows are held, since the last proof did not show them: WHERE _held_since IS NULL leaves them out\n';
  const ask = async (sql: string, ...more: string[]) => (await run(['query', sql, ...more])).stderr;
  expect(await ask('SELECT count(*) FROM news')).toBe(note);
  for (const sql of ['SELECT count(*) FROM news WHERE _held_since IS NULL', 'SELECT * FROM freshness'])
    expect(await ask(sql), sql).not.toContain('held');

  const heldIn = async (what: string, ...more: string[]) => {
    const output = ['-o', join(cwd, 'out.csv'), '--force', '--json'];
    const { stdout, stderr } = await run(['export', what, ...output, ...more]);
    const { rows, sources } = JSON.parse(stdout) as Receipt;
    return { rows, held: sources.map(({ held }) => held), isNoted: stderr.includes(note) };
  };
  expect(await heldIn('news')).toEqual({ rows: 62, held: [5], isNoted: true });

  clock.advance(60_000);
  const then = new Date(between).toISOString();
  expect(await heldIn('news', '--as-of', then)).toEqual({ rows: 62, held: [5], isNoted: true });
});

test('rows that fit after a fix, and are retried, come to serve, Postgres and the lake', async () => {
  const bench = await setup();
  const { model, clock, sync, run, file, there, lake } = bench;
  const { rows } = model.data.aiSignals;
  rows[3] = { ...rows[3], confidence: 'high' };
  clock.advance(600_000);
  model.data.aiSignals.generatedAt = new Date(clock.now()).toISOString();
  await sync();
  const follow = async () => {
    expect((await run(['ship'], { MIRROR_SHIP: there.url })).code).toBe(0);
    expect((await run(['lake'], { MIRROR_LAKE: lake })).code).toBe(0);
  };
  await follow();
  // What a fixed contract would accept, since the contract of this program cannot change here.
  new Database(file)
    .exec(`UPDATE quarantine SET body = json_set(body, '$.confidence', 0.123) WHERE resolved_at IS NULL`)
    .close();
  clock.advance(60_000);
  const retried = await run(['quarantine', 'retry']);
  expect([retried.code, retried.stdout]).toEqual([0, expect.stringContaining('1 mirrored')]);
  await follow();
  const retriedRow = `SELECT confidence FROM ai_signals WHERE id = '${rows[3]?.['id']}'`;
  expect(read(file, retriedRow)).toEqual([{ confidence: 0.123 }]);
  expect(await there.query(retriedRow)).toEqual([{ confidence: 0.123 }]);
  expect(await differencesInPostgres(file, there.query)).toEqual([]);
  expect(await differencesInLake(file, lake)).toEqual([]);
  // The order in which the API shows rows comes with a proof: serve shows the retried row with the next one.
  clock.advance(600_000);
  rows[3] = { ...rows[3], confidence: 0.123 };
  model.data.aiSignals.generatedAt = new Date(clock.now()).toISOString();
  await sync('ai-signals');
  expect(await servedRows(bench, 'ai-signals')).toEqual({ names: rows.map(nameOf), held: 0 });
});
