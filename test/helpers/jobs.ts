/** Stands in for `src/job/list.ts` and `load.ts` in tests: jobs are loaded once a worker. To import one anew is a request to vitest each time. */

import { listJobs as list } from '../../src/job/list.ts';
import { loadJobs as load } from '../../src/job/load.ts';
import { cached } from './cached.ts';

export * from '../../src/job/list.ts';
export const listJobs = cached(list);
export const loadJobs = cached(load);
