/** The sinks, which follow the mirror: which there are, and what the daemon and the thread of one say to each other. */

import type { Outcome } from './sinks/datasets.ts';

/** Every target, by the command that brings changes to it; some take only changes that are proven. */
export const sinks = {
  ship: { name: 'Postgres', docs: 'docs/ship.md', endsAtProofs: false },
  lake: { name: 'the lake', docs: 'docs/lake.md', endsAtProofs: true },
} as const;

export type SinkName = keyof typeof sinks;

export const sinkNames = Object.keys(sinks) as SinkName[];

/** Sent to the thread that brings changes to the target. */
export type FollowRequest = {
  /** Jobs of which something may be new. */
  only: readonly string[];
  /** Epoch milliseconds. */
  now: number;
};

/** What became of one job. */
export type Arrival = Pick<Outcome<unknown>, 'job' | 'failure'> & {
  /** The latest change that has arrived; null where none has by this. */
  to: number | null;
  /** What could not be brought there, in a line each. */
  problems: readonly string[];
};

export type FollowResponse = { arrivals: readonly Arrival[] };
