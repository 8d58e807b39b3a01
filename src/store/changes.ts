/** What a proven walk makes known of the changes, numbered over all datasets and processes. */

import { isoTime } from '../clock.ts';
import type { Job } from '../job.ts';
import type { Connection } from './connection.ts';
import type { WalkRow } from './schema.ts';
import { isBeforeRestore } from './sequence.ts';
import { changeSources, isProof, PROOF, seqOf } from './sql.ts';
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

type Counts = Pick<Change, 'inserted' | 'updated' | 'deleted' | 'firstSeq' | 'lastSeq'>;

/** A walk that changed something after `announced`; if also before that, a retry of its refused rows came since. */
type ChangedWalk = Counts & { id: number; announced: number };

export function openChanges(connection: Connection) {
  const columns = `walks.id, walks.inserted, walks.updated, walks.deleted,
    walks.first_seq AS firstSeq, walks.last_seq AS lastSeq`;
  const before = `LEFT JOIN walks AS before
    ON before.id = (SELECT id FROM walks WHERE job = :job AND id < :proof AND ${PROOF} ORDER BY id DESC LIMIT 1)`;
  const announcedBefore = seqOf('before.finished_at');
  // The order of the joins, and the plus signs, make SQLite use the indexes by which it looks at few walks.
  const ofProof = connection.prepare<[{ job: string; proof: number }], ChangedWalk>(
    `SELECT ${columns}, 0 AS announced FROM walks AS proof ${before} CROSS JOIN walks
     WHERE proof.id = :proof AND walks.job = :job AND walks.id > coalesce(before.id, 0) AND walks.last_seq IS NOT NULL
       AND ${isAnnouncedWith('proof')} AND NOT coalesce(${isAnnouncedWith('before')}, false)
     UNION ALL
     SELECT ${columns}, ${announcedBefore} AS announced FROM walks AS proof ${before} CROSS JOIN walks
     WHERE proof.id = :proof AND walks.last_seq > ${announcedBefore} AND +walks.job = :job AND +walks.id <= before.id`,
  );
  const sinceSeq = connection.prepare<[{ job: string; proof: number; seq: number }], ChangedWalk>(
    `SELECT ${columns}, :seq AS announced FROM walks AS proof CROSS JOIN walks
     WHERE proof.id = :proof AND walks.last_seq > :seq AND +walks.job = :job AND ${isAnnouncedWith('proof')}`,
  );
  function describe(job: Job, proof: WalkRow, walks: readonly ChangedWalk[]): Change | null {
    if (walks.length === 0) return null;
    const { inserted, updated, deleted, firstSeq, lastSeq } = walks
      .map((walk): Counts => (walk.firstSeq > walk.announced ? walk : countRetried(connection, job, walk)))
      .reduce(add);
    return {
      ...{ job: job.name, table: job.table, walkId: proof.id, completeAsOf: proof.startedAt },
      verdict: proof.verdict as Change['verdict'],
      ...{ inserted, updated, deleted, firstSeq, lastSeq },
    };
  }

  return {
    /**
     * What the walk makes known: all changes since the proof before it, by whatever walk, glance or retry of refused rows. Null where
     * it is no proof, or nothing changed.
     */
    of(job: Job, walk: WalkRow): Change | null {
      if (!isProof(walk.verdict)) return null;
      return describe(job, walk, ofProof.all({ job: job.name, proof: walk.id }));
    },
    /** The same up to the last proof, for all changes after `seq`; for all there are, where a restore took back that change. */
    since(job: Job, seq: number): Change | null {
      const proof = lastWalk(connection, job.name, PROOF);
      if (!proof) return null;
      const from = isBeforeRestore(connection, seq) ? 0 : seq;
      return describe(job, proof, sinceSeq.all({ job: job.name, proof: proof.id, seq: from }));
    },
  };
}

/** What a walk has changed since it was announced. Looks at all rows: a retry is rare. */
function countRetried(connection: Connection, job: Job, { id, announced, lastSeq }: ChangedWalk): Counts {
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
    .all(id, isoTime(announced));
  const { inserted = 0, updated = 0, first } = counts ?? {};
  return { inserted, updated, deleted: 0, firstSeq: first ? Date.parse(first) : lastSeq, lastSeq };
}

const add = (one: Counts, other: Counts): Counts => ({
  inserted: one.inserted + other.inserted,
  updated: one.updated + other.updated,
  deleted: one.deleted + other.deleted,
  firstSeq: Math.min(one.firstSeq, other.firstSeq),
  lastSeq: Math.max(one.lastSeq, other.lastSeq),
});

/** SQL over `walks`: the proof, what came before it, and glances that began and ended during it. */
const isAnnouncedWith = (proof: string) =>
  `(+walks.id <= ${proof}.id OR +walks.last_seq <= ${proof}.last_seq AND walks.finished_at <= ${proof}.finished_at)`;
