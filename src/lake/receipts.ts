/** The receipt of a file lies beside it, and comes after it: where a lake was killed between the two, it is made of the file. */

import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../errors.ts';
import type { About, Receipt } from './parquet.ts';
import { json, type Place, readJson } from './place.ts';

/** Readers of Parquet pass over what begins with `_`. */
export const receiptPath = (path: string) =>
  join(dirname(path), `_${basename(path).replace(/\.parquet$/, '.json')}`);

/** The receipt of a file that was put there just now. One that is there is that of a file which somebody has removed. */
export async function putReceipt(place: Place, path: string): Promise<Receipt> {
  const receipt = await receiptOfFile(place, path);
  await place.replace(receiptPath(path), json(receipt));
  return receipt;
}

/** The receipt of a file that is there, which is put beside it where it is lacking. */
export async function ensureReceipt(place: Place, path: string): Promise<Receipt> {
  const known = await readJson<Receipt>(place, receiptPath(path));
  if (known) return known;
  const receipt = await receiptOfFile(place, path);
  await place.put(receiptPath(path), json(receipt));
  return receipt;
}

async function receiptOfFile(place: Place, path: string): Promise<Receipt> {
  const data = await place.read(path);
  if (!data) throw new Failure('incomplete', `${place.shown}: ${path} went away while it was looked at`);
  const { about, rows } = await readFooter(path, data);
  const sha256 = createHash('sha256').update(data).digest('hex');
  return { ...about, rows, file: basename(path), bytes: data.length, sha256 };
}

/** @throws Failure `config` for a file that is not one of ours. */
async function readFooter(path: string, data: Buffer): Promise<{ about: About; rows: number }> {
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
