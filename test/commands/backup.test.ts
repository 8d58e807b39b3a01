import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
// Loaded before a walk begins, which would not wait for it.
import '../../src/commands/backup.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { BackupReceipt } from '../../src/reading/backup.ts';
import { isRefused, openAdmission } from '../../src/serve/access/admission.ts';
import type { Ended } from '../helpers/cli.ts';
import { runMain } from '../helpers/main.ts';
import { CANARY, idsOf, read, setupSync, truth } from '../helpers/sync-bench.ts';

test('a backup taken amid a walk can be restored, and its walk goes on where it stood', async () => {
  let calls = 0;
  let taken: Promise<Ended> | undefined;
  const { cwd, run, model, sync } = await setupSync({
    rows: 1_050,
    beforeAnswer() {
      calls += 1;
      if (calls === 6) taken = run(['backup', join(cwd, 'backup.db'), '--json']);
    },
  });
  expect((await sync('ai-signals')).code).toBe(0);
  const { code, stdout, stderr } = (await taken) as Ended;
  expect([code, stderr]).toEqual([0, '']);

  const file = join(cwd, 'backup.db');
  const bytes = readFileSync(file);
  const receipt = JSON.parse(stdout) as BackupReceipt;
  const [walk] = read<{ rows: number; next_offset: number }>(file, 'SELECT rows, next_offset FROM walks');
  expect(receipt).toMatchObject({
    version: 1,
    file,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  });
  expect(receipt.datasets).toContainEqual({
    job: 'ai-signals',
    rows: walk?.rows,
    completeAsOf: null,
    verdict: null,
  });
  expect(walk?.rows).toBeGreaterThan(0);
  expect(walk?.rows).toBeLessThan(1_050);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(bytes.includes(CANARY)).toBe(false);
  expect(readdirSync(cwd).sort()).toEqual(['backup.db', 'data']);

  const restored = join(cwd, 'restored');
  mkdirSync(restored);
  copyFileSync(file, join(restored, 'mirror.db'));
  const before = model.calls.length;
  expect((await run(['sync', 'ai-signals'], { MIRROR_DIR: restored })).code).toBe(0);
  expect(model.calls[before]?.query['offset']).toBe(String(walk?.next_offset));
  expect(idsOf(join(restored, 'mirror.db'))).toEqual(truth(model));
});

/** A mirror of 12 rows, and a key. */
async function serving() {
  const bench = await setupSync({ rows: 12 });
  await bench.sync('ai-signals');
  const { stdout } = await bench.run(['keys', 'create', '--name', 'reports', '--json']);
  const { key } = JSON.parse(stdout) as { key: string };
  const target = join(bench.cwd, 'mirror-backup.db');
  const served = join(bench.cwd, 'mirror-backup.serve.db');
  return { ...bench, key, target, served, backup: (...args: string[]) => bench.run(['backup', ...args]) };
}

test('a place that is taken, or is none, is refused before the work begins, and --force replaces a file', async () => {
  const { backup, cwd, file, target, served } = await serving();
  const refused = async (place: string, words: string, ...options: string[]) =>
    expect(await backup(place, ...options)).toMatchObject({
      code: 64,
      stderr: expect.stringContaining(words),
    });
  writeFileSync(target, 'mine');
  await refused(target, `market-mirror: ${target} exists already: --force replaces it\n`);
  expect(readFileSync(target, 'utf8')).toBe('mine');
  rmSync(target);
  writeFileSync(served, 'mine');
  await refused(target, `${served} exists already`);
  expect(existsSync(target)).toBe(false);
  await refused(file, 'is mirror.db itself', '--force');
  await refused(join(cwd, 'data/serve.db'), 'is serve.db itself', '--force');
  await refused(join(cwd, 'none/backup.db'), 'there is no folder');
  writeFileSync(`${target}-wal`, '');
  await refused(target, 'is in use there', '--force');
  rmSync(`${target}-wal`);
  writeFileSync(target, 'mine');
  const { code, stdout } = await backup(target, '--force');
  expect(code).toBe(0);
  expect(stdout).toMatch(/backup\.db: 12 rows, [\d,]+ bytes, checked\n/);
  expect([idsOf(target).length, idsOf(file).length]).toEqual([12, 12]);
});

test('a damaged mirror makes no backup, and says so; nor does one that is stopped', async () => {
  const { backup, file, cwd, target, environment, clock } = await serving();
  const stopped = await runMain(['backup', target], environment, clock, AbortSignal.abort());
  expect(stopped).toMatchObject({ code: 75, stderr: 'market-mirror: stopped: no backup was made\n' });
  const bytes = readFileSync(file);
  const [page] = read<{ page: number }>(
    file,
    `SELECT rootpage AS page FROM sqlite_master WHERE name = '_ai_signals_rows'`,
  );
  bytes.fill(0xff, ((page?.page ?? 0) - 1) * 4_096, (page?.page ?? 0) * 4_096);
  writeFileSync(file, bytes);
  const { code, stderr } = await backup(target);
  expect([code, stderr]).toEqual([74, expect.stringContaining('the database is damaged')]);
  expect(readdirSync(cwd)).toEqual(['data']);
});

test('its keys and limits go along, checked, and open the service that is restored from them', async () => {
  const { cwd, key, target, served, backup } = await serving();
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

test.each([false, true])(
  'where the mirror cannot be put in its place, nor are its keys; with --force: %s',
  async (force) => {
    const { cwd, target, served, backup } = await serving();
    if (force) writeFileSync(served, 'of before');
    const taken = backup(target, ...(force ? ['--force'] : []));
    // The place is taken while the copies are being made.
    while (!readdirSync(cwd).some((name) => name.endsWith('.partial'))) await new Promise(setImmediate);
    mkdirSync(target);
    expect(await taken).toMatchObject({ code: 64, stderr: expect.stringContaining('is a folder') });
    expect(readdirSync(cwd).filter((name) => !['data', 'mirror-backup.db'].includes(name))).toEqual(
      force ? ['mirror-backup.serve.db'] : [],
    );
    if (force) expect(readFileSync(served, 'utf8')).toBe('of before');
  },
);

test('a damaged serve.db makes no backup at all, and is named', async () => {
  const { cwd, target, backup } = await serving();
  writeFileSync(join(cwd, 'data/serve.db'), Buffer.alloc(24_576, 'x'));
  const { code, stderr } = await backup(target);
  expect([code, stderr]).toEqual([74, expect.stringContaining('serve.db')]);
  expect(readdirSync(cwd)).toEqual(['data']);
});
