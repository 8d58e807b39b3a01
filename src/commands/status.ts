/** `market-mirror status`: the first screen of an operator; its exit code is a health check. */

import { Command } from 'commander';
import type { Output } from '../output/stream.ts';
import { printableJson } from '../printable.ts';
import { readStatus, type Status } from '../reading/status.ts';
import { type Context, localMirror } from './context.ts';
import { withExamples } from './help.ts';
import { renderStatus } from './status/text.ts';

type Options = { json?: true; watch?: true };

const REDRAW_EVERY_MS = 1_000;

export function statusCommand(context: Context): Command {
  const command = new Command('status')
    .option('--json', 'print the status as JSON')
    .option('--watch', 'go on, and print it again every second')
    .action((options: Options) => status(options, context));
  return withExamples(
    command,
    ['the first screen of an operator', 'status'],
    ['the same, again every second', 'status --watch'],
    ['for monitoring; the exit code alone says whether all is well', 'status --json'],
  );
}

async function status(options: Options, context: Context): Promise<void> {
  const { clock, stdout, signal, exit } = context;
  const { dir, datasets } = await localMirror(context);
  const show = await shower(options, stdout);
  do {
    const read = readStatus(dir, datasets, clock.now());
    show(read);
    exit(read.exitCode);
    if (options.watch) await clock.sleep(REDRAW_EVERY_MS, signal).catch(() => undefined);
  } while (options.watch && !signal.aborted);
}

async function shower({ json, watch }: Options, stdout: Output): Promise<(read: Status) => void> {
  if (json) return (read) => stdout.write(`${printableJson(read, watch ? 0 : 2)}\n`);
  if (!watch || !stdout.isTTY) return (read) => stdout.write(`${renderStatus(read, stdout)}\n`);
  const { createLogUpdate } = await import('log-update');
  const redraw = createLogUpdate(stdout as NodeJS.WriteStream, { showCursor: true });
  return (read) => redraw(renderStatus(read, stdout));
}
