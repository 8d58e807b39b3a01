/** The order of all changes, over every dataset and every process, and what a proven walk makes known of them. */

import type { Job } from '../job.ts';
import type { Connection } from './connection.ts';
import type { WalkRow } from './schema.ts';
import { isProof, PROOF } from './sql.ts';

export type Change = {
  job: string;
  table: string;
  /** The walk that proved it, how, and as of when. */
  walkId: number;
  verdict: 'snapshot' | 'verified';
  completeAsOf: string;
  inserted: number;
  updated: number;
  deleted: number;
  /** `seq` of the first and the latest of these changes, see the view `changes`. */
  firstSeq: number;
  lastSeq: number;
};

type Counts = Pick<Change, 'inserted' | 'updated' | 'deleted' | 'firstSeq' | 'lastSeq'>;

export type Changes = {
  /**
   * What the walk makes known: all that changed since the proof before it, also by walks that proved nothing and by
   * glances. Null where it is no proof, or nothing changed.
   */
  of(job: Job, walk: WalkRow): Change | null;
  /** The same up to the last proof, of all that changed after `seq`. */
  since(job: Job, seq: number): Change | null;
};

export function openChanges(connection: Connection): Changes {
  const counts = `SELECT sum(walks.inserted) AS inserted, sum(walks.updated) AS updated, sum(walks.deleted) AS deleted,
    min(walks.first_seq) AS firstSeq, max(walks.last_seq) AS lastSeq FROM walks AS proof`;
  // Joined in this order, and with a plus where another index would do, SQLite looks at few walks, however many there are.
  const ofProof = connection.prepare<[{ job: string; proof: number }], Counts>(
    `${counts} LEFT JOIN walks AS before
       ON before.id = (SELECT id FROM walks WHERE job = :job AND id < :proof AND ${PROOF} ORDER BY id DESC LIMIT 1)
     CROSS JOIN walks
     WHERE proof.id = :proof AND walks.job = :job AND walks.id > coalesce(before.id, 0)
       AND ${isToldWith('proof')} AND NOT coalesce(${isToldWith('before')}, false)`,
  );
  const sinceSeq = connection.prepare<[{ job: string; proof: number; seq: number }], Counts>(
    `${counts} CROSS JOIN walks
     WHERE proof.id = :proof AND walks.last_seq > :seq AND +walks.job = :job AND ${isToldWith('proof')}`,
  );
  const lastProof = connection.prepare<[string], Pick<WalkRow, 'id' | 'verdict' | 'startedAt'>>(
    `SELECT id, verdict, started_at AS startedAt FROM walks WHERE job = ? AND ${PROOF} ORDER BY id DESC LIMIT 1`,
  );
  return {
    of(job, walk) {
      return isProof(walk.verdict)
        ? describe(job, walk, ofProof.get({ job: job.name, proof: walk.id }))
        : null;
    },
    since(job, seq) {
      const proof = lastProof.get(job.name);
      return proof ? describe(job, proof, sinceSeq.get({ job: job.name, proof: proof.id, seq })) : null;
    },
  };
}

/** SQL over `walks`: the proof itself, what came before it, and glances that began and ended while it was under way. */
const isToldWith = (proof: string) =>
  `(+walks.id <= ${proof}.id OR +walks.last_seq <= ${proof}.last_seq AND walks.finished_at <= ${proof}.finished_at)`;

function describe(
  job: Job,
  { id, verdict, startedAt }: Pick<WalkRow, 'id' | 'verdict' | 'startedAt'>,
  counts: Counts | undefined,
): Change | null {
  if (!counts?.lastSeq) return null;
  return {
    job: job.name,
    table: job.table,
    walkId: id,
    verdict: verdict as Change['verdict'],
    completeAsOf: startedAt,
    ...counts,
  };
}

/**
 * Returns what gives a commit its number, for one that changes rows of the job: the time in epoch milliseconds, or,
 * where an earlier commit has that, one more than the latest. Call it inside the transaction, which must be immediate.
 * A reader that has seen everything up to some number misses nothing by going on from there: no later commit has the
 * same number or a smaller one, even where the clock stands still or goes back.
 * @param column where it is noted: as that of a change of rows, or of their order alone.
 */
export function createSequence(
  connection: Connection,
  column: 'last_seq' | 'order_seq' = 'last_seq',
): (job: string, now: number) => number {
  const latest = connection
    .prepare<[], number | null>(
      'SELECT max(max(coalesce(last_seq, 0), coalesce(order_seq, 0))) FROM datasets',
    )
    .pluck();
  const keep = connection.prepare<[string, number]>(
    `INSERT INTO datasets (job, ${column}) VALUES (?, ?) ON CONFLICT DO UPDATE SET ${column} = excluded.${column}`,
  );
  return (job, now) => {
    // The clock tells parts of milliseconds, which no time in the mirror does.
    const seq = Math.max(Math.trunc(now), (latest.get() ?? 0) + 1);
    keep.run(job, seq);
    return seq;
  };
}
