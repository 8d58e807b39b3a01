/** What a proven walk makes known: all changes since the proof before it. */

import type { Job } from '../job.ts';
import type { Connection } from './connection.ts';
import type { WalkRow } from './schema.ts';
import { isBeforeRestore } from './sequence.ts';
import { isProof, PROOF, seqOf } from './sql.ts';
import { lastWalk } from './walks.ts';

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

type Counts = Pick<Change, 'inserted' | 'updated' | 'deleted'> & {
  firstSeq: number | null;
  lastSeq: number | null;
};

export function openChanges(connection: Connection) {
  // Most walks change nothing, and the view reads the whole dataset.
  const hasAny = connection.prepare<[string, number]>(
    'SELECT 1 FROM walks WHERE job = ? AND last_seq > ? LIMIT 1',
  );
  const count = connection.prepare<[string, number, number], Counts>(
    `SELECT count(*) FILTER (WHERE change = 'insert') AS inserted, count(*) FILTER (WHERE change = 'update') AS updated,
       count(*) FILTER (WHERE change = 'delete') AS deleted, min(seq) AS firstSeq, max(seq) AS lastSeq
     FROM changes WHERE job = ? AND seq > ? AND seq <= ?`,
  );
  const endOf = connection
    .prepare<[number], number>(`SELECT ${seqOf('finished_at')} FROM walks WHERE id = ?`)
    .pluck();

  function between(job: Job, proof: WalkRow, seq: number): Change | null {
    if (!hasAny.get(job.name, seq)) return null;
    const counts = count.get(job.name, seq, endOf.get(proof.id) ?? 0);
    if (!counts || counts.firstSeq === null || counts.lastSeq === null) return null;
    return {
      ...{ job: job.name, table: job.table, walkId: proof.id, completeAsOf: proof.startedAt },
      verdict: proof.verdict as Change['verdict'],
      ...{ inserted: counts.inserted, updated: counts.updated, deleted: counts.deleted },
      ...{ firstSeq: counts.firstSeq, lastSeq: counts.lastSeq },
    };
  }

  return {
    /** What the walk makes known. Null where it is no proof, or nothing changed. */
    of(job: Job, walk: WalkRow): Change | null {
      if (!isProof(walk.verdict)) return null;
      const before = lastWalk(connection, job.name, `${PROOF} AND id < ${walk.id}`);
      return between(job, walk, before ? (endOf.get(before.id) ?? 0) : 0);
    },
    /** Up to which number the last proof made changes known; 0 before the first. */
    proven(job: Job): number {
      const proof = lastWalk(connection, job.name, PROOF);
      return (proof && endOf.get(proof.id)) ?? 0;
    },
    /** The same up to the last proof, for all changes after `seq`; for all there are, where a restore took back that change. */
    since(job: Job, seq: number): Change | null {
      const proof = lastWalk(connection, job.name, PROOF);
      return proof ? between(job, proof, isBeforeRestore(connection, seq) ? 0 : seq) : null;
    },
  };
}
