/** The order of all changes, over every dataset and every process, and what a proven walk makes known of them. */

import { isoTime } from '../clock.ts';
import type { Job } from '../job.ts';
import type { Connection } from './connection.ts';
import { isBeforeRestore, lastSeqOf } from './identity.ts';
import type { WalkRow } from './schema.ts';
import { changeSources, isProof, PROOF, seqOf } from './sql.ts';

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
   * What the walk makes known: all that changed since the proof before it, also by walks that proved nothing, by glances and by
   * retries of refused rows. Null where it is no proof, or nothing changed.
   */
  of(job: Job, walk: WalkRow): Change | null;
  /** The same up to the last proof, of all that changed after `seq`; all there is, where that is of the mirror before a restore. */
  since(job: Job, seq: number): Change | null;
};

/** A walk that changed something after `told`. What it changed by then was told before: a retry of its refused rows came since. */
type ChangedWalk = Counts & { id: number; told: number };

export function openChanges(connection: Connection): Changes {
  const columns = `walks.id, walks.inserted, walks.updated, walks.deleted,
    walks.first_seq AS firstSeq, walks.last_seq AS lastSeq`;
  const before = `LEFT JOIN walks AS before
    ON before.id = (SELECT id FROM walks WHERE job = :job AND id < :proof AND ${PROOF} ORDER BY id DESC LIMIT 1)`;
  const toldBefore = seqOf('before.finished_at');
  // Joined in this order, and with a plus where another index would do, SQLite looks at few walks, however many there are.
  const ofProof = connection.prepare<[{ job: string; proof: number }], ChangedWalk>(
    `SELECT ${columns}, 0 AS told FROM walks AS proof ${before} CROSS JOIN walks
     WHERE proof.id = :proof AND walks.job = :job AND walks.id > coalesce(before.id, 0) AND walks.last_seq IS NOT NULL
       AND ${isToldWith('proof')} AND NOT coalesce(${isToldWith('before')}, false)
     UNION ALL
     SELECT ${columns}, ${toldBefore} AS told FROM walks AS proof ${before} CROSS JOIN walks
     WHERE proof.id = :proof AND walks.last_seq > ${toldBefore} AND +walks.job = :job AND +walks.id <= before.id`,
  );
  const sinceSeq = connection.prepare<[{ job: string; proof: number; seq: number }], ChangedWalk>(
    `SELECT ${columns}, :seq AS told FROM walks AS proof CROSS JOIN walks
     WHERE proof.id = :proof AND walks.last_seq > :seq AND +walks.job = :job AND ${isToldWith('proof')}`,
  );
  const lastProof = connection.prepare<[string], Pick<WalkRow, 'id' | 'verdict' | 'startedAt'>>(
    `SELECT id, verdict, started_at AS startedAt FROM walks WHERE job = ? AND ${PROOF} ORDER BY id DESC LIMIT 1`,
  );
  /** The rows of a walk that it has changed since it was told, which takes a look at all rows: a retry is rare. */
  const countRetried = (job: Job, { id, told, lastSeq }: ChangedWalk): Counts => {
    const sources = changeSources(job)
      .filter(({ at }) => at !== '_valid_to')
      .map(
        ({ change, at, source }) =>
          `SELECT ${change} AS change, _walk_id AS walkId, ${at} AS at FROM ${source}`,
      );
    const [counts] = connection
      .prepare<[number, string], Pick<Counts, 'inserted' | 'updated'> & { first: string | null }>(
        `SELECT count(*) FILTER (WHERE change = 'insert') AS inserted, count(*) FILTER (WHERE change = 'update') AS updated,
           min(at) AS first FROM (${sources.join(' UNION ALL ')}) WHERE walkId = ? AND at > ?`,
      )
      .all(id, isoTime(told));
    const { inserted = 0, updated = 0, first } = counts ?? {};
    return { inserted, updated, deleted: 0, firstSeq: first ? Date.parse(first) : lastSeq, lastSeq };
  };
  const sum = (job: Job, walks: readonly ChangedWalk[]): Counts | undefined =>
    walks
      .map((walk): Counts => (walk.firstSeq > walk.told ? walk : countRetried(job, walk)))
      .reduce<Counts | undefined>((all, walk) => (all ? add(all, walk) : walk), undefined);
  return {
    of(job, walk) {
      if (!isProof(walk.verdict)) return null;
      return describe(job, walk, sum(job, ofProof.all({ job: job.name, proof: walk.id })));
    },
    since(job, seq) {
      const proof = lastProof.get(job.name);
      if (!proof) return null;
      const from = isBeforeRestore(connection, seq) ? 0 : seq;
      return describe(job, proof, sum(job, sinceSeq.all({ job: job.name, proof: proof.id, seq: from })));
    },
  };
}

const add = (one: Counts, other: Counts): Counts => ({
  inserted: one.inserted + other.inserted,
  updated: one.updated + other.updated,
  deleted: one.deleted + other.deleted,
  firstSeq: Math.min(one.firstSeq, other.firstSeq),
  lastSeq: Math.max(one.lastSeq, other.lastSeq),
});

/** SQL over `walks`: the proof itself, what came before it, and glances that began and ended while it was under way. */
const isToldWith = (proof: string) =>
  `(+walks.id <= ${proof}.id OR +walks.last_seq <= ${proof}.last_seq AND walks.finished_at <= ${proof}.finished_at)`;

function describe(
  job: Job,
  { id, verdict, startedAt }: Pick<WalkRow, 'id' | 'verdict' | 'startedAt'>,
  counts: Counts | undefined,
): Change | null {
  if (!counts) return null;
  const { inserted, updated, deleted, firstSeq, lastSeq } = counts;
  return {
    job: job.name,
    table: job.table,
    walkId: id,
    verdict: verdict as Change['verdict'],
    completeAsOf: startedAt,
    ...{ inserted, updated, deleted, firstSeq, lastSeq },
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
  const keep = connection.prepare<[string, number]>(
    `INSERT INTO datasets (job, ${column}) VALUES (?, ?) ON CONFLICT DO UPDATE SET ${column} = excluded.${column}`,
  );
  return (job, now) => {
    // The clock tells parts of milliseconds, which no time in the mirror does.
    const seq = Math.max(Math.trunc(now), lastSeqOf(connection) + 1);
    keep.run(job, seq);
    return seq;
  };
}
