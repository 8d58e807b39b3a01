/**
 * Bodies that are asked for again, kept within a bound of bytes; each is compressed once, when somebody first asks for it so.
 * Most pages of a list are asked for once, by who reads all of it: they would push out the others, and each would be collected
 * as old garbage, for which V8 goes through its whole heap.
 */

import { LRUCache } from 'lru-cache';
import { byteCache } from '../../../byte-cache.ts';
import { compress, type Encoding } from './compress.ts';

type KeptPage = { readonly [of in Encoding]?: Buffer };

export type KeptPages = {
  find(name: string, encoding: Encoding): Buffer | undefined;
  /** Keeps it if it is read for the second time. */
  keep(name: string, page: Buffer): void;
  /** A page in another form, which is kept. Two that ask for it at once have it made twice, which harms nobody. */
  encoded(name: string, page: Buffer, encoding: 'gzip' | 'br'): Promise<Buffer>;
};

const MOST_BYTES = 64 * 1024 ** 2;

/** Pages that were read, of which only the names are kept. */
const MOST_NAMES = 10_000;

export function createKeptPages(): KeptPages {
  const pages = byteCache<KeptPage>(MOST_BYTES, (page) =>
    Object.values(page).reduce((bytes, form) => bytes + form.length, 0),
  );
  const read = new LRUCache<string, true>({ max: MOST_NAMES });
  const add = (name: string, form: KeptPage) => pages.set(name, { ...pages.get(name), ...form });
  return {
    find: (name, encoding) => pages.get(name)?.[encoding],
    keep(name, page) {
      if (read.has(name)) add(name, { identity: page });
      else read.set(name, true);
    },
    async encoded(name, page, encoding) {
      const form = await compress(page, encoding, 'quick');
      add(name, { [encoding]: form });
      return form;
    },
  };
}
