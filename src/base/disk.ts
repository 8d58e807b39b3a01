/** Errors of the file system, and what to do about them. */

import { existsSync, mkdirSync, realpathSync, statfsSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { Failure } from './errors.ts';

const advice = {
  EACCES: 'it may not be written by this user: change its owner or mode',
  EPERM: 'it may not be written by this user: change its owner or mode',
  EROFS: 'the file system is read-only: choose another folder',
  ENOSPC: 'the disk is full: free space, then run again',
  /** Our own code for an ENOSPC where files, not bytes, are used up. */
  INODES: 'the disk has no inode left for another file: delete files that nobody needs, then run again',
  EDQUOT: 'the disk quota of this user is used up: free space or raise it, then run again',
  EFBIG: 'the file may not grow any more: raise the limit on the size of files (ulimit -f)',
  EIO: 'the device fails: see the log of the kernel (dmesg), save what can still be read, and replace it',
  EMFILE: 'this process has too many files open: raise the limit (ulimit -n)',
  ENFILE: 'the machine has too many files open: end what holds them',
  ENOENT: 'it cannot be created there: check the path',
  ENOTDIR: 'it lies below a file: check the path',
  EEXIST: 'a file stands where a folder belongs: move it away, or choose another folder',
  EISDIR: 'a folder stands where a file belongs: move it away',
  ENAMETOOLONG: 'the path is too long: choose another folder',
} as const;

/** The inodes of a file system: all, and those that are free. */
type Room = { files: number; ffree: number };

export type DiskTrouble = { code: keyof typeof advice; advice: string };

/** Describes an error of the file system; undefined for any other value. @param folder whose inodes may be used up. */
export function diskTrouble(
  thrown: unknown,
  folder?: string,
  statfs: (path: string) => Room = statfsSync,
): DiskTrouble | undefined {
  const named = nameOf(thrown);
  const code = named === 'ENOSPC' && folder !== undefined && lacksInodes(folder, statfs) ? 'INODES' : named;
  return isKnown(code) ? { code, advice: advice[code] } : undefined;
}

/** Node.js has no name for EDQUOT, only its number. */
function nameOf(thrown: unknown): string {
  const { code = '', errno = 0 } = (thrown ?? {}) as NodeJS.ErrnoException;
  return errno === -constants.errno.EDQUOT ? 'EDQUOT' : code;
}

function isKnown(code: string): code is keyof typeof advice {
  return Object.hasOwn(advice, code);
}

/** File systems that make inodes on demand say that they have none. */
function lacksInodes(folder: string, statfs: (path: string) => Room): boolean {
  try {
    const { files, ffree } = statfs(folder);
    return files > 0 && ffree === 0;
  } catch {
    return false;
  }
}

/**
 * Makes a folder, and those above it, where they are missing. The `recursive` of Node.js never returns where a file system refuses a
 * folder with ENOENT though the one above is there, as /proc does.
 */
export function makeFolder(folder: string, mode?: number): void {
  const parent = dirname(folder);
  if (parent !== folder && !existsSync(parent)) makeFolder(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (thrown) {
    // Another process may have made it meanwhile.
    if (nameOf(thrown) !== 'EEXIST' || !statSync(folder).isDirectory()) throw thrown;
  }
}

/** Bytes of a socket's path that fit everywhere: Linux takes 107, macOS and the BSDs 103. */
const LONGEST_SOCKET = 103;

/** The path of a unix socket in a folder of the mirror. @throws Failure `config` where it is too long for one. */
export function socketIn(folder: string, name: string): string {
  const path = join(realpathSync(folder), name);
  const bytes = Buffer.byteLength(path);
  if (bytes <= LONGEST_SOCKET) return path;
  const message = `MIRROR_DIR: ${path} is too long a path for a socket: ${bytes} bytes, ${LONGEST_SOCKET} at most: choose a shorter folder`;
  throw new Failure('config', message);
}
