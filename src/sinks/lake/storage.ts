/** Where the files of a lake lie: a folder, or a part of a bucket. Paths are those below it, with `/`. */

import { createHash, randomInt } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DAY_MS } from '../../clock.ts';
import { diskTrouble, makeFolder } from '../../disk.ts';
import { Failure, toError } from '../../errors.ts';
import { hasEnded, nameProcess } from '../../process-name.ts';

export type Storage = {
  /** For people; nothing secret. */
  shown: string;
  /** Where files are made. */
  spoolFolder: string;
  /** What lies in a folder, by name; empty where there is none. */
  list(folder: string): Promise<Listed>;
  /** Undefined where there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  /** Puts a file there whole, unless there is one. @returns it; undefined where there was one. */
  put(path: string, make: (spool: Spool) => void): Promise<Spooled | undefined>;
  /** The same, whatever is there. */
  replace(path: string, make: (spool: Spool) => void): Promise<void>;
  remove(path: string): Promise<void>;
  close(): Promise<void>;
};

type Listed = { folders: string[]; files: string[] };

export async function readJson<T>(storage: Storage, path: string): Promise<T | undefined> {
  const text = (await storage.read(path))?.toString('utf8');
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    throw new Failure('disk', `${storage.shown}: ${path} is damaged, it holds no JSON: remove it`);
  }
}

/** For `put` and `replace`: plain data as a file. */
export const json = (data: unknown) => (spool: Spool) => spool.write(`${JSON.stringify(data, null, 2)}\n`);

/** Takes a file as it is made, before it goes into the storage: its length and digest are known when it is whole. */
export type Spool = { write(piece: string | Uint8Array): void };

/** A file that is whole, and on the disk. */
export type Spooled = { path: string; bytes: number; sha256: string };

/** The end of the name of a file that is on its way, after the name of its process. */
const PARTIAL = '.partial';

const chance = () => randomInt(2 ** 40) / 2 ** 40;

/** Makes a temporary file, and its folder, for `use`. @throws Failure `disk` where it cannot be written. */
export async function spooled<T>(
  folder: string,
  make: (spool: Spool) => void,
  use: (file: Spooled) => T | Promise<T>,
): Promise<T> {
  onDisk(folder, () => makeFolder(folder));
  const path = join(folder, `${nameProcess(chance)}${PARTIAL}`);
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

/** Turns errors of the disk into a Failure `disk`. */
function onDisk<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    const trouble = diskTrouble(thrown, join(path, '..'));
    const why = trouble ? `(${trouble.code}): ${trouble.advice}` : `(${toError(thrown).message})`;
    throw new Failure('disk', `${path} cannot be used ${why}`, { cause: thrown });
  }
}

/** Removes files of processes that have ended. Of other machines and containers it knows only the age: a day. @param now epoch milliseconds. @throws Failure `disk`. */
export function sweepSpools(folder: string, now: number): void {
  for (const name of onDisk(folder, () => ifThere(() => readdirSync(folder))) ?? []) {
    if (!name.endsWith(PARTIAL)) continue;
    const file = join(folder, name);
    onDisk(file, () => {
      const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? now;
      if (hasEnded(name) || since < now - DAY_MS) rmSync(file, { force: true });
    });
  }
}

function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** Files on their way. Readers of Parquet pass over what begins with `_`. */
const SPOOL_FOLDER = '_partial';

/** A lake on a disk: files are made beside, and linked to their names only where those are free. */
export function openDisk(folder: string): Storage {
  const spoolFolder = join(folder, SPOOL_FOLDER);
  const ready = (path: string) => {
    const file = join(folder, path);
    onDisk(file, () => makeFolder(dirname(file)));
    return file;
  };
  return {
    shown: folder,
    spoolFolder,
    async list(path) {
      const at = join(folder, path);
      const found = onDisk(at, () => ifThere(() => readdirSync(at, { withFileTypes: true }))) ?? [];
      const named = found.filter(({ name }) => path !== '' || name !== SPOOL_FOLDER);
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
      return await spooled(spoolFolder, make, (from) => {
        const file = ready(path);
        const isNew = onDisk(file, () => link(from.path, file));
        syncFolder(dirname(file));
        return isNew ? from : undefined;
      });
    },
    async replace(path, make) {
      await spooled(spoolFolder, make, (from) => {
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
