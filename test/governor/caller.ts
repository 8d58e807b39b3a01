/** A client of the API behind a governor, which makes calls one after the other. */

import { onTestFinished } from 'vitest';
import { type ModelApi, sampleKey } from '../../model-api/index.ts';
import { createApi } from '../../src/api.ts';
import type { Clock } from '../../src/base/clock.ts';
import { keyFromValue } from '../../src/base/key.ts';
import type { Governor } from '../../src/governor.ts';
import { findJob } from '../../src/job/list.ts';
import { loadJobs } from '../../src/job/load.ts';

const jobs = await loadJobs();
const never = new AbortController().signal;

/** @param count told of calls that begin, and of those that end. */
export function openCaller(
  model: ModelApi,
  governor: Governor,
  clock: Clock,
  count: (calls: number) => void,
) {
  const api = createApi({
    baseUrl: model.url,
    key: keyFromValue(sampleKey.key),
    governor: {
      ...governor,
      async acquire(job, signal) {
        const complete = await governor.acquire(job, signal);
        count(1);
        return (outcome) => {
          count(-1);
          complete(outcome);
        };
      },
    },
    record: () => undefined,
    clock,
    random: () => 0.5,
    userAgent: 'market-mirror/test',
  });
  onTestFinished(() => api.close());
  return {
    /** Makes calls one after the other until so many are answered. */
    async walk(job: string, calls: number, signal = never) {
      const { path } = findJob(jobs, job);
      for (let answered = 0; answered < calls && !signal.aborted; ) {
        const request = { job, walkId: null, path, query: { offset: 0, limit: 1 } };
        // A call that was refused three times over is a matter for the next run.
        answered += await api.get(request, signal).then(
          () => 1,
          () => 0,
        );
      }
    },
  };
}
