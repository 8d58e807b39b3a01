/** How mutants are tested: as `npm test` does, by the tests of one room. */

import base from '../../vitest.config.ts';

const { MUTATE_TESTS: tests = '[]', MUTATE_WITHOUT: without = '[]' } = process.env;

export default { test: { ...base.test, include: JSON.parse(tests), exclude: JSON.parse(without) } };
