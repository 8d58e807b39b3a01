/** Rows by their rowids, as they were at one point in time, and which rowids were given by then. */

import type { ListedJob } from '../../job-list.ts';
import { type Connection, quoted } from '../../store/read.ts';

/** A change by its number, and as the time that stands in the rows. */
export type ChangeTime = { seq: number; at: string };

/** The text around the rows of a page: what stands before so many of them, and what behind. */
export type Frame = (rows: number) => readonly [before: string, behind: string];

export type PastRows = {
  /** The JSON of the row that had each number; undefined where none had. */
  jsonOf(numbers: readonly number[], then: ChangeTime): (string | undefined)[];
  /** The JSON of the rows that had these numbers, with commas between, in its frame; UTF-8. */
  pageOf(numbers: readonly number[], then: ChangeTime, frame: Frame): Buffer;
  /**
   * When the row came that had this number, ISO 8601; undefined where none had.
   * @param since an earlier change: by then it had not come.
   */
  bornAt(number: number, then: ChangeTime, since: string): string | undefined;
  /** The greatest number that is given now, and the greatest that may have been given at all. */
  greatestNow(): number;
  greatest(): number;
};

export function openPastRows(connection: Connection, job: ListedJob & { history: string }): PastRows {
  const table = job.numbered;
  const stored = quoted(job.rows);
  const history = quoted(job.history);
  const text = (sql: string) => connection.prepare<(string | number)[], string>(sql).pluck();
  // In one piece: V8 would decode, join and encode a hundred strings in the time of their reading, and collect them and
  // each further copy. A cross join keeps the order of the numbers.
  const unchanged = connection.prepare<[string, string, string, string], { rows: number; page: Buffer }>(
    `SELECT count(*) AS rows, CAST(? || coalesce(group_concat(${job.rowJson}, ','), '') || ? AS BLOB) AS page
     FROM json_each(?) AS wanted CROSS JOIN ${table} AS row
     WHERE row.rowid = wanted.value AND row._changed_at <= ?`,
  );
  // One question for a page: a hundred would take twice as long. A left join keeps the order of the numbers.
  const current = connection
    .prepare<[string, string], string | null>(
      `SELECT CASE WHEN row._key IS NOT NULL THEN ${job.rowJson} END
       FROM json_each(?) AS wanted LEFT JOIN ${table} AS row ON row.rowid = wanted.value AND row._changed_at <= ?`,
    )
    .pluck();
  const past = text(
    `SELECT ${job.rowJson} FROM (
       SELECT ${job.columns.map((name) => pastColumn(name, job.volatile)).join(', ')}
       FROM ${history} AS version LEFT JOIN ${table} AS latest ON latest._key = version._key
       WHERE version._key = ? AND version._valid_to > ? AND version._valid_from <= ?
       ORDER BY version._valid_to LIMIT 1) AS row`,
  );
  const removedKey = text(
    'SELECT key FROM removed_rows WHERE job = ? AND number = ? AND until > ? ORDER BY until LIMIT 1',
  );
  const currentKey = text(`SELECT _key FROM ${stored} WHERE rowid = ?`);
  const firstVersion = text(
    `SELECT _valid_from FROM ${history} WHERE _key = ? AND _valid_to > ? ORDER BY _valid_to LIMIT 1`,
  );
  const changedAt = text(`SELECT _changed_at FROM ${stored} WHERE rowid = ?`);
  const number = (sql: string) => connection.prepare<(string | number)[], number | null>(sql).pluck();
  const latest = number(`SELECT max(rowid) FROM ${stored}`);
  const greatestNow = () => latest.get() ?? 0;
  const greatestRemoved = number('SELECT max(number) FROM removed_rows WHERE job = ?');
  const removed = (rowid: number, { seq }: ChangeTime) => removedKey.get(job.name, rowid, seq);

  function pastJson(rowid: number, then: ChangeTime): string | undefined {
    const key = removed(rowid, then) ?? currentKey.get(rowid);
    return key === undefined ? undefined : past.get(key, then.at, then.at);
  }

  const jsonOf: PastRows['jsonOf'] = (numbers, then) =>
    current
      .all(JSON.stringify(numbers), then.at)
      .map((json, place) => json ?? pastJson(numbers[place] as number, then));

  return {
    jsonOf,
    pageOf(numbers, then, frame) {
      const found = unchanged.get(...frame(numbers.length), JSON.stringify(numbers), then.at);
      if (found?.rows === numbers.length) return found.page;
      const rows = jsonOf(numbers, then).filter((row) => row !== undefined);
      const [before, behind] = frame(rows.length);
      return Buffer.from(`${before}${rows.join(',')}${behind}`);
    },
    bornAt(rowid, then, since) {
      const gone = removed(rowid, then);
      const key = gone ?? currentKey.get(rowid);
      if (key === undefined) return undefined;
      return firstVersion.get(key, since) ?? (gone === undefined ? changedAt.get(rowid) : undefined);
    },
    greatestNow,
    greatest: () => Math.max(greatestNow(), greatestRemoved.get(job.name) ?? 0),
  };
}

/** Volatile values are the latest that there are: no version keeps those that were shown with it. */
function pastColumn(name: string, volatile: readonly string[]): string {
  const column = quoted(name);
  if (!volatile.includes(name)) return `version.${column} AS ${column}`;
  return `CASE WHEN latest._key IS NULL THEN version.${column} ELSE latest.${column} END AS ${column}`;
}

/** Rows that came since an order was proven, whose rowids have no gap and grow with every commit: those above `top` that had come by `then`, of which `last` is the latest. */
export type RowidRange = { top: number; since: string; last: number };

/** The greatest number that was given by then. Rows that came later have greater ones, or the numbers of removed rows. */
export function lastRowid(rows: PastRows, then: ChangeTime, top: number, since: string): number {
  let [given, free] = [top, rows.greatest() + 1];
  while (free - given > 1) {
    const middle = Math.floor((given + free) / 2);
    if ((rows.bornAt(middle, then, since) ?? '~') <= then.at) given = middle;
    else free = middle;
  }
  return given;
}

/**
 * Gives them the latest commit first, and within a commit as they stood on its page. Commits are looked for as far as they
 * are asked for, and kept.
 */
export function newestFirst(rows: PastRows, then: ChangeTime, { top, since, last }: RowidRange) {
  const commits: { first: number; last: number }[] = [];
  const lowest = () => commits.at(-1)?.first ?? last + 1;

  function findNext(): void {
    const end = lowest() - 1;
    const at = rows.bornAt(end, then, since);
    const isOfCommit = (number: number) => number > top && rows.bornAt(number, then, since) === at;
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

  return (offset: number, limit: number): number[] => {
    while (lowest() > top + 1 && last + 1 - lowest() < offset + limit) findNext();
    const found: number[] = [];
    let before = 0;
    for (const commit of commits) {
      const from = commit.first + Math.max(0, offset - before);
      for (let number = from; number <= commit.last && found.length < limit; number += 1) found.push(number);
      before += commit.last - commit.first + 1;
    }
    return found;
  };
}
