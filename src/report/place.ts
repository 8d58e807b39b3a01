/** A place for a file that is there whole or not at all: made beside it, then put there by a rename. */

import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure, toError } from '../errors.ts';

export type Place = {
  /** Where to make it: an empty file of this user. */
  partial: string;
  handle: FileHandle;
  /** Puts it into its place, durably. */
  settle(): Promise<void>;
  /** Leaves nothing behind, unless it was settled. */
  leave(): Promise<void>;
};

/**
 * @param force whether a file that is there may be replaced.
 * @param mode of the file, less the umask.
 * @throws Failure `usage` for a place that is taken or no place for a file, `disk` for one that cannot be written.
 */
export async function takePlace(file: string, force: boolean, mode = 0o666): Promise<Place> {
  refuseTaken(file, force);
  const partial = join(dirname(file), `.${basename(file)}.${randomBytes(4).toString('hex')}.partial`);
  const handle = await writing(file, () => open(partial, 'wx', mode));
  return {
    partial,
    handle,
    settle: () =>
      writing(file, async () => {
        await handle.sync();
        await handle.close();
        await rename(partial, file);
        await syncFolder(dirname(file));
      }),
    async leave() {
      await handle.close().catch(() => undefined);
      await rm(partial, { force: true });
    },
  };
}

/** Runs `work` on the file; what the disk says of it becomes a Failure. */
export async function writing<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new Failure('usage', `${file}: there is no folder ${dirname(file)}`);
    throw new Failure('disk', `${file} cannot be written (${code ?? toError(thrown).message})`, {
      cause: thrown,
    });
  }
}

function refuseTaken(file: string, force: boolean): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new Failure('usage', `${file} is a folder: name a file in it`);
  if (found && !force) throw new Failure('usage', `${file} exists already: --force replaces it`);
}

/** A rename outlives a power cut only when its folder has reached the disk. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}
