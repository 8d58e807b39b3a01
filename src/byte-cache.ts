/** What may be asked for again, kept within a bound of bytes: what was used least recently goes first. */

import { LRUCache } from 'lru-cache';

/** What an entry takes beside its name and what is kept: its place in the map. */
const OVERHEAD_BYTES = 500;

/** By name. @param bytesOf one that is kept. */
export const byteCache = <Kept extends object>(maxBytes: number, bytesOf: (kept: Kept) => number) =>
  new LRUCache<string, Kept>({
    maxSize: maxBytes,
    sizeCalculation: (kept, name) => bytesOf(kept) + name.length + OVERHEAD_BYTES,
  });
