import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { edit } from '../edit.ts';
import { expectEqual, setupMirrored } from './bench.ts';

test('lakes that come to one range at the same moment put it there once', async () => {
  const { sync, lake, there, file, model, clock } = await setupMirrored(12);
  expect((await Promise.all([lake(), lake(), lake()])).map(({ code }) => code)).toEqual([0, 0, 0]);
  edit({ model, clock }, 1);
  await sync();
  const ended = await Promise.all([lake(), lake(), lake()]);
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(readdirSync(join(there, 'ai_signals/changes'))).toEqual(['epoch=1']);
  await expectEqual(file, there);
});

test('a lake where a file stands is refused in one line', async () => {
  const { lake, there } = await setupMirrored(3);
  writeFileSync(there, 'a file');
  const { code, stderr } = await lake();
  expect([code, stderr.trim().split('\n').length]).toEqual([74, 1]);
  expect(stderr).toContain('ENOTDIR');
});

test('a file that a killed lake left is removed by the next lake, and not by --check, which writes nothing', async () => {
  const { lake, there } = await setupMirrored(3);
  await lake();
  mkdirSync(join(there, '_partial'), { recursive: true });
  const left = join(there, '_partial/4711-1.parquet');
  writeFileSync(left, '');
  expect((await lake('--check')).code).toBe(0);
  expect(existsSync(left)).toBe(true);
  expect((await lake()).code).toBe(0);
  expect(existsSync(left)).toBe(false);
});
