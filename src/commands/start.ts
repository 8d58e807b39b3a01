/** `market-mirror start`: the daemon. */

import { Command } from 'commander';
import { readLocalConfig } from '../config.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

export function startCommand(context: Context): Command {
  const command = new Command('start').action(async () => {
    // Loaded only here: the other commands need no queue, and start in half the time without it.
    const [{ runDaemon }, { createLog }] = await Promise.all([
      import('../daemon.ts'),
      import('../base/log.ts'),
    ]);
    const { environment, clock, random, signal, stderr } = context;
    const isWatched = stderr.isTTY === true;
    const log = createLog(readLocalConfig(environment).logLevel, isWatched);
    await runDaemon({ environment, clock, random, log, retryRefused: isWatched }, signal);
  });
  return withExamples(command, ['until Ctrl-C or SIGTERM', 'start']);
}
