/** A backup: a checked copy of the mirror as it stood at one moment, in a single file. */

import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { openAtomicFile } from '../atomic-file.ts';
import { ageOf } from '../clock.ts';
import { Failure } from '../errors.ts';
import { copyDatabase, hasMirror, mirrorFile, openReadOnly, sealCopy } from '../store/read.ts';
import { latestSeq } from './query/sources.ts';

/** What a backup holds; within a version members are added, never removed or changed in meaning. */
export type BackupReceipt = {
  version: 1;
  file: string;
  bytes: number;
  sha256: string;
  /** The latest change in it, see the view `changes`. */
  seq: number;
  datasets: Held[];
};

/** `completeAsOf` is null also where the clock was ahead then. */
type Held = { job: string; rows: number; completeAsOf: string | null; verdict: string | null };

/**
 * Copies the mirror in `dir` to `output`, while others may write to it.
 * @param force whether a file that is there may be replaced; it is, once the copy has been checked.
 * @throws Failure `incomplete` where there is no mirror yet or `signal` ended the copy, `usage` for a place that is
 * taken, `disk` where the mirror is gone or damaged, or the copy cannot be written.
 */
export async function backUp(
  dir: string,
  output: string,
  { force, now, signal }: { force: boolean; now: number; signal: AbortSignal },
): Promise<BackupReceipt> {
  const file = mirrorFile(dir);
  if (!hasMirror(dir))
    throw new Failure('incomplete', `${file} does not exist yet: there is nothing to copy`);
  refuseDatabaseInUse(output, file);
  const atomic = await openAtomicFile(output, force, 0o600);
  try {
    await copyDatabase(file, atomic.partial, signal);
    sealCopy(file, atomic.partial);
    const receipt = await receiptOf(atomic.partial, resolve(output), now);
    await atomic.commit();
    return receipt;
  } catch (thrown) {
    if (signal.aborted) throw new Failure('incomplete', 'stopped: no backup was made');
    throw thrown;
  } finally {
    await atomic.discard();
  }
}

/** A database under which the file is exchanged would read its own journal into the new one. */
function refuseDatabaseInUse(output: string, mirror: string): void {
  const [target, source] = [output, mirror].map((path) => statSync(path, { throwIfNoEntry: false }));
  if (target && target.dev === source?.dev && target.ino === source?.ino)
    throw new Failure('usage', `${output} is the mirror itself: name another file`);
  for (const journal of [`${output}-wal`, `${output}-journal`])
    if (existsSync(journal))
      throw new Failure('usage', `${journal} belongs to a database that is in use there: name another file`);
}

async function receiptOf(copy: string, file: string, now: number): Promise<BackupReceipt> {
  const connection = openReadOnly(copy);
  try {
    const seq = latestSeq(connection, null);
    const datasets = connection
      .prepare<[], Held>('SELECT job, rows, complete_as_of AS completeAsOf, verdict FROM freshness')
      .all()
      .map((held) => (isAhead(held, now) ? { ...held, completeAsOf: null } : held));
    const { size } = statSync(copy);
    return { version: 1, file, bytes: size, sha256: await digestOf(copy), seq, datasets };
  } finally {
    connection.close();
  }
}

const isAhead = ({ completeAsOf }: Held, now: number) =>
  completeAsOf !== null && ageOf(Date.parse(completeAsOf), now) === null;

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(file)) hash.update(piece);
  return hash.digest('hex');
}
