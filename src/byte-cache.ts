/** What may be asked for again, kept within a bound of bytes: what was not asked for longest goes first. */

import { LRUCache } from 'lru-cache';

/** Of the map itself, and of the name. */
const BYTES_BESIDE = 500;

/** By name. @param bytesOf one that is kept. */
export const byteCache = <Kept extends object>(mostBytes: number, bytesOf: (kept: Kept) => number) =>
  new LRUCache<string, Kept>({
    maxSize: mostBytes,
    sizeCalculation: (kept) => bytesOf(kept) + BYTES_BESIDE,
  });
