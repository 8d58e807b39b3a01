/** Refused rows, checked again as the contract stands now; without a call. */

import type { Job } from '../job.ts';
import type { CheckedRows } from '../page.ts';
import type { QuarantinedRow, Retried, Store } from '../store/index.ts';
import { checkAgain, checkSnapshot } from '../validate.ts';

/** @throws Failure `incomplete` where a process is mirroring the job. */
export function retryRefused(job: Job, store: Store): Retried {
  const choice = store.choice(job.name);
  const check = ({ body, lastSeenAt, walkId }: QuarantinedRow): CheckedRows =>
    job.reading === 'snapshot'
      ? checkSnapshot(body, JSON.parse(body), `${lastSeenAt} ${walkId}`, lastSeenAt)
      : checkAgain(job, body, choice);
  return store.retryQuarantine(job, check);
}
