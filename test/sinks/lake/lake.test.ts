import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Database } from '../../../src/store/sqlite.ts';
import { idsOf } from '../../helpers/sync-bench.ts';
import { edit } from '../edit.ts';
import { duckdb, expectEqual, presentIn, setup, setupMirrored } from './bench.ts';

const files = (folder: string, recursive = true) =>
  (readdirSync(folder, { recursive, encoding: 'utf8' }) as string[]).filter((name) => /\.\w+$/.test(name));

test('every change lies there once, as a range of changes of one day, and nothing that is there is written again', async () => {
  const { sync, lake, there, file, model, clock } = await setupMirrored();
  expect(await lake()).toMatchObject({ code: 0 });
  await expectEqual(file, there);
  const first = new Map(files(there).map((name) => [name, readFileSync(join(there, name), 'utf8')]));
  for (let round = 1; round <= 4; round += 1) {
    clock.advance(9 * 3_600_000);
    edit({ model, clock }, round);
    await (round === 1 ? sync() : sync('ai-signals'));
    if (round !== 2) expect((await lake()).code).toBe(0);
  }
  await expectEqual(file, there);
  const kept = [...first].filter(([name]) => !name.endsWith('_proof.json'));
  for (const [name, text] of kept) expect(readFileSync(join(there, name), 'utf8'), name).toBe(text);
  const days = await duckdb<{ date: Date; first: bigint; last: bigint }>(
    `SELECT date::VARCHAR AS date, min(_seq) AS first, max(_seq) AS last
     FROM read_parquet('${there}/ai_signals/changes/*/*/*.parquet', hive_partitioning = true) GROUP BY ALL`,
  );
  expect(days.length).toBeGreaterThan(1);
  for (const { date, first, last } of days)
    expect([first, last].map((seq) => new Date(Number(seq)).toISOString().slice(0, 10))).toEqual([
      date,
      date,
    ]);
  expect((await lake()).stdout).toMatch(/^ai-signals: nothing new, up to change \d+\n/);
});

test('a day has one snapshot of each dataset, with a receipt that proves it', async () => {
  const { sync, lake, there, clock, model } = await setup();
  await sync('ai-signals');
  const unproven = { job: 'news', seq: null, files: [], changes: 0, removed: [] };
  expect(JSON.parse((await lake('news', '--json')).stdout)).toMatchObject([{ exitCode: 0, laid: unproven }]);
  await lake();
  edit({ model, clock }, 1);
  await sync('ai-signals');
  await lake();
  const folder = join(there, 'ai_signals/snapshots');
  const [day = ''] = readdirSync(folder);
  expect(readdirSync(folder)).toHaveLength(1);
  expect(readdirSync(join(folder, day)).sort()).toEqual(['_ai_signals.json', 'ai_signals.parquet']);
  const receipt = JSON.parse(readFileSync(join(folder, day, '_ai_signals.json'), 'utf8'));
  expect(receipt).toMatchObject({ version: 1, job: 'ai-signals', rows: 12, source: { proof: { rows: 12 } } });
  const [{ age } = { age: null }] = await duckdb(
    `SELECT quality_age_seconds AS age FROM '${folder}/*/*.parquet' LIMIT 1`,
  );
  expect(typeof age).toBe('number');
  const proof = JSON.parse(readFileSync(join(there, 'ai_signals/_proof.json'), 'utf8'));
  expect(proof.source.completeAsOf > receipt.source.completeAsOf).toBe(true);
});

test('a dataset that is proven to be empty has a snapshot, and no change', async () => {
  const { sync, lake, there } = await setup({ rows: 0 });
  await sync('news');
  const laid = { job: 'news', seq: null, files: [expect.stringMatching(/news\.parquet$/)], changes: 0 };
  expect(JSON.parse((await lake('news', '--json')).stdout)).toMatchObject([{ exitCode: 0, laid }]);
  expect(readdirSync(join(there, 'news')).sort()).toEqual(['_proof.json', 'snapshots']);
});

test('a receipt that is lacking, for a lake was killed before it, is made of the file', async () => {
  const { sync, lake, there, file, clock, model } = await setupMirrored();
  await lake();
  const receipts = files(there).filter((name) => /\/_(\d+|ai_signals)\.json$/.test(name));
  expect(receipts.length).toBeGreaterThan(5);
  const before = receipts.map((name) => readFileSync(join(there, name), 'utf8'));
  for (const name of receipts) rmSync(join(there, name));
  expect((await lake()).stdout).toContain('ai-signals: nothing new');
  expect(receipts.map((name) => readFileSync(join(there, name), 'utf8'))).toEqual(before);
  edit({ model, clock }, 1);
  await sync();
  await lake();
  await expectEqual(file, there);
});

test('old snapshots go, the latest never', async () => {
  const { sync, run, there, clock } = await setup();
  const lake = () => run(['lake'], { MIRROR_LAKE: there, MIRROR_KEEP_SNAPSHOTS: '2d' });
  const days = () => readdirSync(join(there, 'news/snapshots')).length;
  await sync('news');
  await lake();
  for (let day = 1; day <= 4; day += 1) {
    clock.advance(24 * 3_600_000);
    await sync('news');
    expect((await lake()).code).toBe(0);
  }
  expect(days()).toBe(3);
  // A clock that went ahead is not believed.
  clock.advance(400 * 24 * 3_600_000);
  expect((await lake()).code).toBe(0);
  expect(days()).toBe(2);
});

test('a mirror that was restored from a backup begins another folder, and the one before it is refused', async () => {
  const { sync, lake, there, file, clock, model, run, cwd } = await setupMirrored();
  await lake();
  await run(['backup', join(cwd, 'copy.db')]);
  edit({ model, clock }, 1);
  await sync('ai-signals');
  await lake();
  const before = readFileSync(file);
  writeFileSync(file, readFileSync(join(cwd, 'copy.db')));
  for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  edit({ model, clock }, 2);
  await sync('ai-signals');
  expect((await lake()).code).toBe(0);
  expect((await lake('--check')).code).toBe(0);
  await expectEqual(file, there);
  expect(readdirSync(join(there, 'ai_signals/changes')).sort()).toEqual(['epoch=1', 'epoch=2']);
  writeFileSync(file, before);
  for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  expect(await lake()).toMatchObject({ code: 78, stdout: expect.stringContaining('restored from a backup') });
});

describe('the mirror goes on', () => {
  /** Puts a database in the place of the mirror's. */
  const putInPlace = (file: string, database: Buffer) => {
    writeFileSync(file, database);
    for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  };
  type Bench = Awaited<ReturnType<typeof setupMirrored>>;

  test.each<[string, string[], (bench: Bench) => Promise<void>]>([
    [
      'in its folder where walks have been forgotten',
      ['epoch=1'],
      async ({ sync, file }) => {
        await sync('ai-signals');
        new Database(file).exec(`DELETE FROM walks WHERE id < (SELECT max(id) FROM walks)`).close();
      },
    ],
    [
      'in another folder where it was restored, though nothing has changed since',
      ['epoch=1', 'epoch=2'],
      async ({ run, cwd, file }) => {
        await run(['backup', join(cwd, 'copy.db')]);
        putInPlace(file, readFileSync(join(cwd, 'copy.db')));
      },
    ],
    [
      'in another folder where one that has no file yet begins behind the first change',
      ['epoch=1', 'epoch=2'],
      async ({ there }) => {
        const epoch = join(there, 'ai_signals/changes/epoch=1');
        const begun = JSON.parse(readFileSync(join(epoch, '_epoch.json'), 'utf8'));
        rmSync(epoch, { recursive: true });
        mkdirSync(epoch);
        const later = { ...begun, from: begun.from + 3_600_000 };
        writeFileSync(join(epoch, '_epoch.json'), JSON.stringify(later));
      },
    ],
    [
      'in another folder where an older file was put in its place, and has gone another way since',
      ['epoch=1', 'epoch=2'],
      async (bench) => {
        const { sync, lake, clock, file } = bench;
        const older = readFileSync(file);
        edit(bench, 1);
        await sync('ai-signals');
        await lake();
        putInPlace(file, older);
        clock.advance(1_000);
        edit(bench, 2);
        await sync('ai-signals');
      },
    ],
  ])('%s', async (_, folders, change) => {
    const bench = await setupMirrored();
    await bench.lake();
    await change(bench);
    expect((await bench.lake('ai-signals')).code).toBe(0);
    expect(readdirSync(join(bench.there, 'ai_signals/changes')).sort()).toEqual(folders);
  });
});

test('where changes were forgotten before they came there, another folder begins', async () => {
  const { lake, there, file, clock, model, run } = await setupMirrored();
  const keep = { MIRROR_KEEP_HISTORY: '1d', MIRROR_KEEP_RECORDS: '1d' };
  await lake();
  for (let round = 1; round <= 4; round += 1) {
    clock.advance(24 * 3_600_000);
    edit({ model, clock }, round);
    await run(['sync', 'ai-signals'], keep);
  }
  expect((await lake()).code).toBe(0);
  expect(readdirSync(join(there, 'ai_signals/changes')).sort()).toEqual(['epoch=1', 'epoch=2']);
  const present = await duckdb(`SELECT _key FROM ${presentIn(there, 'ai_signals')}`);
  expect(present.map(({ _key }) => _key).sort()).toEqual(idsOf(file));
});

test('a folder that holds other files, follows another mirror or was made by another version is left as it is', async () => {
  const { lake, there } = await setupMirrored();
  mkdirSync(there);
  writeFileSync(join(there, 'notes.txt'), 'mine');
  expect(await lake()).toMatchObject({ code: 78, stderr: expect.stringContaining('holds other files') });
  expect(readdirSync(there)).toEqual(['notes.txt']);
  rmSync(join(there, 'notes.txt'));
  await lake();
  const owner = join(there, '_market-mirror.json');
  const text = readFileSync(owner, 'utf8');
  for (const [change, said] of [
    [{ mirror: 'another' }, 'follows another mirror'],
    [{ version: 99 }, 'newer market-mirror'],
    [{ version: 1 }, 'development version'],
  ] as const) {
    const changed = JSON.stringify({ ...JSON.parse(text), ...change });
    writeFileSync(owner, changed);
    const before = files(there);
    expect(await lake()).toMatchObject({
      code: 78,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^market-mirror: .*${said}.*\n$`)),
    });
    expect([readFileSync(owner, 'utf8'), files(there)]).toEqual([changed, before]);
  }
  writeFileSync(owner, 'no json');
  expect(await lake()).toMatchObject({ code: 78, stderr: expect.stringContaining('_market-mirror.json') });
});
