/** A file that is there whole or not at all: written beside its place, then put there by a rename. */

import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure, toError } from '../../errors.ts';

export type Target = {
  /** Always true: a file takes everything. */
  write(piece: string | Uint8Array): Promise<boolean>;
  /** Puts the file into its place. */
  commit(): Promise<{ bytes: number; sha256: string }>;
  /** Leaves nothing behind, unless the file was committed. */
  close(): Promise<void>;
};

/**
 * @param force whether a file that is there may be replaced.
 * @throws Failure `usage` for a place that is taken or no place for a file, `disk` for one that cannot be written.
 */
export async function openTarget(file: string, force: boolean): Promise<Target> {
  refuseTaken(file, force);
  const partial = join(dirname(file), `.${basename(file)}.${randomBytes(4).toString('hex')}.partial`);
  const handle = await attempt(file, () => open(partial, 'wx'));
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    async write(piece) {
      const data = typeof piece === 'string' ? Buffer.from(piece) : piece;
      hash.update(data);
      bytes += data.length;
      await attempt(file, () => writeAll(handle, data));
      return true;
    },
    async commit() {
      await attempt(file, async () => {
        await handle.sync();
        await handle.close();
        await rename(partial, file);
      });
      return { bytes, sha256: hash.digest('hex') };
    },
    async close() {
      await handle.close().catch(() => undefined);
      await rm(partial, { force: true });
    },
  };
}

async function writeAll(handle: FileHandle, data: Uint8Array): Promise<void> {
  for (let from = 0; from < data.length; ) from += (await handle.write(data, from)).bytesWritten;
}

function refuseTaken(file: string, force: boolean): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new Failure('usage', `${file} is a folder: name a file in it`);
  if (found && !force) throw new Failure('usage', `${file} exists already: --force replaces it`);
}

async function attempt<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new Failure('usage', `${file}: there is no folder ${dirname(file)}`);
    throw new Failure('disk', `${file} cannot be written (${code ?? toError(thrown).message})`, {
      cause: thrown,
    });
  }
}
