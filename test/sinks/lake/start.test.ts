import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runCli } from '../../helpers/cli.ts';
import { releaseAll, setup, within } from '../../helpers/daemon-bench.ts';
import { expectEqual } from './bench.ts';

afterEach(releaseAll);

test('the daemon lays a lake after its proofs, mirrors on where it cannot, says so, and goes on by itself', async () => {
  const { start, environment, cwd, complete } = await setup(
    {},
    { MIRROR_LAKE: './lake', MIRROR_LAKE_EVERY: '100ms' },
  );
  const there = join(cwd, 'lake');
  mkdirSync(there);
  writeFileSync(join(there, '_partial'), 'no folder');
  const daemon = start();
  await expect.poll(complete, within).toBe(5);
  const status = async () => JSON.parse((await runCli(['status', '--json'], environment, cwd)).stdout);
  await expect.poll(async () => (await status()).lake?.trouble?.message, within).toContain('cannot be');
  const { problems, lake } = await status();
  expect(problems).toContainEqual(expect.objectContaining({ code: 'lake-behind', level: 'warning' }));
  expect(lake.changes).toBeGreaterThan(130);
  rmSync(there, { recursive: true });
  await expect
    .poll(async () => (await status()).lake, { ...within, timeout: 20_000 })
    .toEqual({ changes: 0, seconds: 0, trouble: null });
  daemon.child.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
  expect(daemon.output()).toContain('mirroring goes on');
  expect(daemon.output()).toContain('the lake goes on');
  await expectEqual(join(cwd, 'data/mirror.db'), there);
});
