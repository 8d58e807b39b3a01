/** The folder of a lake: each file is made apart and put there whole, once. Paths are those below it, with `/`. */

import { createHash, type Hash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { diskTrouble, makeFolder } from '../../base/disk.ts';
import { Failure, toError } from '../../base/errors.ts';

/** Takes the pieces of a file as it is made. */
export type Write = (piece: string | Uint8Array) => void;

/** A file as it lies there. */
export type Written = { bytes: number; sha256: string };

/** What lies in a folder, by name; empty where there is none. Names that begin with `_` are ours. */
export function listFolder(folder: string): { folders: string[]; files: string[] } {
  if (!onDisk(folder, () => existsSync(folder))) return { folders: [], files: [] };
  const found = onDisk(folder, () => readdirSync(folder, { withFileTypes: true }));
  const names = (isFolder: boolean) =>
    found.flatMap((entry) => (entry.isDirectory() === isFolder ? [entry.name] : [])).sort();
  return { folders: names(true), files: names(false) };
}

/** Where files are made; what a killed lake left there goes with the next one. */
const PARTIAL = '_partial';

export const removePartial = (folder: string) =>
  onDisk(folder, () => rmSync(join(folder, PARTIAL), { recursive: true, force: true }));

/** Puts a file there whole, in place of one of that name. @throws Failure `disk` where it cannot be written. */
export function putFile(folder: string, path: string, make: (write: Write) => void): Written {
  const [made, file] = [join(folder, PARTIAL, `${process.pid}-${basename(path)}`), join(folder, path)];
  return onDisk(file, () => {
    makeFolder(dirname(made));
    makeFolder(dirname(file));
    try {
      const written = write(made, make);
      renameSync(made, file);
      syncFolder(dirname(file));
      return written;
    } finally {
      rmSync(made, { force: true });
    }
  });
}

/** Plain data as a file, for people, too. */
export const putJson = (folder: string, path: string, data: unknown) =>
  putFile(folder, path, (write) => write(`${JSON.stringify(data, null, 2)}\n`));

/** Undefined where there is no such file. @throws Failure `disk` for one that holds no JSON. */
export function readJson<T>(folder: string, path: string): T | undefined {
  const file = join(folder, path);
  const text = onDisk(file, () => (existsSync(file) ? readFileSync(file, 'utf8') : undefined));
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    throw new Failure('disk', `${file} is damaged, it holds no JSON: remove it`);
  }
}

function write(file: string, make: (write: Write) => void): Written {
  const hash = createHash('sha256');
  let bytes = 0;
  const descriptor = openSync(file, 'w', 0o666);
  try {
    make((piece) => {
      const data = typeof piece === 'string' ? Buffer.from(piece) : piece;
      hash.update(data);
      bytes += data.length;
      for (let from = 0; from < data.length; ) from += writeSync(descriptor, data, from);
    });
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  return { bytes, sha256: hash.digest('hex') };
}

const PIECE_BYTES = 1_048_576;

/** The length and digest of a file, a piece at a time. */
export function measureFile(file: string): Written {
  return onDisk(file, () => {
    const descriptor = openSync(file, 'r');
    const hash: Hash = createHash('sha256');
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    let bytes = 0;
    try {
      for (let read = 1; read > 0; bytes += read) {
        read = readSync(descriptor, piece);
        hash.update(piece.subarray(0, read));
      }
    } finally {
      closeSync(descriptor);
    }
    return { bytes, sha256: hash.digest('hex') };
  });
}

/** Removes a file, and its folder where it was the last one. */
export function removeFile(folder: string, path: string): void {
  const file = join(folder, path);
  onDisk(file, () => rmSync(file, { force: true }));
  try {
    rmdirSync(dirname(file));
  } catch {
    // Other files are in it.
  }
}

/** A name outlives a power cut only when its folder has reached the disk. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Turns errors of the disk into a Failure `disk`. */
function onDisk<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    // Of the mirror, too: a file is made of it.
    if (thrown instanceof Failure || !('syscall' in (thrown as object))) throw thrown;
    const trouble = diskTrouble(thrown, dirname(path));
    const why = trouble ? `(${trouble.code}): ${trouble.advice}` : `(${toError(thrown).message})`;
    throw new Failure('disk', `${path} cannot be used ${why}`, { cause: thrown });
  }
}
