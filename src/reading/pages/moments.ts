/** A dataset at one moment: what is told of it, and where its rows lie. */

import { isoTime } from '../../clock.ts';
import type { ListedJob } from '../../job-list.ts';
import { type Connection, PROOF, quoted, seqOf } from '../../store/read.ts';
import { lastNumber, type NewRows } from './new-rows.ts';
import type { RowsThen, Then } from './rows-then.ts';

export type Moment = {
  job: string;
  /** The number of the change from which on it is so; give it back to page through the same rows. */
  seq: number;
  /** How many rows there are. */
  total: number;
  /**
   * `proven`: as upstream showed them at the last proof; rows that came since are in front, the latest commit first, and
   * those that the proof did not meet, but that are held, at the end. `by number`: as they came, since nothing has
   * been proven.
   */
  order: 'proven' | 'by number';
  /** `union` where nothing had been proven by then. */
  verdict: 'snapshot' | 'verified' | 'union';
  /** When the last walk began that had proved the dataset complete by then, ISO 8601; null where none had. */
  completeAsOf: string | null;
  /** Of the proven snapshot whose rows these are; null for any other verdict, where the dataset has none, and where rows are held. */
  generatedAt: string | null;
  /** How many of the rows are held, see `_held_since`: those at the end, but for some that were seen again since. */
  held: number;
  /** Grows with every change that no `seq` tells: of volatile values, and of what is held. Null before the first. */
  unversionedSeq: number | null;
  /** Where its rows lie, for `readPage` alone. */
  at: Then & NewRows & { list: { seq: number; rows: number } | null };
};

/** `future`: no change has that number yet. `gone`: orders or history do not reach back. `unread`: the first full walk has not ended. */
export type Missing = 'future' | 'gone' | 'unread';

type Proof = { verdict: 'snapshot' | 'verified'; completeAsOf: string };

type Version = Proof & {
  seq: number;
  walkId: number;
  generatedAt: string | null;
  rows: number;
  met: number;
  held: number;
  top: number;
};

const versions = `SELECT seq, walk_id AS walkId, verdict, complete_as_of AS completeAsOf, generated_at AS generatedAt,
  rows, met, held, top FROM orders WHERE job = ?`;

const EVER = Number.MAX_SAFE_INTEGER;

export function openMoments(connection: Connection, job: ListedJob, rows: RowsThen) {
  const dataset = connection.prepare<[string], { present: number; keptFrom: number }>(
    `SELECT max(coalesce(last_seq, 0), coalesce(order_seq, 0)) AS present, max(coalesce(orders_from, 0), coalesce(${seqOf('history_from')}, 0)) AS keptFrom
     FROM datasets WHERE job = ?`,
  );
  const versionAt = connection.prepare<[string, number], Version>(
    `${versions} AND seq <= ? ORDER BY seq DESC LIMIT 1`,
  );
  const versionAfter = connection.prepare<[string, number], Version>(
    `${versions} AND seq > ? ORDER BY seq LIMIT 1`,
  );
  const lastProof = connection.prepare<[string, number], Proof & { id: number }>(
    `SELECT id, verdict, started_at AS completeAsOf FROM walks
     WHERE job = ? AND id < ? AND ${PROOF} ORDER BY id DESC LIMIT 1`,
  );
  const firstRead = connection.prepare<[string], { id: number; lastSeq: number | null }>(
    `SELECT id, last_seq AS lastSeq FROM walks
     WHERE job = ? AND kind = 'walk' AND status = 'complete' AND renewal_of IS NULL ORDER BY id LIMIT 1`,
  );
  const volatileSeq = connection
    .prepare<[string], number>('SELECT volatile_seq FROM datasets WHERE job = ?')
    .pluck();
  const heldNow = connection
    .prepare<[], number>(`SELECT count(*) FROM ${quoted(job.rows)} WHERE _held_since IS NOT NULL`)
    .pluck();

  const momentOf = (asked?: number): Moment | Missing => {
    const { present, keptFrom } = dataset.get(job.name) ?? { present: 0, keptFrom: 0 };
    const seq = asked ?? present;
    if (seq > present) return 'future';
    const version = versionAt.get(job.name, seq);
    const isSnapshot = version !== undefined && version.generatedAt !== null;
    if ((isSnapshot ? version.seq : seq) < keptFrom) return 'gone';
    const next = versionAfter.get(job.name, seq);
    return version ? ordered(version, next, seq, present) : unordered(next, seq, present);
  };

  /** The number of the last row that had come by then. */
  const lastBy = (then: Then, present: number, { top, since }: Pick<NewRows, 'top' | 'since'>) =>
    then.seq === present ? Math.max(top, rows.greatestNow()) : lastNumber(rows, then, top, since);

  function ordered(version: Version, next: Version | undefined, seq: number, present: number): Moment {
    const { met, top } = version;
    const isSnapshot = version.generatedAt !== null;
    const then = thenOf(isSnapshot ? version.seq : seq);
    const came = { top, since: isoTime(version.seq) };
    const last = isSnapshot ? top : lastBy(then, present, came);
    // Rows that came since are no part of a snapshot, and where some are held it is no longer the one that was published.
    const isWhole = isSnapshot && version.held === 0;
    const listed = isWhole ? met : version.rows;
    // Walks tell of proofs of the same order, but they may be forgotten.
    const latest = lastProof.get(job.name, next?.walkId ?? EVER);
    const { verdict, completeAsOf } = latest && latest.id > version.walkId ? latest : version;
    return {
      job: job.name,
      seq: then.seq,
      total: listed + last - top,
      order: 'proven',
      verdict,
      completeAsOf,
      generatedAt: isWhole ? version.generatedAt : null,
      held: next === undefined ? countHeld() : version.held,
      unversionedSeq: unversionedSeq(),
      at: { ...then, ...came, last, list: { seq: version.seq, rows: listed } },
    };
  }

  /** Before the first proof: nothing was removed, so numbers have no gaps. */
  function unordered(next: Version | undefined, seq: number, present: number): Moment | Missing {
    const read = firstRead.get(job.name);
    if (!read) return 'unread';
    if (seq < (read.lastSeq ?? 0) || (next && read.id >= next.walkId)) return 'gone';
    const then = thenOf(seq);
    const came = { top: 0, since: '' };
    const last = lastBy(then, present, came);
    return {
      job: job.name,
      seq,
      total: last,
      order: 'by number',
      verdict: 'union',
      completeAsOf: null,
      generatedAt: null,
      held: 0,
      unversionedSeq: unversionedSeq(),
      at: { ...then, ...came, last, list: null },
    };
  }

  const unversionedSeq = () => volatileSeq.get(job.name) ?? null;
  const countHeld = () => heldNow.get() ?? 0;

  return momentOf;
}

const thenOf = (seq: number): Then => ({ seq, at: isoTime(seq) });
