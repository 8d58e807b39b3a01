/** Pages of a dataset as of one moment, in the order in which the API showed its rows. A moment can be paged through while its order is kept. */

import { isoTime } from '../clock.ts';
import type { ListedJob } from '../job-list.ts';
import { type Connection, orderReader, PROOF, quoted, removalSql, seqOf } from '../store/read.ts';

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
  /** Where its rows lie, for `readPage` alone. */
  at: ChangeTime & RowidRange & { list: { seq: number; rows: number } | null };
};

/** `future`: no change has that number yet. `gone`: orders or history do not reach back. `unread`: the first full walk has not ended. */
export type Missing = 'future' | 'gone' | 'unread';

/** The text around the rows of a page: what stands before so many of them, and what behind. */
export type Frame = (rows: number) => readonly [before: string, behind: string];

/** A change by its number, and as the time that stands in the rows. */
type ChangeTime = { seq: number; at: string };

/** Rows that came since an order was proven: those with rowids above `top`, up to `last`. Rowids have no gap and grow with every commit. */
type RowidRange = { top: number; since: string; last: number };

export type Pages = ReturnType<typeof openPages>;

/** @param jobs those of them that are lists, which have a history, can be read. */
export function openPages(connection: Connection, jobs: readonly ListedJob[]) {
  const readOrder = orderReader(connection);
  const fronts = new WeakMap<Moment, ReturnType<typeof newestFirst>>();
  const datasets = new Map(
    jobs.flatMap((job) => {
      if (job.history === null) return [];
      const rows = openPastRows(connection, { ...job, history: job.history });
      return [[job.name, { rows, momentOf: openMoments(connection, job, rows) }] as const];
    }),
  );
  const transaction = connection.transaction((read: () => unknown) => read());
  const atOnce = <T>(read: () => T): T => transaction(read) as T;

  function datasetOf(job: string) {
    const dataset = datasets.get(job);
    if (!dataset) throw new Error(`${job} is no list`);
    return dataset;
  }

  function listRowids(moment: Moment, offset: number, limit: number): number[] {
    const { job, order, at } = moment;
    if (order === 'by number') return range(offset + 1, Math.min(at.last, offset + limit));
    const came = at.last - at.top;
    const front = fronts.get(moment) ?? newestFirst(datasetOf(job).rows, at);
    fronts.set(moment, front);
    const rowids = offset < came ? front(offset, limit) : [];
    if (!at.list) return rowids;
    const from = Math.max(0, offset - came);
    const left = Math.min(limit - rowids.length, at.list.rows - from);
    return left > 0 ? [...rowids, ...readOrder(job, at.list.seq, from, left)] : rowids;
  }

  return {
    /** The present, unless `seq` is given. Of a dataset that publishes snapshots, the one that was proven last by then, with the `seq` of its proof. */
    momentOf: (job: string, seq?: number): Moment | Missing => atOnce(() => datasetOf(job).momentOf(seq)),
    /** At most `limit` rows from `offset` on, as JSON with commas between, in their frame; UTF-8. Rows that history has dropped are missing. */
    readPage: (moment: Moment, offset: number, limit: number, frame: Frame): Buffer =>
      atOnce(() => datasetOf(moment.job).rows.pageOf(listRowids(moment, offset, limit), moment.at, frame)),
    /** The rowids of those rows. */
    rowidsOf: (moment: Moment, offset: number, limit: number): number[] =>
      atOnce(() => listRowids(moment, offset, limit)),
    /** The same page of the rows that had these rowids. */
    readRowids: ({ job, at }: Moment, rowids: Iterable<number>, frame: Frame): Buffer =>
      atOnce(() => datasetOf(job).rows.pageOf([...rowids], at, frame)),
    /** The JSON of the row that had each rowid; undefined where none had. */
    readRows: ({ job, at }: Moment, rowids: Iterable<number>): (string | undefined)[] =>
      atOnce(() => datasetOf(job).rows.jsonOf([...rowids], at)),
  };
}

const range = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);

type Proof = { verdict: 'snapshot' | 'verified'; completeAsOf: string };

/** A kept order of rows, and what proved it. */
type Order = Proof & {
  seq: number;
  walkId: number;
  generatedAt: string | null;
  rows: number;
  met: number;
  held: number;
  top: number;
};

/** `removal`: the first change of one whose proof has not ended. */
type Present = { lastChange: number; removal: number | null; keptFrom: number };

const nothing: Present = { lastChange: 0, removal: null, keptFrom: 0 };

const MAX_WALK_ID = Number.MAX_SAFE_INTEGER;

function openMoments(connection: Connection, { name, rows: table }: ListedJob, rows: PastRows) {
  const dataset = connection.prepare<[{ job: string }], Present>(
    `SELECT max(coalesce(last_seq, 0), coalesce(order_seq, 0)) AS lastChange, ${removalSql} AS removal,
       max(coalesce(orders_from, 0), coalesce(${seqOf('history_from')}, 0)) AS keptFrom
     FROM datasets WHERE job = :job`,
  );
  const orderWhere = (condition: string) =>
    connection.prepare<[string, number], Order>(
      `SELECT seq, walk_id AS walkId, verdict, complete_as_of AS completeAsOf, generated_at AS generatedAt,
         rows, met, held, top FROM orders WHERE job = ? AND ${condition} LIMIT 1`,
    );
  const orderAt = orderWhere('seq <= ? ORDER BY seq DESC');
  const orderAfter = orderWhere('seq > ? ORDER BY seq');
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
    .prepare<[], number>(`SELECT count(*) FROM ${quoted(table)} WHERE _held_since IS NOT NULL`)
    .pluck();

  /** The rowid of the last row that had come by then. */
  function lastBy(then: ChangeTime, lastChange: number, top: number, since: string): number {
    return then.seq === lastChange ? Math.max(top, rows.greatestNow()) : lastRowid(rows, then, top, since);
  }

  function provenMoment(order: Order, next: Order | undefined, seq: number, lastChange: number): Moment {
    const { met, top } = order;
    const isSnapshot = order.generatedAt !== null;
    const then = changeTimeOf(isSnapshot ? order.seq : seq);
    const since = isoTime(order.seq);
    const last = isSnapshot ? top : lastBy(then, lastChange, top, since);
    // Rows that came since are no part of a snapshot, and where some are held it is no longer the one that was published.
    const isWhole = isSnapshot && order.held === 0;
    const listed = isWhole ? met : order.rows;
    // Walks tell of proofs of the same order, but they may be forgotten.
    const latest = lastProof.get(name, next?.walkId ?? MAX_WALK_ID);
    const { verdict, completeAsOf } = latest && latest.id > order.walkId ? latest : order;
    return {
      job: name,
      seq: then.seq,
      total: listed + last - top,
      order: 'proven',
      verdict,
      completeAsOf,
      generatedAt: isWhole ? order.generatedAt : null,
      held: next === undefined ? (heldNow.get() ?? 0) : order.held,
      unversionedSeq: volatileSeq.get(name) ?? null,
      at: { ...then, top, since, last, list: { seq: order.seq, rows: listed } },
    };
  }

  /** Before the first proof: nothing was removed, so rowids have no gaps. */
  function unprovenMoment(next: Order | undefined, seq: number, lastChange: number): Moment | Missing {
    const read = firstRead.get(name);
    if (!read) return 'unread';
    if (seq < (read.lastSeq ?? 0) || (next && read.id >= next.walkId)) return 'gone';
    const then = changeTimeOf(seq);
    const last = lastBy(then, lastChange, 0, '');
    return {
      job: name,
      seq,
      total: last,
      order: 'by number',
      verdict: 'union',
      completeAsOf: null,
      generatedAt: null,
      held: 0,
      unversionedSeq: volatileSeq.get(name) ?? null,
      at: { ...then, top: 0, since: '', last, list: null },
    };
  }

  return (wanted?: number): Moment | Missing => {
    const { lastChange, removal, keptFrom } = dataset.get({ job: name }) ?? nothing;
    // A proof that still removes rows shows with its end, all at once.
    const present = removal === null ? lastChange : removal - 1;
    const seq = wanted ?? present;
    if (seq > present) return 'future';
    const order = orderAt.get(name, seq);
    const isSnapshot = order !== undefined && order.generatedAt !== null;
    if ((isSnapshot ? order.seq : seq) < keptFrom) return 'gone';
    const next = orderAfter.get(name, seq);
    return order ? provenMoment(order, next, seq, lastChange) : unprovenMoment(next, seq, lastChange);
  };
}

const changeTimeOf = (seq: number): ChangeTime => ({ seq, at: isoTime(seq) });

type PastRows = ReturnType<typeof openPastRows>;

/** Rows by their rowids, as they were at one point in time. */
function openPastRows(connection: Connection, job: ListedJob & { history: string }) {
  const table = job.numbered;
  const stored = quoted(job.rows);
  const history = quoted(job.history);
  const pluck = <Value>(sql: string) => connection.prepare<(string | number)[], Value>(sql).pluck();
  // SQLite joins the rows: V8 would take as long to decode, join and encode a hundred strings as to read them. A cross join
  // keeps the order of the rowids.
  const unchanged = connection.prepare<[string, string, string, string], { rows: number; page: Buffer }>(
    `SELECT count(*) AS rows, CAST(? || coalesce(group_concat(${job.rowJson}, ','), '') || ? AS BLOB) AS page
     FROM json_each(?) AS wanted CROSS JOIN ${table} AS row
     WHERE row.rowid = wanted.value AND row._changed_at <= ?`,
  );
  // One query for a page: a hundred would take twice as long.
  const current = pluck<string | null>(
    `SELECT (SELECT ${job.rowJson} FROM ${table} AS row WHERE row.rowid = wanted.value AND row._changed_at <= ?)
     FROM json_each(?) AS wanted`,
  );
  // Each table is joined by itself: SQLite would compute a nested join in full.
  const volatileNow = job.aging
    ? `LEFT JOIN ${stored} AS known ON known._key = version._key
       LEFT JOIN ${quoted(job.aging)} AS latest ON latest._number = known.rowid`
    : '';
  const past = pluck<string>(
    `SELECT ${job.rowJson} FROM (
       SELECT ${job.columns.map((name) => pastColumn(name, job.volatile)).join(', ')}
       FROM ${history} AS version ${volatileNow}
       WHERE version._key = ? AND version._valid_to > ? AND version._valid_from <= ?
       ORDER BY version._valid_to LIMIT 1) AS row`,
  );
  const removedKey = pluck<string>(
    'SELECT key FROM removed_rows WHERE job = ? AND number = ? AND until > ? ORDER BY until LIMIT 1',
  );
  const currentKey = pluck<string>(`SELECT _key FROM ${stored} WHERE rowid = ?`);
  const firstVersion = pluck<string>(
    `SELECT _valid_from FROM ${history} WHERE _key = ? AND _valid_to > ? ORDER BY _valid_to LIMIT 1`,
  );
  const changedAt = pluck<string>(`SELECT _changed_at FROM ${stored} WHERE rowid = ?`);
  const latest = pluck<number | null>(`SELECT max(rowid) FROM ${stored}`);
  const greatestRemoved = pluck<number | null>('SELECT max(number) FROM removed_rows WHERE job = ?');
  const greatestNow = () => latest.get() ?? 0;

  function pastJson(rowid: number, { seq, at }: ChangeTime): string | undefined {
    const key = removedKey.get(job.name, rowid, seq) ?? currentKey.get(rowid);
    return key === undefined ? undefined : past.get(key, at, at);
  }

  /** The JSON of the row that had each rowid; undefined where none had. */
  function jsonOf(rowids: readonly number[], then: ChangeTime): (string | undefined)[] {
    const found = current.all(then.at, JSON.stringify(rowids));
    return rowids.map((rowid, at) => found[at] ?? pastJson(rowid, then));
  }

  return {
    jsonOf,
    /** The JSON of the rows that had these rowids, with commas between, in its frame; UTF-8. */
    pageOf(rowids: readonly number[], then: ChangeTime, frame: Frame): Buffer {
      const found = unchanged.get(...frame(rowids.length), JSON.stringify(rowids), then.at);
      if (found?.rows === rowids.length) return found.page;
      const rows = jsonOf(rowids, then).filter((row) => row !== undefined);
      const [before, behind] = frame(rows.length);
      return Buffer.from(`${before}${rows.join(',')}${behind}`);
    },
    /**
     * When the row came that had this rowid, ISO 8601; undefined where none had.
     * @param since an earlier change: by then it had not come.
     */
    bornAt(rowid: number, { seq }: ChangeTime, since: string): string | undefined {
      const gone = removedKey.get(job.name, rowid, seq);
      const key = gone ?? currentKey.get(rowid);
      if (key === undefined) return undefined;
      return firstVersion.get(key, since) ?? (gone === undefined ? changedAt.get(rowid) : undefined);
    },
    /** The greatest rowid that there is now, and the greatest that may have been given at all. */
    greatestNow,
    greatest: () => Math.max(greatestNow(), greatestRemoved.get(job.name) ?? 0),
  };
}

/** Volatile values are the latest that there are: no version keeps those that were shown with it. */
function pastColumn(name: string, volatile: readonly string[]): string {
  const column = quoted(name);
  if (!volatile.includes(name)) return `version.${column} AS ${column}`;
  return `CASE WHEN known._key IS NULL THEN version.${column} ELSE latest.${column} END AS ${column}`;
}

/** The greatest rowid that was given by then. Rows that came later have greater ones, or those of removed rows. */
function lastRowid(rows: PastRows, then: ChangeTime, top: number, since: string): number {
  let [last, free] = [top, rows.greatest() + 1];
  while (free - last > 1) {
    const middle = Math.floor((last + free) / 2);
    if ((rows.bornAt(middle, then, since) ?? '~') <= then.at) last = middle;
    else free = middle;
  }
  return last;
}

/**
 * @returns what gives the rowids of a range, the latest commit first, and within a commit as they stood on its page. Commits are
 * looked for as far as they are asked for, and kept.
 */
function newestFirst(rows: PastRows, then: Moment['at']): (offset: number, limit: number) => number[] {
  const { top, since, last } = then;
  const commits: { first: number; last: number }[] = [];
  const lowest = () => commits.at(-1)?.first ?? last + 1;

  function findNext(): void {
    const end = lowest() - 1;
    const at = rows.bornAt(end, then, since);
    const isOfCommit = (rowid: number) => rowid > top && rows.bornAt(rowid, then, since) === at;
    let [first, before, step] = [end, end - 1, 1];
    for (; isOfCommit(before); step *= 2) [first, before] = [before, before - step];
    before = Math.max(before, top);
    while (first - before > 1) {
      const middle = Math.floor((first + before) / 2);
      if (isOfCommit(middle)) first = middle;
      else before = middle;
    }
    commits.push({ first, last: end });
  }

  return (offset, limit) => {
    while (lowest() > top + 1 && last + 1 - lowest() < offset + limit) findNext();
    const found: number[] = [];
    let before = 0;
    for (const commit of commits) {
      const from = commit.first + Math.max(0, offset - before);
      for (let rowid = from; rowid <= commit.last && found.length < limit; rowid += 1) found.push(rowid);
      before += commit.last - commit.first + 1;
    }
    return found;
  };
}
