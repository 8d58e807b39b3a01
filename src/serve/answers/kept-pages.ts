/** Bodies that were answered, kept within a bound of bytes; each is compressed once, when somebody first asks for it so. */

import { LRUCache } from 'lru-cache';
import { compress, type Encoding } from './compress.ts';

type KeptPage = { readonly [of in Encoding]?: Buffer };

export type KeptPages = {
  find(name: string, encoding: Encoding): Buffer | undefined;
  keep(name: string, page: Buffer): void;
  /** A kept page in another form. Two that ask for it at once have it made twice, which harms nobody. */
  encoded(name: string, page: Buffer, encoding: 'gzip' | 'br'): Promise<Buffer>;
};

const MOST_BYTES = 64 * 1024 ** 2;

/** Of the map itself, and of the name. */
const BYTES_BESIDE = 500;

export function createKeptPages(): KeptPages {
  const pages = new LRUCache<string, KeptPage>({
    maxSize: MOST_BYTES,
    sizeCalculation: (page) => Object.values(page).reduce((bytes, form) => bytes + form.length, BYTES_BESIDE),
  });
  const add = (name: string, form: KeptPage) => pages.set(name, { ...pages.get(name), ...form });
  return {
    find: (name, encoding) => pages.get(name)?.[encoding],
    keep: (name, page) => void add(name, { identity: page }),
    async encoded(name, page, encoding) {
      const form = await compress(page, encoding, 'quick');
      add(name, { [encoding]: form });
      return form;
    },
  };
}
