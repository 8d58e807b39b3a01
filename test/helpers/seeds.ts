/**
 * Random tests try the same cases in every run, so that a failure is the fault of a change; `npm run soak` tries
 * others. RUNS=10 tries ten times as many lives. A case that fails prints its seed and path: give them back as SEED and SEED_PATH, with the test's file, to
 * run that one alone. A SEED of your own tries other cases.
 */

import fc from 'fast-check';

const { SEED = '20260101', SEED_PATH, RUNS = '1' } = process.env;

/** How many cases a test tries whose cases take long; soak tries far more of them. */
export const few = (cases: number) => cases * Number(RUNS);

fc.configureGlobal({
  seed: Number(SEED),
  ...(SEED_PATH ? { path: SEED_PATH, endOnFailure: true } : {}),
});
