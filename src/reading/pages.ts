/** Pages of a dataset as of one moment, in the order in which the API showed its rows. A moment can be paged through while its order is kept. */

import { isoTime } from '../base/clock.ts';
import type { ListedJob } from '../job/list.ts';
import { type Connection, isBeforeRestore, orderReader, PROOF, quoted, seqOf } from '../store/read.ts';
import { endFinder, type Frame, openPastRows, type PastRows } from './moment.ts';

export type { Frame } from './moment.ts';

/** A dataset at one point in time, and where its rows lie. */
export type Moment = {
  job: string;
  /** The number of the change from which on it is so; give it back to page through the same rows. */
  seq: number;
  /** How many rows there are. */
  total: number;
  /**
   * `proven`: as upstream showed them at the last proof; newer rows in front, the latest commit first, and held rows that it did not
   * meet at the end. `by number`: as they came, since nothing has been proven.
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
  volatileSeq: number | null;
  /** Where `readPage` finds its rows. `listed`: how many of them a proof shows; null where nothing has been proven. */
  at: ChangeTime & { top: number; listed: number | null };
};

/** `future`: no change has that number yet. `gone`: orders or history do not reach back, or a restore took it back. `unread`: the first full walk has not ended. */
export type Missing = 'future' | 'gone' | 'unread';

/** A change by its number, and as the time that stands in the rows. */
type ChangeTime = { seq: number; at: string };

export type Pages = ReturnType<typeof openPages>;

/** What pages need to know of a job. */
export type PagedJob = Omit<ListedJob, 'about' | 'schemas'>;

/** @param jobs those of them that are lists, which have a history, can be read. */
export function openPages(connection: Connection, jobs: readonly PagedJob[]) {
  const order = orderReader(connection);
  const pagesAt = connection
    .prepare<[string, number], number>(
      `SELECT coalesce(pages_of, id) FROM walks WHERE job = ? AND order_seq <= ? ORDER BY order_seq DESC, id DESC LIMIT 1`,
    )
    .pluck();
  const newestRows = new WeakMap<Moment, readonly number[]>();
  const datasets = new Map(
    jobs.flatMap((job) => {
      if (job.history === null || job.versions === null) return [];
      const rows = openPastRows(connection, { ...job, versions: job.versions });
      return [[job.name, { rows, momentOf: openMoments(connection, job, rows, order.countRows) }] as const];
    }),
  );
  const transaction = connection.transaction((read: () => unknown) => read());
  const atOnce = <T>(read: () => T): T => transaction(read) as T;

  function datasetOf(job: string) {
    const dataset = datasets.get(job);
    if (!dataset) throw new Error(`${job} is no list`);
    return dataset;
  }

  /** The rows that came since the order was proven; all rows before any proof. */
  function newestRowsOf(moment: Moment): readonly number[] {
    let newest = newestRows.get(moment);
    if (!newest) {
      const { top, listed } = moment.at;
      newest = datasetOf(moment.job).rows.cameAbove(top, moment.at.at, listed !== null);
      newestRows.set(moment, newest);
    }
    return newest;
  }

  function listNumbers(moment: Moment, offset: number, limit: number): number[] {
    const { listed, seq } = moment.at;
    const newest = newestRowsOf(moment);
    const shown = newest.slice(offset, offset + limit);
    const from = Math.max(0, offset - newest.length);
    const left = Math.min(limit - shown.length, (listed ?? 0) - from);
    // A later proof of the same order may have taken the pages over.
    const walkId = left > 0 ? pagesAt.get(moment.job, seq) : undefined;
    return walkId === undefined ? shown : [...shown, ...order.readNumbers(walkId, from, left)];
  }

  return {
    /** The present, unless `seq` is given. Of a dataset that publishes snapshots, the one that was proven last by then, with the `seq` of its proof. */
    momentOf: (job: string, seq?: number): Moment | Missing => atOnce(() => datasetOf(job).momentOf(seq)),
    /** At most `limit` rows from `offset` on, as JSON with commas between, in their frame; UTF-8. Rows that history has dropped are missing. */
    readPage: (moment: Moment, offset: number, limit: number, frame: Frame): Buffer =>
      atOnce(() =>
        datasetOf(moment.job).rows.pageOf(listNumbers(moment, offset, limit), moment.at.at, frame),
      ),
    /** The numbers of those rows. */
    numbersOf: (moment: Moment, offset: number, limit: number): number[] =>
      atOnce(() => listNumbers(moment, offset, limit)),
    /** The same page of the rows that have these numbers. */
    readNumbers: ({ job, at }: Moment, numbers: Iterable<number>, frame: Frame): Buffer =>
      atOnce(() => datasetOf(job).rows.pageOf([...numbers], at.at, frame)),
    /** The JSON of the row that has each number; undefined where none has. */
    readRows: ({ job, at }: Moment, numbers: Iterable<number>): (string | undefined)[] =>
      atOnce(() => datasetOf(job).rows.jsonOf([...numbers], at.at)),
  };
}

type Proof = { verdict: 'snapshot' | 'verified'; completeAsOf: string };

/** A proof whose pages show an order of the rows. */
type Order = Proof & {
  seq: number;
  walkId: number;
  /** The walk whose pages these are. */
  pagesOf: number;
  generatedAt: string | null;
  held: number;
  top: number;
};

type Present = { lastChange: number; keptFrom: number };

const nothing: Present = { lastChange: 0, keptFrom: 0 };

const MAX_WALK_ID = Number.MAX_SAFE_INTEGER;

function openMoments(
  connection: Connection,
  { name, rows: table }: PagedJob,
  rows: PastRows,
  countListed: (walkId: number) => number,
) {
  const dataset = connection.prepare<[string], Present>(
    `SELECT max(coalesce(last_seq, 0), coalesce(reordered_seq, 0)) AS lastChange,
       max(coalesce(orders_from, 0), coalesce(${seqOf('history_from')}, 0)) AS keptFrom
     FROM _datasets WHERE job = ?`,
  );
  const orderWhere = (condition: string) =>
    connection.prepare<[string, number], Order>(
      `SELECT order_seq AS seq, id AS walkId, coalesce(pages_of, id) AS pagesOf, verdict, started_at AS completeAsOf,
         iif(verdict = 'snapshot', generated_at, NULL) AS generatedAt, held, last_number AS top
       FROM walks WHERE job = ? AND order_seq IS NOT NULL AND ${condition} LIMIT 1`,
    );
  const orderAt = orderWhere('order_seq <= ? ORDER BY order_seq DESC, id DESC');
  const endOf = endFinder(connection);
  const orderAfter = orderWhere('order_seq > ? ORDER BY order_seq, id');
  const lastProof = connection.prepare<[string, number, string], Proof>(
    `SELECT verdict, started_at AS completeAsOf FROM walks
     WHERE job = ? AND id < ? AND finished_at <= ? AND ${PROOF} ORDER BY id DESC LIMIT 1`,
  );
  const firstRead = connection.prepare<[string], { id: number; lastSeq: number | null }>(
    `SELECT id, last_seq AS lastSeq FROM walks
     WHERE job = ? AND kind = 'walk' AND status = 'complete' AND renewal_of IS NULL ORDER BY id LIMIT 1`,
  );
  const volatileSeq = connection
    .prepare<[string], number>('SELECT volatile_seq FROM _datasets WHERE job = ?')
    .pluck();
  const heldNow = connection
    .prepare<[], number>(`SELECT count(*) FROM ${quoted(table)} WHERE _held_since IS NOT NULL`)
    .pluck();

  function provenMoment(order: Order, next: Order | undefined, seq: number): Moment {
    const { top } = order;
    const isSnapshot = order.generatedAt !== null;
    const then = changeTimeOf(isSnapshot ? order.seq : seq);
    // Where some are held it is no longer the snapshot that was published.
    const isWhole = isSnapshot && order.held === 0;
    const listed = countListed(order.pagesOf);
    // Rows that came since are no part of a snapshot.
    const came = isSnapshot ? 0 : rows.cameAbove(top, then.at, true).length;
    // Later walks tell of proofs of the same order; unless that is of a snapshot, rows may have changed since.
    const until = isSnapshot ? null : endOf(name, seq);
    const latest = lastProof.get(name, next?.walkId ?? MAX_WALK_ID, until ?? '9999');
    const { verdict, completeAsOf } = latest ?? order;
    return {
      job: name,
      seq: then.seq,
      total: came + listed,
      order: 'proven',
      verdict,
      completeAsOf,
      generatedAt: isWhole ? order.generatedAt : null,
      held: next === undefined ? (heldNow.get() ?? 0) : order.held,
      volatileSeq: volatileSeq.get(name) ?? null,
      at: {
        ...then,
        top: isSnapshot ? Number.MAX_SAFE_INTEGER : top,
        listed,
      },
    };
  }

  /** Before the first proof: nothing was removed. */
  function unprovenMoment(next: Order | undefined, seq: number): Moment | Missing {
    const read = firstRead.get(name);
    if (!read) return 'unread';
    if (seq < (read.lastSeq ?? 0) || (next && read.id >= next.walkId)) return 'gone';
    const then = changeTimeOf(seq);
    return {
      job: name,
      seq,
      total: rows.cameAbove(0, then.at, false).length,
      order: 'by number',
      verdict: 'union',
      completeAsOf: null,
      generatedAt: null,
      held: 0,
      volatileSeq: volatileSeq.get(name) ?? null,
      at: { ...then, top: 0, listed: null },
    };
  }

  return (wanted?: number): Moment | Missing => {
    const { lastChange, keptFrom } = dataset.get(name) ?? nothing;
    const seq = wanted ?? lastChange;
    // Another moment has its number now.
    if (wanted !== undefined && isBeforeRestore(connection, wanted)) return 'gone';
    if (seq > lastChange) return 'future';
    const order = orderAt.get(name, seq);
    const isSnapshot = order !== undefined && order.generatedAt !== null;
    if ((isSnapshot ? order.seq : seq) < keptFrom) return 'gone';
    const next = orderAfter.get(name, seq);
    return order ? provenMoment(order, next, seq) : unprovenMoment(next, seq);
  };
}

const changeTimeOf = (seq: number): ChangeTime => ({ seq, at: isoTime(seq) });
