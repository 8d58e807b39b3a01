/** In what forms an answer may be sent, and how hard each is tried to be made small. */

import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export type Encoding = 'identity' | 'gzip' | 'br';

/** The best first. */
export const encodings: readonly Encoding[] = ['br', 'gzip', 'identity'];

/**
 * `quick`, for what is compressed while somebody waits: a page of 90 kB takes about a millisecond, and the last tenth of its
 * size would take ten times as long. `thorough`, for what is compressed once and sent to all.
 */
export type Effort = 'quick' | 'thorough';

const levels: Readonly<Record<Effort, { readonly gzip: number; readonly brotli: number }>> = {
  quick: { gzip: 6, brotli: 4 },
  thorough: { gzip: 9, brotli: 9 },
};

export async function compress(
  bytes: Buffer,
  encoding: Exclude<Encoding, 'identity'>,
  effort: Effort,
): Promise<Buffer> {
  const level = levels[effort];
  if (encoding === 'gzip') return await promisify(gzip)(bytes, { level: level.gzip });
  return await promisify<Buffer, object, Buffer>(brotliCompress)(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: level.brotli,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}
