/** A small disk of its own for the mirror, in memory, so that it can be filled. */

import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const SIZE = '256m';
const PIECE = 2 ** 20;

export type Disk = ReturnType<typeof openDisk>;

/** Mounts a tmpfs where that is allowed; elsewhere the mirror is in a plain folder. */
export function openDisk(folder: string) {
  mkdirSync(folder);
  const ballast = join(folder, 'ballast');
  const isMounted = mount(folder);
  return {
    folder,
    /** Why it cannot be filled; undefined where it can. */
    cannotBeFilled: isMounted ? undefined : 'mounting a tmpfs is not allowed here: run it as root',
    /** Takes every byte that is left. */
    fill() {
      const file = openSync(ballast, 'w');
      for (let piece = Buffer.alloc(PIECE); piece.length > 0; )
        try {
          writeSync(file, piece);
        } catch {
          piece = piece.subarray(0, piece.length >> 1);
        }
      closeSync(file);
    },
    free: () => rmSync(ballast, { force: true }),
    remove() {
      // Lazily: what a dying process holds open there goes with it.
      if (isMounted) execFileSync('umount', ['-l', folder]);
    },
  };
}

function mount(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=700`, 'tmpfs', folder], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}
