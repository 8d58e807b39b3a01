/** How mutants are tested: in one process, by the tests of one room, without what only tests of whole programs need. */

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: JSON.parse(process.env['MUTATE_TESTS'] ?? '[]'),
    setupFiles: ['test/helpers/seeds.ts'],
    testTimeout: 60_000,
    isolate: false,
  },
});
