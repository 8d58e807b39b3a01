/** What runs on the thread that lays a lake. */

import { workerData } from 'node:worker_threads';
import { systemClock } from '../../clock.ts';
import { readLake } from '../../config.ts';
import { Failure } from '../../errors.ts';
import { lay } from '../lake.ts';
import { followOnThread } from '../worker.ts';
import type { LayerParts } from './thread.ts';

const { dir, environment, chance } = workerData as LayerParts;

followOnThread(
  ({ only, now }, jobs, signal) => {
    const settings = readLake(environment);
    if (!settings) throw new Failure('bug', 'a lake without settings');
    const clock = { ...systemClock, now: () => now };
    return lay({ dir, settings, jobs, clock, random: () => chance, signal }, { only });
  },
  ({ laid }) => ({ to: laid.seq, problems: [] }),
);
