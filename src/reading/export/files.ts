/** The two files of an export: the data, and the receipt that says what it was made of. */

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { openAtomicFile, writing } from '../../atomic-file.ts';

/** A file as it was delivered: its name, its length, its digest. */
export type Delivered = { file: string; bytes: number; sha256: string };

export type Files = {
  /** Resolves to true: a file takes everything. */
  write(piece: string | Uint8Array): Promise<boolean>;
  /** Puts both files where they belong; the receipt adds to `exported` what it says of the file. */
  commit<Exported extends object>(exported: Exported): Promise<Exported & Delivered>;
  /** Leaves nothing behind, unless the files were committed. */
  close(): Promise<void>;
};

/**
 * The file, and its receipt beside it: both places are taken, or none.
 * @param force whether files that are there may be replaced.
 * @throws Failure as `openAtomicFile` does.
 */
export async function openFiles(output: string, force: boolean): Promise<Files> {
  const data = await openDigested(output, force);
  const meta = await openDigested(`${output}.meta.json`, force).catch(async (thrown: unknown) => {
    await data.discard();
    throw thrown;
  });
  return {
    async write(piece) {
      await data.write(piece);
      return true;
    },
    async commit(exported) {
      const receipt = { ...exported, file: basename(output), ...(await data.commit()) };
      await meta.write(`${JSON.stringify(receipt, null, 2)}\n`);
      await meta.commit();
      return receipt;
    },
    async close() {
      await data.discard();
      await meta.discard();
    },
  };
}

/** A file with the digest of what was written to it. */
async function openDigested(path: string, force: boolean) {
  const file = await openAtomicFile(path, force);
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    async write(piece: string | Uint8Array): Promise<void> {
      const data = typeof piece === 'string' ? Buffer.from(piece) : piece;
      hash.update(data);
      bytes += data.length;
      await writing(path, () => writeAll(file.handle, data));
    },
    async commit(): Promise<{ bytes: number; sha256: string }> {
      await file.commit();
      return { bytes, sha256: hash.digest('hex') };
    },
    discard: file.discard,
  };
}

async function writeAll(handle: FileHandle, data: Uint8Array): Promise<void> {
  for (let from = 0; from < data.length; ) from += (await handle.write(data, from)).bytesWritten;
}
