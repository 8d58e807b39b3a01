/** A file as it is made, before it goes into the storage: its length and digest are known when it is whole. */

import { createHash, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS } from '../../clock.ts';
import { diskTrouble } from '../../disk.ts';
import { Failure, toError } from '../../errors.ts';

export type Spool = { write(piece: string | Uint8Array): void };

/** A file that is whole, and on the disk. */
export type Spooled = { path: string; bytes: number; sha256: string };

/** Beside a file that is on its way. */
const PARTIAL = '.partial';

/**
 * Makes a file in a folder, which is made, too, and leaves nothing behind there.
 * @throws Failure `disk` where it cannot be written.
 */
export async function spooled<T>(
  folder: string,
  make: (spool: Spool) => void,
  use: (file: Spooled) => T | Promise<T>,
): Promise<T> {
  onDisk(folder, () => mkdirSync(folder, { recursive: true }));
  const path = join(folder, `${randomBytes(8).toString('hex')}${PARTIAL}`);
  const descriptor = onDisk(path, () => openSync(path, 'wx', 0o666));
  try {
    return await use(written(path, descriptor, make));
  } finally {
    rmSync(path, { force: true });
  }
}

function written(path: string, descriptor: number, make: (spool: Spool) => void): Spooled {
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    make({
      write(piece) {
        const data = typeof piece === 'string' ? Buffer.from(piece) : piece;
        hash.update(data);
        bytes += data.length;
        onDisk(path, () => {
          for (let from = 0; from < data.length; ) from += writeSync(descriptor, data, from);
        });
      },
    });
    onDisk(path, () => fsyncSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
  return { path, bytes, sha256: hash.digest('hex') };
}

/** What the disk says of a path becomes a Failure `disk`. */
export function onDisk<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    const trouble = diskTrouble(thrown, join(path, '..'));
    const why = trouble ? `(${trouble.code}): ${trouble.advice}` : `(${toError(thrown).message})`;
    throw new Failure('disk', `${path} cannot be used ${why}`, { cause: thrown });
  }
}

/** What was killed on its way long ago is of no use to anyone. @param now epoch milliseconds. */
export function sweepSpools(folder: string, now: number): void {
  for (const name of onDisk(folder, () => ifThere(() => readdirSync(folder))) ?? []) {
    const file = join(folder, name);
    const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now;
    if (name.endsWith(PARTIAL) && since < now - DAY_MS) rmSync(file, { force: true });
  }
}

export function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}
