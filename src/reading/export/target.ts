/** A file that an export is written to, piece by piece, with the digest of what was written. */

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { takePlace, writing } from '../../atomic-file.ts';

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
 * @throws Failure as `takePlace` does.
 */
export async function openTarget(file: string, force: boolean): Promise<Target> {
  const place = await takePlace(file, force);
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    async write(piece) {
      const data = typeof piece === 'string' ? Buffer.from(piece) : piece;
      hash.update(data);
      bytes += data.length;
      await writing(file, () => writeAll(place.handle, data));
      return true;
    },
    async commit() {
      await place.settle();
      return { bytes, sha256: hash.digest('hex') };
    },
    close: place.leave,
  };
}

async function writeAll(handle: FileHandle, data: Uint8Array): Promise<void> {
  for (let from = 0; from < data.length; ) from += (await handle.write(data, from)).bytesWritten;
}
