/** `market-mirror restore <backup>`: puts a backup in the place of the mirror, and keeps what was there. */

import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { readLocalConfig } from '../config.ts';
import { Failure } from '../errors.ts';
import { listJobs } from '../job-list.ts';
import { count, number } from '../output/numbers.ts';
import { printable, printableJson } from '../printable.ts';
import { type BackupReceipt, heldIn, servedBeside } from '../reading/backup.ts';
import { serveFile } from '../serve/service/database.ts';
import { type KeyName, keepRevocations, type RestoredKeys } from '../serve/service/restored-keys.ts';
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
  /** With `--with-keys`. */
  keys: RestoredKeys | null;
} & Pick<BackupReceipt, 'seq' | 'datasets'>;

export function restoreCommand(context: Context): Command {
  const command = new Command('restore')
    .argument('<backup>', 'the file that backup has written')
    .option(
      '--with-keys',
      'take the keys and limits of the backup, too; what was revoked since stays revoked',
    )
    .option('--json', 'print what was restored as JSON')
    .action(async (backup: string, { withKeys, json }: { withKeys?: true; json?: true }) => {
      const restored = await withProgressLine(context, () =>
        restore(backup, { withKeys: withKeys === true }, context),
      );
      context.stdout.write(json ? `${printableJson(restored)}\n` : context.hint(render(restored)));
    });
  return withExamples(
    command,
    ['after the daemon and serve were stopped', 'restore mirror-backup.db'],
    ['with the keys of serve', 'restore mirror-backup.db --with-keys'],
  );
}

/**
 * @param step called after each step in which files change their place.
 * @throws Failure `incomplete` where something is at work on the folder or `signal` ended it, `usage` for a file that is no
 * backup, `disk` for a damaged one; nothing was changed then.
 */
export async function restore(
  backup: string,
  options: { withKeys: boolean; step?: (done: string) => void },
  { environment, clock, signal }: Pick<Context, 'environment' | 'clock' | 'signal'>,
): Promise<Restored> {
  const { withKeys, step = () => undefined } = options;
  const { dir } = readLocalConfig(environment);
  const files = { mirror: mirrorFile(dir), serve: serveFile(dir) };
  const keysOf = withKeys ? servedBeside(backup) : undefined;
  refuseOtherThanBackup(backup, dir);
  if (keysOf && !existsSync(keysOf))
    throw new Failure('usage', `${keysOf}: there is no such file; restore without --with-keys`);
  const letGo = holdFolder(
    dir,
    (await listJobs()).map(({ name }) => name),
    'restore',
  );
  try {
    refuseOpenDatabase(files.mirror);
    if (keysOf) refuseOpenDatabase(files.serve);
    const mirror = await copyBeside(backup, files.mirror, signal);
    noteRestore(files.mirror, mirror, clock.now());
    let keys: RestoredKeys | null = null;
    const serve =
      keysOf &&
      (await copyBeside(keysOf, files.serve, signal, (copy) => {
        keys = keepRevocations(copy, dir);
      }));
    const held = heldIn(mirror, clock.now());
    step('copied');
    const keep = folderToKeep(dir, clock.now());
    replaceDatabase(files.mirror, mirror, { keep, isNeeded: false, step });
    // What it holds of revocations is not in the backup.
    if (serve) replaceDatabase(files.serve, serve, { keep, isNeeded: true, step });
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
    ...(keys
      ? renderKeys(keys)
      : ['keys and limits of serve stay as they are; --with-keys takes those of the backup']),
    'next: market-mirror start, or market-mirror sync: unfinished walks go on, and what changed upstream since the backup is read again',
    'ship loads all of Postgres anew, lake goes on in a new folder epoch=N, and readers of changes by seq begin anew',
  ];
  return `${lines.join('\n')}\n`;
}

function renderKeys({ keys, revoked, rotated, removed, added, limits }: RestoredKeys): string[] {
  const changes: [readonly KeyName[], string][] = [
    [revoked, 'revoked since: stays revoked'],
    [rotated, 'rotated since: keeps its earlier end'],
    [removed, 'created since: unknown now, and refused'],
    [added, 'known again'],
  ];
  const limitsOf = (of: RestoredKeys['limits'][number]['now']) =>
    `quota ${of.quota ?? 'none'}, rate ${of.rate ?? 'none'}, concurrency ${of.concurrency ?? 'none'}`;
  return [
    `${count(keys, 'key')} of the backup; links and sessions of the page have ended`,
    ...changes.flatMap(([named, what]) =>
      named.map(({ id, name }) => `  ${id} (${printable(name)}): ${what}`),
    ),
    ...limits.map(
      ({ account, now, before }) =>
        `  account ${printable(account)}: ${limitsOf(now)} (before: ${limitsOf(before)})`,
    ),
  ];
}
