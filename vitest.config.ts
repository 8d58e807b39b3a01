import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    // Two cores: more workers only make the real processes under test wait for one another.
    maxWorkers: 2,
  },
});
