/** The sinks, which follow the mirror, and the threads that load them for the daemon. Mirroring never waits for such a thread. */

import type { FailureSent } from './base/errors.ts';
import { type Thread, threadOnDemand } from './base/worker.ts';
import type { ShipAddress } from './config.ts';

/** Every sink, by the command that loads it; some take only changes that are proven. */
export const sinks = {
  ship: { name: 'Postgres', docs: 'docs/ship.md', endsAtProofs: false },
  lake: { name: 'the lake', docs: 'docs/lake.md', endsAtProofs: true },
} as const;

export type SinkName = keyof typeof sinks;

export const sinkNames = Object.keys(sinks) as SinkName[];

export type FollowRequest = {
  /** Jobs of which something may be new. */
  only: readonly string[];
  /** Epoch milliseconds. */
  now: number;
};

/** What became of one job. */
export type Arrival = {
  job: string;
  failure: FailureSent['failed'] | null;
  /** The latest change that has arrived; null where none has, or the job failed. */
  to: number | null;
  /** What could not be loaded, in a line each. */
  problems: readonly string[];
};

export type FollowResponse = { arrivals: readonly Arrival[] };

export type LakeThreadParts = {
  dir: string;
  /** The settings of the lake: read anew each time. */
  environment: Record<string, string | undefined>;
};

export function lakeThread({ dir, environment }: LakeThreadParts): Thread<FollowRequest, FollowResponse> {
  const own = Object.entries(environment).filter(([name]) => name.startsWith('MIRROR_'));
  const parts: LakeThreadParts = { dir, environment: Object.fromEntries(own) };
  return sinkThread('lake', 'the thread of the lake', parts);
}

export type ShipThreadParts = { dir: string; address: ShipAddress };

export const shipThread = (parts: ShipThreadParts): Thread<FollowRequest, FollowResponse> =>
  sinkThread('ship', 'the thread that ships', parts);

/** @param name for its Failures. @param parts go with every request. */
function sinkThread<Parts>(
  sink: SinkName,
  name: string,
  parts: Parts,
): Thread<FollowRequest, FollowResponse> {
  const { call, close } = threadOnDemand<Parts & FollowRequest, FollowResponse>(sink, name);
  return { call: (request) => call({ ...parts, ...request }), close };
}
