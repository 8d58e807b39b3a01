/** The order of all changes, over every dataset and every process that writes them. */

import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Connection } from '../db/connection.ts';
import { prepare } from '../db/prepare.ts';
import { datasets } from '../schema.ts';

export type Sequence = {
  /**
   * The number of this commit, for one that changes rows of the job: the time in epoch milliseconds, or, where an
   * earlier commit has that, one more than the latest. Call it inside the transaction, which must be immediate.
   */
  next(job: string, now: number): number;
};

/**
 * A reader that has seen everything up to some number misses nothing by going on from there: no later commit has
 * the same number or a smaller one, even where the clock stands still or goes back.
 */
export function openSequence(connection: Connection): Sequence {
  const latest = connection.prepare<[], number | null>('SELECT max(last_seq) FROM datasets').pluck();
  const keep = prepare(
    connection,
    drizzle(connection)
      .insert(datasets)
      .values({ job: sql.placeholder('job'), lastSeq: sql.placeholder('seq') })
      .onConflictDoUpdate({ target: datasets.job, set: { lastSeq: sql`excluded.last_seq` } }),
  );
  return {
    next(job, now) {
      const seq = Math.max(now, (latest.get() ?? 0) + 1);
      keep.run({ job, seq });
      return seq;
    },
  };
}
