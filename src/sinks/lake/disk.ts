/** A lake on a disk: files are made beside, and linked to their names only where those are free. */

import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure } from '../../errors.ts';
import { ifThere, onDisk, spooled, sweepSpools } from './spool.ts';
import type { Storage } from './storage.ts';

/** Files on their way. Readers of Parquet pass over what begins with `_`. */
const WAY = '_partial';

/** @param now epoch milliseconds. @throws Failure `disk` for a folder that cannot be used. */
export function openDisk(folder: string, now: number): Storage {
  const way = join(folder, WAY);
  const ready = (path: string) => {
    const file = join(folder, path);
    onDisk(file, () => mkdirSync(dirname(file), { recursive: true }));
    return file;
  };
  sweepSpools(way, now);
  return {
    shown: folder,
    async list(path) {
      const at = join(folder, path);
      const found = onDisk(at, () => ifThere(() => readdirSync(at, { withFileTypes: true }))) ?? [];
      const named = found.filter(({ name }) => path !== '' || name !== WAY);
      return {
        folders: named.filter((entry) => entry.isDirectory()).map(({ name }) => name),
        files: named.filter((entry) => !entry.isDirectory()).map(({ name }) => name),
      };
    },
    async read(path) {
      const file = join(folder, path);
      return onDisk(file, () => ifThere(() => readFileSync(file)));
    },
    async put(path, make) {
      return await spooled(way, make, (from) => {
        const file = ready(path);
        const isNew = onDisk(file, () => link(from.path, file));
        syncFolder(dirname(file));
        return isNew ? from : undefined;
      });
    },
    async replace(path, make) {
      await spooled(way, make, (from) => {
        const file = ready(path);
        onDisk(file, () => renameSync(from.path, file));
        syncFolder(dirname(file));
      });
    },
    async remove(path) {
      const file = join(folder, path);
      onDisk(file, () => rmSync(file, { force: true }));
      try {
        rmdirSync(dirname(file));
      } catch {
        // Other files are in it.
      }
    },
    async close() {},
  };
}

/** False where the name is taken: a link never replaces anything. */
function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    if (code === 'EPERM' || code === 'ENOTSUP' || code === 'EOPNOTSUPP' || code === 'ENOSYS')
      throw new Failure(
        'disk',
        `${to} cannot be linked (${code}): the file system of a lake needs hard links, such as ext4, XFS, ZFS or NFS have`,
      );
    throw thrown;
  }
}

/** A name outlives a power cut only when its folder has reached the disk. */
function syncFolder(folder: string): void {
  const descriptor = onDisk(folder, () => openSync(folder, 'r'));
  try {
    onDisk(folder, () => fsyncSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}
