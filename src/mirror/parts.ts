/** What mirroring needs, and what it tells while it goes on. */

import type { Api } from '../api/client.ts';
import type { Counts, Store, WalkRow } from '../store/index.ts';

export type MirrorParts = {
  api: Api;
  store: Store;
  /** Told of every page that has been saved. */
  progress?: (at: Progress) => void;
};

/** `callsLeft` as the API last said, where it said so. */
export type Progress = { job: string; walk: Readonly<WalkRow>; saved: Counts; callsLeft: number | null };
