/** `market-mirror backup <file>`: a checked copy of the mirror, made while the daemon writes to it. */

import { Command } from 'commander';
import { printable, printableJson } from '../base/printable.ts';
import { readLocalConfig } from '../config.ts';
import { number } from '../output/numbers.ts';
import { backUp } from '../reading/backup.ts';
import { serveFile } from '../serve/access/database.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import { withProgressLine } from './live-lines.ts';

type Options = { force?: boolean; json?: boolean };

export function backupCommand(context: Context): Command {
  const command = new Command('backup')
    .argument('<file>', 'the file to write, readable by this user alone')
    .option('--force', 'replace an existing file')
    .option('--json', 'print what the copy holds as JSON')
    .action((file: string, options: Options) => backup(file, options, context));
  return withExamples(
    command,
    ['while the daemon goes on', 'backup mirror-backup.db'],
    ['every night, over the last one', 'backup mirror-backup.db --force'],
  );
}

async function backup(file: string, { force = false, json }: Options, context: Context): Promise<void> {
  const { environment, clock, signal, stdout } = context;
  const { dir } = readLocalConfig(environment);
  const receipt = await withProgressLine(context, () =>
    backUp(dir, file, { force, serve: serveFile(dir), now: clock.now(), signal }),
  );
  if (json) return stdout.write(`${printableJson(receipt)}\n`);
  const rows = receipt.datasets.reduce((sum, dataset) => sum + dataset.rows, 0);
  stdout.write(`${printable(receipt.file)}: ${number(rows)} rows, ${number(receipt.bytes)} bytes, checked\n`);
  const { serve } = receipt;
  if (serve)
    stdout.write(`${printable(serve.file)}: keys and limits, ${number(serve.bytes)} bytes, checked\n`);
}
