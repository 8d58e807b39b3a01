/** A glance as the mirror notes it, for tests of what is read of glances. */

import { isoTime } from '../../src/clock.ts';
import type { WalkRow } from '../../src/store/index.ts';
import type { Bench } from './mirror-bench.ts';

type Glance = Partial<Pick<WalkRow, 'status' | 'inserted' | 'firstSeq' | 'lastSeq' | 'total' | 'error'>> & {
  job: string;
  /** Epoch milliseconds; now unless given. */
  startedAt?: number;
  waitsUntil?: number;
};

/** @returns the number of its row. */
export function noteGlance(bench: Bench, { job, status = 'complete', ...given }: Glance): number {
  const startedAt = isoTime(given.startedAt ?? bench.clock.now());
  // A walk gives up the glance before it, which is over then.
  const isOver = status === 'complete' || status === 'failed';
  const values = {
    job,
    kind: 'glance',
    status,
    started_at: startedAt,
    finished_at: isOver ? startedAt : null,
    pages: 1,
    rows: 100,
    inserted: given.inserted ?? 0,
    api_calls: 1,
    first_seq: given.firstSeq ?? null,
    last_seq: given.lastSeq ?? null,
    total: given.total ?? null,
    error: given.error ?? null,
    waits_until: given.waitsUntil === undefined ? null : isoTime(given.waitsUntil),
    waits_for: given.waitsUntil === undefined ? null : 'quota',
  };
  const literals = Object.values(values).map((value) =>
    typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value),
  );
  bench.tamper(`INSERT INTO walks (${Object.keys(values)}) VALUES (${literals})`);
  return Number(bench.sql('SELECT max(id) AS id FROM walks')[0]?.['id']);
}
