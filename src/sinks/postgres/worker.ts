/** What runs on the thread that ships. */

import type { FollowRequest, FollowResponse } from '../../sinks.ts';
import { ship } from '../postgres.ts';
import { followed } from '../worker.ts';
import type { ShipThreadParts } from './thread.ts';

export async function followInPostgres(request: ShipThreadParts & FollowRequest): Promise<FollowResponse> {
  const { dir, address, only, now } = request;
  return await followed(
    (jobs, signal) => ship({ dir, address, jobs, now: () => now, signal }, { only }),
    ({ to, problems }) => ({ to, problems }),
  );
}
