/** What runs on the thread that lays a lake. */

import { systemClock } from '../../clock.ts';
import { readLake } from '../../config.ts';
import { Failure } from '../../errors.ts';
import type { FollowRequest, FollowResponse } from '../../sinks.ts';
import { lay } from '../lake.ts';
import { followed } from '../worker.ts';
import type { LakeThreadParts } from './thread.ts';

export async function followInLake(request: LakeThreadParts & FollowRequest): Promise<FollowResponse> {
  const { dir, environment, chance, only, now } = request;
  const settings = readLake(environment);
  if (!settings) throw new Failure('bug', 'a lake without settings');
  const clock = { ...systemClock, now: () => now };
  return await followed(
    (jobs, signal) => lay({ dir, settings, jobs, clock, random: () => chance, signal }, { only }),
    ({ laid }) => ({ to: laid.seq, problems: [] }),
  );
}
