/** What this process has written to disk. */

import { readFileSync } from 'node:fs';

/** Pages of files that it made dirty, less those that were thrown away before they reached the disk. NaN where only Linux would tell. */
export function writtenBytes(): number {
  try {
    const io = readFileSync('/proc/self/io', 'utf8');
    const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(io)?.[1]);
    return of('write_bytes') - of('cancelled_write_bytes');
  } catch {
    return Number.NaN;
  }
}
