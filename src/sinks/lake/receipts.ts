/** The receipt of a file lies beside it, and comes after it: where a lake was killed between the two, it is made of the file. */

import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../../errors.ts';
import type { About, Receipt, Written } from './parquet.ts';
import type { Spool, Spooled } from './spool.ts';
import { json, readJson, type Storage } from './storage.ts';

/** Readers of Parquet pass over what begins with `_`. */
export const receiptPath = (path: string) =>
  join(dirname(path), `_${basename(path).replace(/\.parquet$/, '.json')}`);

/**
 * Puts a file there, unless there is one, and its receipt. A receipt that is there already is that of a file which somebody
 * has removed. @returns undefined where there was a file.
 */
export async function putWithReceipt(
  storage: Storage,
  path: string,
  write: (spool: Spool) => Written,
): Promise<Receipt | undefined> {
  let written: Written | undefined;
  const put = await storage.put(path, (spool) => {
    written = write(spool);
  });
  if (!put || !written) return undefined;
  const receipt = receiptOf(path, written, put);
  await storage.replace(receiptPath(path), json(receipt));
  return receipt;
}

/** The receipt of a file that is there, which is put beside it where it is lacking. */
export async function ensureReceipt(storage: Storage, path: string): Promise<Receipt> {
  const known = await readJson<Receipt>(storage, receiptPath(path));
  if (known) return known;
  const receipt = await receiptOfFile(storage, path);
  await storage.put(receiptPath(path), json(receipt));
  return receipt;
}

async function receiptOfFile(storage: Storage, path: string): Promise<Receipt> {
  const data = await storage.read(path);
  if (!data) throw new Failure('incomplete', `${storage.shown}: ${path} went away while it was looked at`);
  const sha256 = createHash('sha256').update(data).digest('hex');
  return receiptOf(path, await readFooter(path, data), { bytes: data.length, sha256 });
}

const receiptOf = (
  path: string,
  { about, rows }: Written,
  { bytes, sha256 }: Pick<Spooled, 'bytes' | 'sha256'>,
): Receipt => ({ ...about, rows, file: basename(path), bytes, sha256 });

/** @throws Failure `config` for a file that is not one of ours. */
async function readFooter(path: string, data: Buffer): Promise<Written> {
  const { parquetMetadata } = await import('hyparquet');
  try {
    const { key_value_metadata: own = [], num_rows: rows } = parquetMetadata(
      data.buffer.slice(data.byteOffset, data.byteOffset + data.length) as ArrayBuffer,
    );
    const about = own.find(({ key }) => key === 'market-mirror')?.value ?? '';
    return { about: JSON.parse(about) as About, rows: Number(rows) };
  } catch (thrown) {
    throw new Failure(
      'config',
      `${path} is no file that market-mirror has written: move it away, or name another lake`,
      { cause: thrown },
    );
  }
}
