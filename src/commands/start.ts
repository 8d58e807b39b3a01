/** `market-mirror start`: the daemon. */

import { Command } from 'commander';
import { readLocalConfig } from '../config.ts';
import { runDaemon } from '../daemon.ts';
import { createLog } from '../log.ts';
import type { Context } from './context.ts';

export function startCommand(context: Context): Command {
  return new Command('start')
    .description('run the daemon: mirror every dataset by its schedule until stopped')
    .action(async () => {
      const { environment, clock, random, signal, stderr } = context;
      const log = createLog(readLocalConfig(environment).logLevel, stderr.isTTY === true);
      await runDaemon({ environment, clock, random, log }, signal);
    });
}
