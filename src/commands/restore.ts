/** `market-mirror restore <backup>`: puts a backup in the place of the mirror, and keeps what was there. */

import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { Failure } from '../base/errors.ts';
import { printable, printableJson } from '../base/printable.ts';
import { readLocalConfig } from '../config.ts';
import { listJobs } from '../job/list.ts';
import { number } from '../output/numbers.ts';
import { type BackupReceipt, heldIn, servedBeside } from '../reading/backup.ts';
import { endPageAccess, serveFile } from '../serve/access/database.ts';
import {
  copyBeside,
  discardCopy,
  folderToKeep,
  holdFolder,
  noteRestore,
  refuseOpenDatabase,
  refuseOtherThanBackup,
  replaceDatabase,
} from '../store/backup.ts';
import { mirrorFile } from '../store/identity.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import { withProgressLine } from './live-lines.ts';

/** What was restored; within a version members are added, never removed or changed in meaning. */
export type Restored = {
  version: 1;
  file: string;
  backup: string;
  /** The folder with what was there before; null where nothing was. */
  kept: string | null;
  /** Whether keys and limits of `serve` are those of the backup: only where there were none. */
  keys: boolean;
} & Pick<BackupReceipt, 'seq' | 'datasets'>;

export function restoreCommand(context: Context): Command {
  const command = new Command('restore')
    .argument('<backup>', 'the file that backup has written')
    .option('--json', 'print what was restored as JSON')
    .action(async (backup: string, { json }: { json?: true }) => {
      const restored = await withProgressLine(context, () => restore(backup, {}, context));
      context.stdout.write(json ? `${printableJson(restored)}\n` : context.hint(render(restored)));
    });
  return withExamples(command, ['after the daemon and serve were stopped', 'restore mirror-backup.db']);
}

/**
 * @param step called after each step in which files change their place.
 * @throws Failure `incomplete` where something is at work on the folder or `signal` ended it, `usage` for a file that is no
 * backup, `disk` for a damaged one; nothing was changed then.
 */
export async function restore(
  backup: string,
  { step = () => undefined }: { step?: (done: string) => void },
  { environment, clock, signal }: Pick<Context, 'environment' | 'clock' | 'signal'>,
): Promise<Restored> {
  const { dir } = readLocalConfig(environment);
  const files = { mirror: mirrorFile(dir), serve: serveFile(dir) };
  refuseOtherThanBackup(backup, dir);
  const letGo = holdFolder(
    dir,
    (await listJobs()).map(({ name }) => name),
    'restore',
  );
  try {
    refuseOpenDatabase(files.mirror);
    const mirror = await copyBeside(backup, files.mirror, signal);
    noteRestore(files.mirror, mirror, clock.now());
    // One that is here knows what was revoked since.
    const keys = existsSync(servedBeside(backup)) && !existsSync(files.serve);
    const serve = keys && (await copyBeside(servedBeside(backup), files.serve, signal, endPageAccess));
    const held = heldIn(mirror, clock.now());
    step('copied');
    const keep = folderToKeep(dir, clock.now());
    replaceDatabase(files.mirror, mirror, { keep, step });
    if (serve) replaceDatabase(files.serve, serve, { keep, step });
    return {
      ...{ version: 1, file: files.mirror, backup, kept: existsSync(keep) ? keep : null, keys },
      ...held,
    };
  } catch (thrown) {
    if (signal.aborted) throw new Failure('incomplete', 'stopped: nothing was changed');
    throw thrown;
  } finally {
    for (const file of Object.values(files)) discardCopy(file);
    letGo();
  }
}

function render({ file, backup, kept, keys, datasets }: Restored): string {
  const rows = datasets.reduce((sum, dataset) => sum + dataset.rows, 0);
  const latest = datasets
    .flatMap(({ completeAsOf }) => completeAsOf ?? [])
    .sort()
    .at(-1);
  const asOf = latest === undefined ? 'nothing proven yet' : `last proven complete as of ${latest}`;
  const lines = [
    `${printable(file)}: ${number(rows)} rows of ${printable(backup)}, ${asOf}`,
    ...(kept === null
      ? []
      : [`what was there is kept in ${printable(kept)}: delete it once you are content`]),
    keys ? 'keys and limits of serve are those of the backup' : 'keys and limits of serve stay as they are',
    'next: market-mirror start, or market-mirror sync: unfinished walks go on, and what changed upstream since the backup is read again',
    'ship loads all of Postgres anew, lake goes on in a new folder epoch=N, and readers of changes by seq begin anew',
  ];
  return `${lines.join('\n')}\n`;
}
