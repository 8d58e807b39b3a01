import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/helpers/longest-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/helpers/seeds.ts'],
    globalSetup: ['test/helpers/postgres.ts', 'test/helpers/compiled.ts'],
    // Of the sources alone, whose way to it is always upwards.
    alias: [
      {
        find: /^(\.\.?\/)+program-file\.ts$/,
        replacement: `${import.meta.dirname}/test/helpers/program-file.ts`,
      },
      { find: /^(\.\.?\/)+base\/worker\.ts$/, replacement: `${import.meta.dirname}/test/helpers/worker.ts` },
      {
        find: /^(\.\.?\/)+job\/(list|load)\.ts$/,
        replacement: `${import.meta.dirname}/test/helpers/jobs.ts`,
      },
    ],
    // Deadlines are there for what hangs: no test may fail because the machine has other work.
    testTimeout: 240_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 110_000, interval: 20 } },
    // Two for each core of the machine that they have to be quick on: they often wait for processes.
    maxWorkers: 4,
    // Modules are loaded and warmed up once a worker, not once a file: that took a third of the time. Tests keep no state in them.
    isolate: false,
    sequence: { sequencer: LongestFirst },
  },
});
