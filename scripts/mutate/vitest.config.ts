/** How mutants are tested: as `npm test` does, by the tests of one room. */

import base from '../../vitest.config.ts';

const { tests = [], without = [] } = JSON.parse(process.env['MUTATE'] ?? '{}');

export default { test: { ...base.test, include: tests, exclude: without } };
