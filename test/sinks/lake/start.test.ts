import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { setup, sparingly } from '../../helpers/daemon-bench.ts';
import { memoryFolder } from '../../helpers/folder.ts';
import { expectEqual } from './bench.ts';

test('the daemon lays a lake after its proofs, mirrors on where it cannot, says so, and goes on by itself', async () => {
  const there = memoryFolder('mm-lake-');
  const { start, status, file, complete } = await setup(
    {},
    { MIRROR_LAKE: there, MIRROR_LAKE_EVERY: '100ms' },
  );
  writeFileSync(join(there, '_partial'), 'no folder');
  const daemon = start();
  await expect.poll(complete, sparingly).toBe(5);
  await expect
    .poll(async () => (await status()).status.lake?.trouble?.message, sparingly)
    .toContain('cannot be');
  const { problems, lake } = (await status()).status;
  expect(problems).toContainEqual(expect.objectContaining({ code: 'lake-behind', level: 'warning' }));
  expect(lake?.changes).toBeGreaterThan(130);
  rmSync(join(there, '_partial'));
  await expect
    .poll(async () => (await status()).status.lake, sparingly)
    .toEqual({ changes: 0, seconds: 0, trouble: null });
  daemon.child.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
  expect(daemon.output()).toContain('mirroring goes on');
  expect(daemon.output()).toContain('the lake goes on');
  await expectEqual(file, there);
});
