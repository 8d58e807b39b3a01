/** A backup: a checked copy of the mirror as it stood at one moment, in a single file, and one of the service's database. */

import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { copyFile, link, rename, rm } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { openAtomicFile } from '../base/atomic-file.ts';
import { ageOf } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { type Releases, withReleases } from '../base/releases.ts';
import { copyDatabase, hasMirror, mirrorFile, openReadOnly, sealCopy } from '../store/read.ts';
import { latestSeq } from './query/sources.ts';

/** What a backup holds; within a version members are added, never removed or changed in meaning. */
export type BackupReceipt = {
  version: 1;
  /** The latest change in it, see the view `changes`. */
  seq: number;
  datasets: BackupDataset[];
  /** The database of the service, in a file of its own; null where there is none. */
  serve: Copied | null;
} & Copied;

type Copied = { file: string; bytes: number; sha256: string };

/** `completeAsOf` is null also where the clock was ahead then. */
type BackupDataset = { job: string; rows: number; completeAsOf: string | null; verdict: string | null };

/**
 * Copies the mirror in `dir` to `output`, and the database of the service beside it, while others may write to them: all
 * or nothing.
 * @param options.force whether files that are there may be replaced; they are, once the copies have been checked.
 * @param options.serve the database of the service, whether there is one or not.
 * @throws Failure `incomplete` where there is no mirror yet or `signal` ended the copy, `usage` for a place that is
 * taken, `disk` where a database is gone or damaged, or a copy cannot be written.
 */
export async function backUp(
  dir: string,
  output: string,
  options: { force: boolean; serve: string; now: number; signal: AbortSignal },
): Promise<BackupReceipt> {
  const { force, serve, now, signal } = options;
  const file = mirrorFile(dir);
  if (!hasMirror(dir))
    throw new Failure('incomplete', `${file} does not exist yet: there is nothing to copy`);
  const outputs = { mirror: output, serve: servedBeside(output) };
  for (const copy of Object.values(outputs)) refuseDatabaseInUse(copy, [file, serve]);
  try {
    return await withReleases(async (releases) => {
      const mirrored = await openCopy(file, outputs.mirror, force, releases);
      const served = existsSync(serve) ? await openCopy(serve, outputs.serve, force, releases) : undefined;
      await mirrored.fill(signal);
      await served?.fill(signal);
      const receipt: BackupReceipt = {
        version: 1,
        ...(await mirrored.described()),
        ...heldIn(mirrored.partial, now),
        serve: (await served?.described()) ?? null,
      };
      const takeBack = await served?.replaceWithUndo(releases);
      await mirrored.commit().catch(async (thrown) => {
        await takeBack?.();
        throw thrown;
      });
      return receipt;
    });
  } catch (thrown) {
    if (signal.aborted) throw new Failure('incomplete', 'stopped: no backup was made');
    throw thrown;
  }
}

/** `mirror-backup.serve.db` beside `mirror-backup.db`. */
export const servedBeside = (output: string) => `${output.replace(/\.db$/, '')}.serve.db`;

/** A copy that is yet to be made, where it can be made. */
async function openCopy(source: string, output: string, force: boolean, releases: Releases) {
  const { partial, commit, discard } = await openAtomicFile(output, force, 0o600);
  releases.add(discard);
  return {
    partial,
    commit,
    /** Puts it in its place. @returns what puts the former file back. */
    async replaceWithUndo(releases: Releases): Promise<() => Promise<void>> {
      const before = `${partial}.before`;
      releases.add(() => rm(before, { force: true }));
      const wasThere = existsSync(output);
      // Some file systems have no links.
      if (wasThere) await link(output, before).catch(() => copyFile(output, before));
      await commit();
      return () => (wasThere ? rename(before, output) : rm(output, { force: true }));
    },
    /** Whole and checked, or not at all. */
    async fill(signal: AbortSignal): Promise<void> {
      await copyDatabase(source, partial, signal);
      sealCopy(source, partial);
    },
    async described(): Promise<Copied> {
      return { file: resolve(output), bytes: statSync(partial).size, sha256: await digestOf(partial) };
    },
  };
}

/** A database that is open under this name would read its own journal into the new file. */
function refuseDatabaseInUse(output: string, databases: readonly string[]): void {
  const target = statSync(output, { throwIfNoEntry: false });
  for (const database of databases) {
    const source = statSync(database, { throwIfNoEntry: false });
    if (target && target.dev === source?.dev && target.ino === source.ino)
      throw new Failure('usage', `${output} is ${basename(database)} itself: name another file`);
  }
  for (const journal of [`${output}-wal`, `${output}-journal`])
    if (existsSync(journal))
      throw new Failure('usage', `${journal} belongs to a database that is in use there: name another file`);
}

/** What a copy of the mirror holds. */
export function heldIn(copy: string, now: number): Pick<BackupReceipt, 'seq' | 'datasets'> {
  const connection = openReadOnly(copy);
  try {
    const seq = latestSeq(connection, null);
    const datasets = connection
      .prepare<[], BackupDataset>('SELECT job, rows, complete_as_of AS completeAsOf, verdict FROM freshness')
      .all()
      .map((held) => (isAhead(held, now) ? { ...held, completeAsOf: null } : held));
    return { seq, datasets };
  } finally {
    connection.close();
  }
}

const isAhead = ({ completeAsOf }: BackupDataset, now: number) =>
  completeAsOf !== null && ageOf(Date.parse(completeAsOf), now) === null;

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(file)) hash.update(piece);
  return hash.digest('hex');
}
