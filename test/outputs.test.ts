import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { startCli } from './helpers/cli.ts';
import { nodeOfSources, sourceAddress } from './helpers/sources.ts';
import { setupSync } from './helpers/sync-bench.ts';

test('in a folder that is gone a command ends with 78 and one line', async () => {
  const { cwd, environment } = await setupSync();
  const stage = 'mkdir gone; cd gone; rmdir ../gone;';
  const { code, stderr } = await startCli(['status'], environment, cwd, stage).ended;
  expect([code, stderr]).toEqual([78, 'market-mirror: the working folder is gone: cd to one that exists\n']);
});

describe('standard output', () => {
  test('on a full disk ends with 74 and one line', async () => {
    const { cwd, environment, sync } = await setupSync({ rows: 5 });
    expect((await sync('usage')).code).toBe(0);
    for (const args of [['--help'], ['export', 'usage']]) {
      const { code, stderr } = await startCli(args, environment, cwd, 'exec > /dev/full;').ended;
      const line =
        'market-mirror: standard output cannot be written (ENOSPC): the disk is full: free space, then run again\n';
      expect([args, code, stderr]).toEqual([args, 74, line]);
    }
  });

  test('that nobody reads any more is no failure', async () => {
    const { cwd, environment } = await setupSync();
    const stage = 'mkfifo gone; (exec 3< gone) & exec > gone; wait;';
    expect(await startCli(['--help'], environment, cwd, stage).ended).toMatchObject({ code: 0, stderr: '' });
  });
});

test('standard error on a full disk ends no daemon: its log goes on, whatever is lost of it', () => {
  const script = `
    const { createLog } = await import(${JSON.stringify(sourceAddress('base/log.ts'))});
    const log = createLog('info', false);
    for (let line = 0; line < 20_000; line++) log.warn({ line }, 'x'.repeat(100));
    console.log('alive', process.memoryUsage().arrayBuffers < 50_000_000);`;
  const stage = ['-c', 'exec "$@" 2> /dev/full', 'sh', process.execPath, ...nodeOfSources, '-e', script];
  const { status, stdout } = spawnSync('sh', stage, { encoding: 'utf8' });
  expect([status, stdout]).toEqual([0, 'alive true\n']);
});
