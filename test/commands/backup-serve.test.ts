import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { BackupReceipt } from '../../src/reading/backup.ts';
import { isRefused, openAdmission } from '../../src/serve/service/admission.ts';
import { read, setupSync } from '../helpers/sync-bench.ts';

async function setup() {
  const bench = await setupSync({ rows: 12 });
  await bench.sync('ai-signals');
  const { stdout } = await bench.run(['keys', 'create', '--name', 'reports', '--json']);
  const { key } = JSON.parse(stdout) as { key: string };
  const target = join(bench.cwd, 'mirror-backup.db');
  const served = join(bench.cwd, 'mirror-backup.serve.db');
  return { ...bench, key, target, served, backup: (...args: string[]) => bench.run(['backup', ...args]) };
}

test('keys and limits go along, checked, and open the service that is restored from them', async () => {
  const { cwd, key, target, served, backup } = await setup();
  const { code, stdout } = await backup(target, '--json');
  expect(code).toBe(0);
  const { serve, file } = JSON.parse(stdout) as BackupReceipt;
  expect([file, serve]).toEqual([
    target,
    { file: served, bytes: statSync(served).size, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
  ]);
  expect(statSync(served).mode & 0o777).toBe(0o600);
  expect(readFileSync(served).includes(key)).toBe(false);
  expect(readdirSync(cwd).sort()).toEqual(['data', 'mirror-backup.db', 'mirror-backup.serve.db']);

  const restored = join(cwd, 'restored');
  mkdirSync(restored);
  copyFileSync(served, join(restored, 'serve.db'));
  const admission = openAdmission(restored, systemClock, () => undefined);
  const visitor = { authorization: `Bearer ${key}`, address: '127.0.0.1', scope: 'news:read' };
  expect(isRefused(admission.identify(visitor))).toBe(false);
  admission.close();
});

test('what is written to them meanwhile is in the copy or not, and the copy whole', async () => {
  const { run, target, served, backup } = await setup();
  const taken = backup(target);
  for (const name of ['a', 'b', 'c']) await run(['keys', 'create', '--name', name]);
  expect((await taken).stdout).toMatch(/mirror-backup\.serve\.db: keys and limits, [\d,]+ bytes, checked\n$/);
  expect(read<{ name: string }>(served, 'SELECT name FROM keys')[0]?.name).toBe('reports');
});

test('a place that is taken, or a database in use, is refused before the work begins', async () => {
  const { cwd, target, served, backup } = await setup();
  writeFileSync(served, 'mine');
  expect(await backup(target)).toMatchObject({
    code: 64,
    stderr: expect.stringContaining(`${served} exists already`),
  });
  expect(existsSync(target)).toBe(false);
  const itself = await backup(join(cwd, 'data/serve.db'), '--force');
  expect(itself).toMatchObject({ code: 64, stderr: expect.stringContaining('is serve.db itself') });
  expect((await backup(target, '--force')).code).toBe(0);
});

test('a damaged one makes no backup at all, and is named', async () => {
  const { cwd, target, backup } = await setup();
  writeFileSync(join(cwd, 'data/serve.db'), Buffer.alloc(24_576, 'x'));
  const { code, stderr } = await backup(target);
  expect([code, stderr]).toEqual([74, expect.stringContaining('serve.db')]);
  expect(readdirSync(cwd)).toEqual(['data']);
});
