/** What runs on the thread that ships. */

import { workerData } from 'node:worker_threads';
import { ship } from '../ship.ts';
import { followOnThread } from '../worker.ts';
import type { ShipperParts } from './thread.ts';

const parts = workerData as ShipperParts;

followOnThread(
  ({ only, now }, jobs, signal) => ship({ ...parts, jobs, now: () => now, signal }, { only }),
  ({ to, problems }) => ({ to, problems }),
);
