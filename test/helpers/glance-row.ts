/** A glance as the mirror notes it, for tests of what is read of glances. */

import { isoTime } from '../../src/base/clock.ts';
import type { WalkRow } from '../../src/store.ts';
import type { Bench } from './mirror-bench.ts';

type Glance = Partial<Pick<WalkRow, 'status' | 'lastSeq' | 'error'>> & {
  job: string;
  /** Epoch milliseconds; now unless given. */
  startedAt?: number;
};

/** @returns the number of its row. */
export function noteGlance(bench: Bench, { job, status = 'complete', ...given }: Glance): number {
  const startedAt = isoTime(given.startedAt ?? bench.clock.now());
  // A walk gives up the glance before it, which is over then.
  const isOver = status === 'complete' || status === 'failed';
  const text = (value: string | null | undefined) => (value ? `'${value}'` : 'NULL');
  bench.tamper(
    `INSERT INTO walks (job, kind, status, started_at, finished_at, pages, api_calls, last_seq, error)
     VALUES ('${job}', 'glance', '${status}', '${startedAt}', ${text(isOver ? startedAt : null)}, 1, 1,
       ${given.lastSeq ?? 'NULL'}, ${text(given.error)})`,
  );
  return Number(bench.sql('SELECT max(id) AS id FROM walks')[0]?.['id']);
}
