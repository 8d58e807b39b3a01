/** What `npm run bench` was asked for, as it hands it to each of its scripts. */

export type BenchOptions = {
  runs: number;
  /** Of `serve`: rows of each dataset, keys, and for how many minutes its memory is watched. */
  rows: number;
  keys: number;
  minutes: number;
};

export const readBenchOptions = () => JSON.parse(process.argv[2] ?? '') as BenchOptions;
