import { cpSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { edit } from '../edit.ts';
import { setup } from './bench.ts';

/** Files of changes of one dataset, and what `lake --check` says of it. */
async function laid() {
  const bench = await setup();
  for (const round of [1, 2, 3]) {
    edit(bench, round);
    await bench.sync('ai-signals');
    expect((await bench.lake()).code).toBe(0);
    bench.clock.advance(9 * 3_600_000);
  }
  const changes = join(bench.there, 'ai_signals/changes/epoch=1');
  const files = (readdirSync(changes, { recursive: true, encoding: 'utf8' }) as string[])
    .filter((name) => name.endsWith('.parquet'))
    .sort()
    .map((name) => join(changes, name));
  expect(files.length).toBeGreaterThan(2);
  const check = async () => {
    const { code, stdout } = await bench.lake('ai-signals', '--check', '--json');
    const [{ checked }] = JSON.parse(stdout);
    return { code, ...checked };
  };
  return { ...bench, files, check };
}

test('a lake that is whole is found to be so, in words and as JSON', async () => {
  const { lake, check, files } = await laid();
  const { code, stdout } = await lake('--check');
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^ai-signals: \d+ files with \d+ rows as their receipts say\n/),
  ]);
  expect(await check()).toMatchObject({ code: 0, files: files.length + 2, differences: [] });
});

test('what is damaged, missing, no file of the lake or not there yet is named, and nothing is written', async () => {
  const bench = await laid();
  const { check, files, sync } = bench;
  const second = files[1] as string;
  const kept = readFileSync(second);
  const spoiled = Buffer.from(kept);
  spoiled[40] = (spoiled[40] ?? 0) ^ 1;
  const receipt = join(dirname(second), `_${basename(second).replace('parquet', 'json')}`);
  const away = join(bench.cwd, 'away');
  const snapshots = join(bench.there, 'ai_signals/snapshots');
  for (const [spoil, mend, said] of [
    [() => writeFileSync(second, spoiled), () => writeFileSync(second, kept), 'another digest'],
    [() => truncateSync(second, 100), () => writeFileSync(second, kept), 'another digest'],
    [
      () => cpSync(second, join(second, '../mine.parquet')),
      () => rmSync(join(second, '../mine.parquet')),
      'is no file of the lake',
    ],
    [() => renameSync(second, away), () => renameSync(away, second), 'are missing'],
    [() => renameSync(receipt, away), () => renameSync(away, receipt), 'has no receipt'],
    [() => renameSync(snapshots, away), () => renameSync(away, snapshots), 'there is no snapshot yet'],
  ] as const) {
    spoil();
    const found = await check();
    expect([found.code, found.differences]).toEqual([
      75,
      [{ file: expect.anything(), message: expect.stringContaining(said) }],
    ]);
    mend();
  }
  edit(bench, 4);
  await sync('ai-signals');
  const { code, differences } = await check();
  expect([code, differences]).toEqual([
    75,
    [{ file: 'ai_signals/changes/epoch=1', message: expect.stringMatching(/are not there yet$/) }],
  ]);
});

test.each([
  ['a folder without its snapshot', ['ai_signals.parquet', '_ai_signals.json']],
  ['a snapshot without its receipt', ['_ai_signals.json']],
])('%s, which a killed lake left, is whole or nothing on the next day', async (_, lacking) => {
  const { sync, lake, there, clock } = await setup();
  await sync('ai-signals');
  await lake('ai-signals');
  const [day = ''] = readdirSync(join(there, 'ai_signals/snapshots'));
  for (const name of lacking) rmSync(join(there, 'ai_signals/snapshots', day, name));
  clock.advance(24 * 3_600_000);
  expect((await lake('ai-signals')).code).toBe(0);
  expect((await lake('ai-signals', '--check')).code).toBe(0);
});
