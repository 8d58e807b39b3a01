/** A file that appears whole or not at all: made beside its path, then renamed. */

import { randomBytes } from 'node:crypto';
import { type FileHandle, link, lstat, open, readlink, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { diskTrouble } from './disk.ts';
import { Failure, toError } from './errors.ts';

type AtomicFile = {
  /** Where it is made: an empty file of this user. */
  partial: string;
  handle: FileHandle;
  /** Puts it where it belongs, durably. */
  commit(): Promise<void>;
  /** Leaves nothing behind, unless it was committed. */
  discard(): Promise<void>;
};

/**
 * @param force whether a file that is there may be replaced.
 * @param mode of the file, less the umask.
 * @throws Failure `usage` for a path that is taken or no path of a file, `disk` for one that cannot be written.
 */
export async function openAtomicFile(file: string, force: boolean, mode = 0o666): Promise<AtomicFile> {
  await writing(file, () => refuseTaken(file, force));
  const partial = join(dirname(file), `.${basename(file)}.${randomBytes(4).toString('hex')}.partial`);
  const handle = await writing(file, () => open(partial, 'wx', mode));
  return {
    partial,
    handle,
    commit: () =>
      writing(file, async () => {
        await handle.sync();
        await handle.close();
        await put(partial, file, force);
        await syncFolder(dirname(file));
      }),
    async discard() {
      await handle.close().catch(() => undefined);
      await rm(partial, { force: true });
    },
  };
}

/** Runs `work` on the file; an error of the disk becomes a Failure. */
export async function writing<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    const trouble = diskTrouble(thrown, dirname(file));
    if (trouble?.code === 'ENOENT' || trouble?.code === 'ENOTDIR')
      throw new Failure('usage', `${file}: there is no folder ${dirname(file)}`);
    const why = trouble ? `(${trouble.code}): ${trouble.advice}` : `(${toError(thrown).message})`;
    throw new Failure('disk', `${file} cannot be written ${why}`, { cause: thrown });
  }
}

/**
 * Only a file is ever replaced, never a device or a socket. A symbolic link to a file or to nothing is replaced itself, unless a
 * process has it open, such as /dev/stdout.
 */
async function refuseTaken(file: string, force: boolean): Promise<void> {
  const found = await lstat(file).catch(ifThere);
  if (!found) return;
  if (found.isDirectory()) throw new Failure('usage', `${file} is a folder: name a file in it`);
  const target = found.isSymbolicLink() ? await stat(file).catch(ifThere) : found;
  if (target?.isDirectory()) throw new Failure('usage', `${file} leads to a folder: name a file in it`);
  const isOpen = found.isSymbolicLink() && (await readlink(file)).startsWith('/proc/');
  if ((target && !target.isFile()) || isOpen)
    throw new Failure('usage', `${file} is no file and is never replaced: name another`);
  if (!force) throw new Failure('usage', `${file} exists already: --force replaces it`);
}

function ifThere(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'ENOENT') throw thrown;
}

/** Without `force`, what was put there meanwhile stays, too. */
async function put(partial: string, file: string, force: boolean): Promise<void> {
  if (!force && (await linked(partial, file))) return await rm(partial);
  await refuseTaken(file, force);
  await rename(partial, file);
}

/** A link never replaces anything, where a rename does. False where the file system has no links, or the path is taken. */
async function linked(partial: string, file: string): Promise<boolean> {
  return await link(partial, file).then(
    () => true,
    () => false,
  );
}

/** A rename outlives a power cut only when its folder has reached the disk. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  await handle.sync().finally(() => handle.close());
}
