/**
 * Loaded into a program before its own code: measures it from within, and leaves what it has measured in the file that
 * `LAB_FIGURES` names when the program ends.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { writtenBytes } from './written.ts';

export type Figures = {
  peakMb: number;
  /** Since the first call: loading a program stops everything, too, but nobody waits for it. Null where it is not measured. */
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
