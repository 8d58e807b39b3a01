/** Pages of a dataset as of one moment, in the order in which the API showed its rows. A moment can be paged through while its order is kept. */

import { isoTime } from '../clock.ts';
import type { ListedJob } from '../job-list.ts';
import { storedName } from '../properties.ts';
import { type Connection, orderReader, PROOF, quoted, seqOf } from '../store/read.ts';

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
  unversionedSeq: number | null;
  /** Where its rows lie, for `readPage` alone. `listed`: how many of them a proof shows; null where nothing has been proven. */
  at: ChangeTime & { top: number; listed: number | null };
};

/** `future`: no change has that number yet. `gone`: orders or history do not reach back. `unread`: the first full walk has not ended. */
export type Missing = 'future' | 'gone' | 'unread';

/** The text around the rows of a page: what stands before so many of them, and what behind. */
export type Frame = (rows: number) => readonly [before: string, behind: string];

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
  const fronts = new WeakMap<Moment, readonly number[]>();
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
  function frontOf(moment: Moment): readonly number[] {
    let front = fronts.get(moment);
    if (!front) {
      const { top, listed } = moment.at;
      front = datasetOf(moment.job).rows.cameAbove(top, moment.at, listed !== null);
      fronts.set(moment, front);
    }
    return front;
  }

  function listNumbers(moment: Moment, offset: number, limit: number): number[] {
    const { listed, seq } = moment.at;
    const front = frontOf(moment);
    const shown = front.slice(offset, offset + limit);
    const from = Math.max(0, offset - front.length);
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
      atOnce(() => datasetOf(moment.job).rows.pageOf(listNumbers(moment, offset, limit), moment.at, frame)),
    /** The numbers of those rows. */
    numbersOf: (moment: Moment, offset: number, limit: number): number[] =>
      atOnce(() => listNumbers(moment, offset, limit)),
    /** The same page of the rows that have these numbers. */
    readNumbers: ({ job, at }: Moment, numbers: Iterable<number>, frame: Frame): Buffer =>
      atOnce(() => datasetOf(job).rows.pageOf([...numbers], at, frame)),
    /** The JSON of the row that has each number; undefined where none has. */
    readRows: ({ job, at }: Moment, numbers: Iterable<number>): (string | undefined)[] =>
      atOnce(() => datasetOf(job).rows.jsonOf([...numbers], at)),
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
    `SELECT max(coalesce(last_seq, 0), coalesce(order_seq, 0)) AS lastChange,
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
  const orderAfter = orderWhere('order_seq > ? ORDER BY order_seq, id');
  const lastProof = connection.prepare<[string, number], Proof & { id: number }>(
    `SELECT id, verdict, started_at AS completeAsOf FROM walks
     WHERE job = ? AND id < ? AND ${PROOF} ORDER BY id DESC LIMIT 1`,
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
    const came = isSnapshot ? 0 : rows.cameAbove(top, then, true).length;
    // Later walks tell of proofs of the same order.
    const latest = lastProof.get(name, next?.walkId ?? MAX_WALK_ID);
    const { verdict, completeAsOf } = latest && latest.id > order.walkId ? latest : order;
    return {
      job: name,
      seq: then.seq,
      total: came + listed,
      order: 'proven',
      verdict,
      completeAsOf,
      generatedAt: isWhole ? order.generatedAt : null,
      held: next === undefined ? (heldNow.get() ?? 0) : order.held,
      unversionedSeq: volatileSeq.get(name) ?? null,
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
      total: rows.cameAbove(0, then, false).length,
      order: 'by number',
      verdict: 'union',
      completeAsOf: null,
      generatedAt: null,
      held: 0,
      unversionedSeq: volatileSeq.get(name) ?? null,
      at: { ...then, top: 0, listed: null },
    };
  }

  return (wanted?: number): Moment | Missing => {
    const { lastChange, keptFrom } = dataset.get(name) ?? nothing;
    const seq = wanted ?? lastChange;
    if (seq > lastChange) return 'future';
    const order = orderAt.get(name, seq);
    const isSnapshot = order !== undefined && order.generatedAt !== null;
    if ((isSnapshot ? order.seq : seq) < keptFrom) return 'gone';
    const next = orderAfter.get(name, seq);
    return order ? provenMoment(order, next, seq) : unprovenMoment(next, seq);
  };
}

const changeTimeOf = (seq: number): ChangeTime => ({ seq, at: isoTime(seq) });

type PastRows = ReturnType<typeof openPastRows>;

/** Rows by their numbers, as they were at one point in time. */
function openPastRows(connection: Connection, job: PagedJob & { versions: string }) {
  const table = job.fromWithNumber;
  const stored = quoted(job.rows);
  const history = quoted(job.versions);
  const pluck = <Value>(sql: string) => connection.prepare<(string | number)[], Value>(sql).pluck();
  // SQLite joins the rows: V8 would take as long to decode, join and encode a hundred strings as to read them. A cross join
  // keeps the order of the numbers.
  const unchanged = connection.prepare<[string, string, string, string], { rows: number; page: Buffer }>(
    `SELECT count(*) AS rows, CAST(? || coalesce(group_concat(${job.rowJson}, ','), '') || ? AS BLOB) AS page
     FROM json_each(?) AS wanted CROSS JOIN ${table} AS row
     WHERE row._number = wanted.value AND row._changed_at <= ?`,
  );
  // One query for a page: a hundred would take twice as long.
  const current = pluck<string | null>(
    `SELECT (SELECT ${job.rowJson} FROM ${table} AS row WHERE row._number = wanted.value AND row._changed_at <= ?)
     FROM json_each(?) AS wanted`,
  );
  // Volatile values are the latest that there are: no version keeps those that were shown with it.
  const volatileNow = job.volatileTable
    ? `LEFT JOIN ${quoted(job.volatileTable)} AS latest ON latest.number = version._row`
    : '';
  const past = pluck<string>(
    `SELECT ${job.rowJson} FROM (
       SELECT ${job.columns.map((name) => pastColumn(name, job.volatile)).join(', ')}
       FROM ${history} AS version ${volatileNow}
       WHERE version._key = ? AND version._row = ? AND version._valid_to > ? AND version._valid_from <= ?
       ORDER BY version._valid_to LIMIT 1) AS row`,
  );
  const keyOf = pluck<string>(
    `SELECT _key FROM ${stored} WHERE number = ?
     UNION ALL SELECT _key FROM ${history} WHERE _row = ? AND _ended_by = 'delete' LIMIT 1`,
  );
  // A row came with its first version.
  const born = `(SELECT min(_valid_from) FROM ${history} AS version WHERE version._key = row._key AND version._row =`;
  const cameAbove = connection.prepare<[{ top: number; at: string }], { number: number; born: string }>(
    `SELECT number, coalesce(${born} row.number), _changed_at) AS born FROM ${stored} AS row WHERE number > :top
     UNION ALL SELECT _row, ${born} row._row) FROM ${history} AS row
     WHERE _row > :top AND _ended_by = 'delete' AND _valid_to > :at`,
  );

  function pastJson(number: number, { at }: ChangeTime): string | undefined {
    const key = keyOf.get(number, number);
    return key === undefined ? undefined : past.get(key, number, at, at);
  }

  /** The JSON of the row that has each number; undefined where none has. */
  function jsonOf(numbers: readonly number[], then: ChangeTime): (string | undefined)[] {
    const found = current.all(then.at, JSON.stringify(numbers));
    return numbers.map((number, at) => found[at] ?? pastJson(number, then));
  }

  return {
    jsonOf,
    /** The JSON of the rows that have these numbers, with commas between, in its frame; UTF-8. */
    pageOf(numbers: readonly number[], then: ChangeTime, frame: Frame): Buffer {
      const found = unchanged.get(...frame(numbers.length), JSON.stringify(numbers), then.at);
      if (found?.rows === numbers.length) return found.page;
      const rows = jsonOf(numbers, then).filter((row) => row !== undefined);
      const [before, behind] = frame(rows.length);
      return Buffer.from(`${before}${rows.join(',')}${behind}`);
    },
    /**
     * The numbers above `top` of rows that had come by then: the latest commit first, or by number alone.
     * @param byCommit whether those of the latest commit come first, each as they stood on their page.
     */
    cameAbove(top: number, { at }: ChangeTime, byCommit: boolean): number[] {
      if (top === Number.MAX_SAFE_INTEGER) return [];
      const came = cameAbove.all({ top, at }).filter(({ born }) => born <= at);
      came.sort((one, other) =>
        byCommit && one.born !== other.born ? (one.born < other.born ? 1 : -1) : one.number - other.number,
      );
      return came.map(({ number }) => number);
    },
  };
}

function pastColumn(name: string, volatile: readonly string[]): string {
  const kept = `version.${quoted(storedName(name))}`;
  if (!volatile.includes(name)) return `${kept} AS ${quoted(name)}`;
  return `coalesce(latest.${quoted(storedName(name))}, ${kept}) AS ${quoted(name)}`;
}
