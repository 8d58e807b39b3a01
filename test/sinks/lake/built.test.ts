/** `lake` of the built program, which can be killed and given limits. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCli, startCli } from '../../helpers/cli.ts';
import { edit } from '../edit.ts';
import { expectEqual, setup } from './bench.ts';

async function setupProcesses(rows = 12) {
  const bench = await setup({ rows });
  const environment = { MIRROR_DIR: bench.environment.MIRROR_DIR, MIRROR_LAKE: bench.there };
  return {
    ...bench,
    start: (before?: string) => startCli(['lake'], environment, bench.cwd, before),
    run: () => runCli(['lake'], environment, bench.cwd),
  };
}

test('two lakes at once, killed again and again, put every change once', async () => {
  const { sync, start, run, there, file, model, clock } = await setupProcesses();
  await sync();
  const began = performance.now();
  await run();
  const takes = performance.now() - began;
  for (let round = 1; round <= 3; round += 1) {
    clock.advance(9 * 3_600_000);
    edit({ model, clock }, round);
    await sync('ai-signals');
    const both = [start(), start()];
    // At moments that are spread over all that one does.
    const timers = both.map(({ child }, at) =>
      setTimeout(() => child.kill('SIGKILL'), takes * (0.25 + 0.2 * round + 0.1 * at)),
    );
    onTestFinished(() => timers.forEach(clearTimeout));
    const ended = await Promise.all(both.map(({ ended }) => ended));
    timers.forEach(clearTimeout);
    expect(ended.filter(({ code }) => code !== 0 && code !== null)).toEqual([]);
  }
  expect(await run()).toMatchObject({ code: 0 });
  await expectEqual(file, there);
});

test('a disk that has no room is named, nothing half is left, and the next lake goes on', async () => {
  const { sync, start, run, there, file } = await setupProcesses(600);
  await sync();
  // As a file that may not grow, though the index of the mirror's log may.
  const { code, stdout, stderr } = await start('ulimit -f 80;').ended;
  expect(code).toBe(74);
  expect(stdout + stderr).toContain('EFBIG');
  const left = existsSync(join(there, '_partial')) ? readdirSync(join(there, '_partial')) : [];
  expect(left).toEqual([]);
  expect(await run()).toMatchObject({ code: 0 });
  await expectEqual(file, there);
});
