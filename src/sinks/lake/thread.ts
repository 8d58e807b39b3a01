/** The thread that lays a lake for the daemon: mirroring never waits for it, and it may end at any moment. */

import type { FollowRequest, FollowResponse } from '../../sinks.ts';
import { type Thread, threadOnDemand } from '../../worker.ts';

export type LakeThreadParts = {
  dir: string;
  /** The settings of the lake, and where its keys are found: read anew each time. */
  environment: Record<string, string | undefined>;
  /** Between 0 and 1, by which its pauses differ from those of others. */
  chance: number;
};

export function lakeThread({
  dir,
  environment,
  chance,
}: LakeThreadParts): Thread<FollowRequest, FollowResponse> {
  const own = Object.entries(environment).filter(([name]) => /^(MIRROR_|AWS_|HOME$)/.test(name));
  const parts: LakeThreadParts = { dir, environment: Object.fromEntries(own), chance };
  const { call, close } = threadOnDemand<LakeThreadParts & FollowRequest, FollowResponse>(
    'lake',
    'the thread of the lake',
  );
  return { call: (request) => call({ ...parts, ...request }), close };
}
