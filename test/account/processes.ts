/** Mirrors that share an account, each in a folder of its own, as commands in processes of their own. */

import { join } from 'node:path';
import type { ModelOptions } from '../../model-api/index.ts';
import type { Status } from '../../src/reading/status.ts';
import { startCli } from '../helpers/cli.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { runMain } from '../helpers/main.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { sharedClock } from '../helpers/virtual-clock.ts';
import { redisServer } from '../queue/setup.ts';
import { ACCOUNT } from './bench.ts';

export async function setup(options: ModelOptions = {}) {
  const server = await redisServer();
  const bench = await setupSync(options, sharedClock());
  const account = { REDIS_URL: server.url, MIRROR_ACCOUNT: ACCOUNT };
  /** A folder of a mirror on another machine. */
  const machine = (settings: Record<string, string> = {}) => {
    const cwd = temporaryFolder();
    const folder = { MIRROR_DIR: join(cwd, 'data') };
    const environment = { ...bench.environment, ...account, ...folder, ...settings };
    const start = (...args: string[]) => startCli(args, environment, cwd);
    const status = async () =>
      JSON.parse((await runMain(['status', '--json'], environment, bench.clock)).stdout) as Status;
    return { file: join(cwd, 'data/mirror.db'), start, status };
  };
  return { ...bench, server, account, machine, run: (...args: string[]) => bench.run(args, account) };
}
