import { cpSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { Database } from '../../../src/store/sqlite.ts';
import { edit } from '../edit.ts';
import { publishRaw } from '../raw.ts';
import { duckdb, expectEqual, setup } from './bench.ts';

/** Files of changes of one dataset, and what `lake --verify` says of it. */
async function laid() {
  const bench = await setup();
  for (const round of [1, 2, 3]) {
    edit(bench, round);
    await bench.sync('ai-signals');
    expect((await bench.lake()).code).toBe(0);
    bench.clock.advance(9 * 3_600_000);
  }
  const changes = join(bench.there, 'ai_signals/changes/course=1');
  const files = (readdirSync(changes, { recursive: true, encoding: 'utf8' }) as string[])
    .filter((name) => name.endsWith('.parquet'))
    .sort()
    .map((name) => join(changes, name));
  expect(files.length).toBeGreaterThan(2);
  const verify = async () => {
    const { code, stdout } = await bench.run(['lake', 'ai-signals', '--verify', '--json'], {
      MIRROR_LAKE: bench.there,
    });
    const [{ verified }] = JSON.parse(stdout);
    return { code, ...verified };
  };
  return { ...bench, files: files as [string, string, string], verify };
}

test('a lake that is whole is found to be so, in words and as JSON', async () => {
  const { run, there, verify, files } = await laid();
  const { code, stdout } = await run(['lake', '--verify'], { MIRROR_LAKE: there });
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^ai-signals: nothing new, up to change \d+, \d+ files with \d+ rows as the mirror has them\n/,
  );
  expect(await verify()).toMatchObject({ code: 0, files: files.length + 2, older: 0, differences: [] });
});

test('files that are damaged, that somebody made or whose rows differ are named, and a missing one is put there again, but not by --check', async () => {
  const bench = await laid();
  const { verify, files, file, there, sync } = bench;
  const [first, second] = files;
  const last = files.at(-1) as string;
  const kept = readFileSync(second);
  const ofDay = readdirSync(dirname(second));
  const spoiled = Buffer.from(kept);
  spoiled[40] = (spoiled[40] ?? 0) ^ 1;
  for (const [spoil, said] of [
    [() => writeFileSync(second, spoiled), 'another digest'],
    [() => truncateSync(second, 100), 'another digest'],
    [() => cpSync(second, join(second, '../mine.parquet')), 'is no file of the lake'],
    [() => cpSync(second, second.replace('.parquet', ' (copy).parquet')), 'is no file of the lake'],
    [() => cpSync(second, join(second, `../0${basename(second)}`)), 'is no file of the lake'],
  ] as const) {
    spoil();
    expect(await bench.lake('ai-signals', '--check')).toMatchObject({
      code: 75,
      stdout: expect.stringContaining(said),
    });
    const { code, differences } = await verify();
    expect([code, differences]).toEqual([
      74,
      [{ file: expect.stringMatching(/\.parquet$/), message: expect.stringContaining(said), mended: false }],
    ]);
    writeFileSync(second, kept);
    for (const name of readdirSync(dirname(second)).filter((one) => !ofDay.includes(one)))
      rmSync(join(dirname(second), name));
  }

  rmSync(second);
  const receipt = second.replace(/(\d+)\.parquet$/, '_$1.json');
  rmSync(first.replace(/(\d+)\.parquet$/, '_$1.json'));
  const before = readdirSync(there, { recursive: true });
  for (const _ of ['once', 'and again'])
    expect(await bench.lake('ai-signals', '--check')).toMatchObject({
      code: 75,
      stdout: expect.stringMatching(/changes after \d+, up to \d+, are missing\n$/),
    });
  expect(readdirSync(there, { recursive: true })).toEqual(before);
  expect(before).toContain(receipt.slice(there.length + 1));
  expect(await verify()).toMatchObject({
    code: 0,
    differences: [{ message: expect.stringContaining('are missing'), mended: true }],
  });
  await expectEqual(file, there);
  expect(await verify()).toMatchObject({ code: 0, differences: [] });

  // Also of the last one, whose receipt stayed: what has come since is in it.
  rmSync(last);
  edit(bench, 4);
  await sync('ai-signals');
  expect(await bench.lake('ai-signals', '--check')).toMatchObject({
    code: 75,
    stdout: expect.stringMatching(/changes after \d+ are not there yet\n$/),
  });
  expect(await verify()).toMatchObject({ code: 0, differences: [] });
  expect((await bench.lake('ai-signals', '--check')).code).toBe(0);
  await bench.lake();
  await expectEqual(file, there);

  // Where file and receipt agree, only the mirror's rows can tell: --check does not read them.
  const mirror = new Database(file);
  mirror.exec(`UPDATE _ai_signals_history_rows SET asset = 'another' WHERE rowid = 1`);
  mirror.close();
  expect(await bench.lake('ai-signals', '--check')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^ai-signals: \d+ files with \d+ rows as their receipts say\n/),
  });
  const { code, differences } = await verify();
  expect(code).toBe(74);
  expect(differences[0]).toMatchObject({
    message: expect.stringMatching(/1 with other values: \d+ \S+ insert/),
  });
  expect(differences[0].file).toBe(first.slice(there.length + 1));
});

test('what the mirror has forgotten is proven by its digest alone', async () => {
  const { run, there, sync, clock, model, files } = await laid();
  for (let round = 4; round <= 7; round += 1) {
    clock.advance(24 * 3_600_000);
    edit({ model, clock }, round);
    await run(['sync', 'ai-signals'], { MIRROR_KEEP_HISTORY: '1d', MIRROR_KEEP_RECORDS: '1d' });
    await run(['lake'], { MIRROR_LAKE: there });
  }
  await sync('ai-signals');
  const look = () => run(['lake', 'ai-signals', '--verify'], { MIRROR_LAKE: there });
  expect(await look()).toMatchObject({ code: 0, stdout: expect.stringContaining('by digest alone') });
  renameSync(files[1], `${files[1]}.away`);
  expect(await look()).toMatchObject({ code: 74, stdout: expect.stringContaining('are missing\n') });
});

test('a file is right whatever its texts begin with and however its whole numbers are written, also once their column is wider', async () => {
  const bench = await setup();
  const rows = ['1', '2.0', '3e1', '-0', '-0.0', '1e-400'].map(
    (whole, at) => `{"id": "\\ufeff${at}", "text": "\ufeff\ufeffin front", "whole": ${whole}}`,
  );
  for (const further of ['1', '1.5', '9007199254740993', '"a text"']) {
    publishRaw(bench.model, 'news', [...rows, `{"id": "another", "whole": ${further}}`]);
    bench.clock.advance(25 * 3_600_000);
    await bench.sync('news');
    expect(await bench.lake('news')).toMatchObject({ code: 0 });
    expect(await bench.lake('news', '--check')).toMatchObject({ code: 0 });
    expect(await bench.lake('news', '--verify')).toMatchObject({ code: 0 });
    if (further !== '1') continue;
    const [schema] = await duckdb<{ type: string }>(
      `SELECT type FROM parquet_schema('${bench.there}/news/changes/*/*/*.parquet') WHERE name = 'whole'`,
    );
    expect(schema).toEqual({ type: 'INT64' });
  }
});

test('a column whose values have had every type is whole, in the files of each time', async () => {
  const bench = await setup();
  const steps: [strength: unknown, flag: unknown][][] = [
    [
      [7, true],
      [8, false],
    ],
    [
      [7.5, true],
      [0.25, true],
    ],
    [
      [9223372036854776000, 'yes'],
      [8.25, false],
    ],
    [
      ['soon', true],
      [false, 1],
    ],
    [
      [[1, 'a'], 'no'],
      [{ b: 1.5 }, false],
    ],
  ];
  for (const values of steps) {
    for (const [at, [strength, flag]] of values.entries())
      Object.assign(bench.model.data.news.rows[at] ?? {}, { strength, flag });
    bench.clock.advance(25 * 3_600_000);
    await bench.sync('news');
    expect((await bench.lake('news')).code).toBe(0);
    expect(await bench.lake('news', '--verify')).toMatchObject({ code: 0 });
  }
  const files = `'${bench.there}/news/changes/*/*/*.parquet'`;
  const types = async (name: string) => {
    const sql = `SELECT DISTINCT type FROM parquet_schema(${files}) WHERE name = '${name}' ORDER BY 1`;
    return (await duckdb<{ type: string }>(sql)).map(({ type }) => type);
  };
  expect(await types('strength')).toEqual(['BYTE_ARRAY', 'DOUBLE', 'INT64']);
  expect(await types('flag')).toEqual(['BOOLEAN', 'BYTE_ARRAY']);
  const texts = await duckdb<{ s: string }>(
    `SELECT strength AS s FROM read_parquet(${files}, union_by_name = true) WHERE s IS NOT NULL ORDER BY _seq, s`,
  );
  expect(texts.map(({ s }) => s).slice(-6)).toEqual([
    '8.25',
    '9223372036854776000',
    'false',
    'soon',
    '[1,"a"]',
    '{"b":1.5}',
  ]);
});
