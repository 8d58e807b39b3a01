/** Loaded before a program: measures it from within, and writes the figures to the file `LAB_FIGURES` at its end. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

export type Figures = {
  peakMb: number;
  /** Since the first call, so without the loading of the program. Null where it is not measured. */
  longestStallMs: number | null;
  /** What reached the disk, by the system's count. */
  writtenBytes: number;
};

const stalls = monitorEventLoopDelay({ resolution: 1 });
const FIRST_CALL = 'undici:request:create';
const begin = () => {
  unsubscribe(FIRST_CALL, begin);
  stalls.enable();
};
subscribe(FIRST_CALL, begin);

process.on('exit', () => {
  const figures: Figures = {
    peakMb: process.resourceUsage().maxRSS / 1_024,
    // The histogram counts its own resolution in.
    longestStallMs: stalls.max / 1e6 - 1,
    writtenBytes: writtenBytes(),
  };
  writeFileSync(process.env['LAB_FIGURES'] ?? '', JSON.stringify(figures));
});

/** Pages of files that it made dirty, less those that were thrown away before they reached the disk. NaN where only Linux would tell. */
function writtenBytes(): number {
  try {
    const io = readFileSync('/proc/self/io', 'utf8');
    const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(io)?.[1]);
    return of('write_bytes') - of('cancelled_write_bytes');
  } catch {
    return Number.NaN;
  }
}
