/** Bodies as servers and proxies send them: compressed although nobody asked, and often called by a wrong name. */

import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { toError } from '../base/errors.ts';

export type Unpacked = {
  /** As received where it cannot be unpacked. */
  body: Buffer;
  /** Why the body may be unreadable: a name that is no compression, or a compression that is cut or damaged. */
  trouble: { name: string; isDamaged: boolean } | null;
};

type Unpacker = (packed: Buffer, options: { maxOutputLength: number }) => Buffer;

const unpackers: Record<string, Unpacker> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateAny,
  br: brotliDecompressSync,
};

/** As many as curl takes. */
const MAX_LAYERS = 5;

/**
 * Takes off all layers of compression that a Content-Encoding names, the last one first. Other names, such as those of charsets, change
 * nothing: the caller finds out whether the body can be read.
 * @param limit the most bytes that a body may have.
 * @returns null where it has more.
 */
export function unpack(received: Buffer, encoding: string, limit: number): Unpacked | null {
  const names = encoding
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  if (received.length === 0) return { body: received, trouble: null };
  let body = received;
  for (const name of names.filter(isCompression).slice(-MAX_LAYERS).reverse())
    try {
      body = unpackers[name]?.(body, { maxOutputLength: limit }) ?? body;
    } catch (thrown) {
      if (isTooLong(thrown)) return null;
      return { body: received, trouble: { name, isDamaged: true } };
    }
  const other = names.find((name) => !isCompression(name));
  return { body, trouble: other === undefined ? null : { name: other, isDamaged: false } };
}

const isCompression = (name: string) => Object.hasOwn(unpackers, name);

/** Some servers leave out the frame of zlib. */
function inflateAny(packed: Buffer, options: { maxOutputLength: number }): Buffer {
  try {
    return inflateSync(packed, options);
  } catch (thrown) {
    if (isTooLong(thrown)) throw thrown;
    return inflateRawSync(packed, options);
  }
}

const isTooLong = (thrown: unknown) =>
  (toError(thrown) as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
