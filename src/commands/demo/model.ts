/** The model of the API that the demo mirrors. */

import { faults, type ModelApi, startModelApi, when } from '../../../model-api/index.ts';

/** Of each list. */
const ROWS = 430;
/** Small enough to be felt: the datasets take more calls than one period allows. */
export const quota = { limit: 12, periodMs: 10_000 };

/** Of every call. */
export const LATENCY_MS = 40;

/** @param now its time, in epoch milliseconds. */
export async function startModel(now: () => number): Promise<ModelApi> {
  const ageing = when({}, faults.ageing());
  return await startModelApi({ rows: ROWS, quota, now, epoch: now(), faults: [ageing] });
}
