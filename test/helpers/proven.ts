/** What proven walks of a mirror make known. */

import { dirname } from 'node:path';
import type { Job } from '../../src/job.ts';
import { provenBy, provenSince } from '../../src/reading/changes.ts';
import type { WalkRow } from '../../src/store.ts';

/** @param store any that is open on the mirror. */
export const provenIn = ({ file }: { file: string }) => ({
  of: (job: Job, walk: WalkRow) => provenBy(dirname(file), job, walk),
  since: (job: Pick<Job, 'name' | 'table'>, seq: number) => provenSince(dirname(file), job, seq),
});
