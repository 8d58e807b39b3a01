/** Bounds V8's heap in a process that passes many rows on and keeps few of them. */

import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the heap small, from now on and for every thread. Left to itself V8 lets garbage pile up to twice what lives and
 * more before it looks, and gives young objects ever more room: so a million rows took 27 MB more than ten thousand.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=100');
  setFlagsFromString('--semi-space-growth-factor=1');
}
