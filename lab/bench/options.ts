/** What `npm run bench` was asked for, as it hands it to each of its scripts. */

import type { LineName } from './pass-speed/lines.ts';

export type BenchOptions = {
  runs: number;
  /** Of `pass-speed`. */
  lines: LineName[];
  /** Rows of each dataset. Of `serve`: keys, and for how many minutes its memory is watched. */
  rows: number;
  keys: number;
  minutes: number;
};

export const readBenchOptions = () => JSON.parse(process.argv[2] ?? '') as BenchOptions;
