/**
 * Random tests try the same cases in every run, so that a failure is the fault of a change; `npm run soak` tries
 * others. A case that fails prints its seed and path: give them back as SEED and SEED_PATH, with the test's file, to
 * run that one alone. A SEED of your own tries other cases.
 */

import fc from 'fast-check';

const { SEED = '20260101', SEED_PATH } = process.env;

fc.configureGlobal({
  seed: Number(SEED),
  ...(SEED_PATH ? { path: SEED_PATH, endOnFailure: true } : {}),
});
