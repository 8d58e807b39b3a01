/**
 * Pages of a dataset as it was committed at one moment, in the order in which the API showed its rows. A moment can be paged
 * through for as long as its order is kept, whatever is written meanwhile.
 */

import { isoTime } from '../clock.ts';
import type { ListedJob } from '../job-list.ts';
import { type Connection, orderReader, PROOF, quoted, removalSql, seqOf } from '../store/read.ts';
import {
  type ChangeTime,
  type Frame,
  lastRowid,
  newestFirst,
  openPastRows,
  type PastRows,
  type RowidRange,
} from './pages/rows.ts';

export type { Frame } from './pages/rows.ts';

export type Pages = {
  /**
   * The present, unless `seq` is given. Of a dataset that publishes snapshots it is the one that was proven last by then, and
   * `seq` that of its proof.
   */
  momentOf(job: string, seq?: number): Moment | Missing;
  /**
   * The rows from `offset` on, `limit` at most, as JSON with commas between, in their frame; UTF-8. A moment that history no
   * longer reaches may lack rows.
   */
  readPage(moment: Moment, offset: number, limit: number, frame: Frame): Buffer;
  /** The numbers of those rows. */
  rowidsOf(moment: Moment, offset: number, limit: number): number[];
  /** The same of the rows that had these numbers. */
  readRowids(moment: Moment, numbers: Iterable<number>, frame: Frame): Buffer;
  /** The JSON of the row that had each number; undefined where none had. */
  readRows(moment: Moment, numbers: Iterable<number>): (string | undefined)[];
};

/** @param jobs those of them that are lists, which have a history, can be read. */
export function openPages(connection: Connection, jobs: readonly ListedJob[]): Pages {
  const readOrder = orderReader(connection);
  const fronts = new WeakMap<Moment, ReturnType<typeof newestFirst>>();
  const datasets = new Map(
    jobs.flatMap((job) => {
      if (job.history === null) return [];
      const rows = openPastRows(connection, { ...job, history: job.history });
      return [[job.name, { rows, momentOf: openMoments(connection, job, rows) }] as const];
    }),
  );
  const datasetOf = (job: string) => {
    const dataset = datasets.get(job);
    if (!dataset) throw new Error(`${job} is no list`);
    return dataset;
  };

  function rowidsOf(moment: Moment, rows: PastRows, offset: number, limit: number): number[] {
    const { order, at } = moment;
    if (order === 'by number') return range(offset + 1, Math.min(at.last, offset + limit));
    const came = at.last - at.top;
    const front = fronts.get(moment) ?? newestFirst(rows, at, at);
    fronts.set(moment, front);
    const numbers = offset < came ? front(offset, limit) : [];
    if (!at.list) return numbers;
    const from = Math.max(0, offset - came);
    const left = Math.min(limit - numbers.length, at.list.rows - from);
    return left > 0 ? [...numbers, ...readOrder(moment.job, at.list.seq, from, left)] : numbers;
  }

  const transaction = connection.transaction((read: () => unknown) => read());
  const atOnce = <T>(read: () => T): T => transaction(read) as T;
  const numbers = (moment: Moment, offset: number, limit: number) =>
    rowidsOf(moment, datasetOf(moment.job).rows, offset, limit);
  const pageOf = ({ job, at }: Moment, of: Iterable<number>, frame: Frame) =>
    datasetOf(job).rows.pageOf([...of], at, frame);

  return {
    // All that a moment is made of is read at once.
    momentOf: (job, seq) => atOnce(() => datasetOf(job).momentOf(seq)),
    readPage: (moment, offset, limit, frame) =>
      atOnce(() => pageOf(moment, numbers(moment, offset, limit), frame)),
    rowidsOf: (moment, offset, limit) => atOnce(() => numbers(moment, offset, limit)),
    readRowids: (moment, of, frame) => atOnce(() => pageOf(moment, of, frame)),
    readRows: ({ job, at }, of) => atOnce(() => datasetOf(job).rows.jsonOf([...of], at)),
  };
}

const range = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);

/** A dataset at one point in time, and where its rows lie. */
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
  at: ChangeTime & RowidRange & { list: { seq: number; rows: number } | null };
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

/** `removal`: the first change of one whose proof has not ended. */
type Present = { lastChange: number; removal: number | null; keptFrom: number };

const nothing: Present = { lastChange: 0, removal: null, keptFrom: 0 };

const MAX_WALK_ID = Number.MAX_SAFE_INTEGER;

function openMoments(connection: Connection, job: ListedJob, rows: PastRows) {
  const dataset = connection.prepare<[{ job: string }], Present>(
    `SELECT max(coalesce(last_seq, 0), coalesce(order_seq, 0)) AS lastChange, ${removalSql} AS removal,
       max(coalesce(orders_from, 0), coalesce(${seqOf('history_from')}, 0)) AS keptFrom
     FROM datasets WHERE job = :job`,
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
    const { lastChange, removal, keptFrom } = dataset.get({ job: job.name }) ?? nothing;
    // A proof that still removes rows shows with its end, all at once.
    const present = removal === null ? lastChange : removal - 1;
    const seq = asked ?? present;
    if (seq > present) return 'future';
    const version = versionAt.get(job.name, seq);
    const isSnapshot = version !== undefined && version.generatedAt !== null;
    if ((isSnapshot ? version.seq : seq) < keptFrom) return 'gone';
    const next = versionAfter.get(job.name, seq);
    return version ? ordered(version, next, seq, lastChange) : unordered(next, seq, lastChange);
  };

  /** The number of the last row that had come by then. */
  const lastBy = (then: ChangeTime, lastChange: number, { top, since }: Pick<RowidRange, 'top' | 'since'>) =>
    then.seq === lastChange ? Math.max(top, rows.greatestNow()) : lastRowid(rows, then, top, since);

  function ordered(version: Version, next: Version | undefined, seq: number, lastChange: number): Moment {
    const { met, top } = version;
    const isSnapshot = version.generatedAt !== null;
    const then = changeTimeOf(isSnapshot ? version.seq : seq);
    const came = { top, since: isoTime(version.seq) };
    const last = isSnapshot ? top : lastBy(then, lastChange, came);
    // Rows that came since are no part of a snapshot, and where some are held it is no longer the one that was published.
    const isWhole = isSnapshot && version.held === 0;
    const listed = isWhole ? met : version.rows;
    // Walks tell of proofs of the same order, but they may be forgotten.
    const latest = lastProof.get(job.name, next?.walkId ?? MAX_WALK_ID);
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
  function unordered(next: Version | undefined, seq: number, lastChange: number): Moment | Missing {
    const read = firstRead.get(job.name);
    if (!read) return 'unread';
    if (seq < (read.lastSeq ?? 0) || (next && read.id >= next.walkId)) return 'gone';
    const then = changeTimeOf(seq);
    const came = { top: 0, since: '' };
    const last = lastBy(then, lastChange, came);
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

const changeTimeOf = (seq: number): ChangeTime => ({ seq, at: isoTime(seq) });
