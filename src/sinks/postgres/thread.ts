/** The thread that ships for the daemon: mirroring never waits for it, and it may end at any moment. */

import type { ShipAddress } from '../../config.ts';
import type { FollowRequest, FollowResponse } from '../../sinks.ts';
import { type Thread, threadOnDemand } from '../../worker.ts';

export type ShipThreadParts = { dir: string; address: ShipAddress };

export function shipThread(parts: ShipThreadParts): Thread<FollowRequest, FollowResponse> {
  const { call, close } = threadOnDemand<ShipThreadParts & FollowRequest, FollowResponse>(
    'ship',
    'the thread that ships',
  );
  return { call: (request) => call({ ...parts, ...request }), close };
}
