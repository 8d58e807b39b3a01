/** *The* rows of a dataset as they were at a moment: a version holds from `_valid_from` until just before `_valid_to`, the present one from `_changed_at`. */

import { isoTime } from '../base/clock.ts';
import { storedName } from '../base/properties.ts';
import type { ListedJob } from '../job/list.ts';
import { type Connection, quoted } from '../store/read.ts';

/**
 * SQL for those rows. Volatile values are the latest that there are: no version keeps those that were shown with it.
 * @param table as it is named behind FROM, and its history; null where that is the table itself.
 * @param columns of the table, and of them those that the history has.
 * @param at SQL for the moment, a text of ISO 8601 UTC with milliseconds.
 */
export function rowsAt(
  { table, history }: { table: string; history: string | null },
  columns: { present: readonly string[]; past: ReadonlySet<string> },
  at: string,
): string {
  // A row that became held later was not held then.
  const present = columns.present.map((name) =>
    name.startsWith('_held_')
      ? `CASE WHEN _held_since <= ${at} THEN ${quoted(name)} END AS ${quoted(name)}`
      : quoted(name),
  );
  const standing = `SELECT ${present.join(', ')} FROM ${table} WHERE _changed_at <= ${at}`;
  if (history === null) return standing;
  const past = columns.present.map((name) =>
    columns.past.has(name) ? quoted(name) : `NULL AS ${quoted(name)}`,
  );
  return `${standing}
UNION ALL SELECT ${past.join(', ')} FROM ${history} WHERE ${stoodAt(at)}`;
}

/**
 * Returns what finds until when the rows stood as a change left them, ISO 8601: just before the next one, as far as walks tell of it; null
 * where they still do.
 */
export function endFinder(connection: Connection): (job: string, seq: number) => string | null {
  const next = connection
    .prepare<[{ job: string; seq: number }], number | null>(
      `SELECT min(seq) FROM (
         SELECT max(first_seq, :seq + 1) AS seq FROM walks WHERE +job = :job AND last_seq > :seq
         UNION ALL SELECT last_seq FROM _datasets WHERE job = :job AND last_seq > :seq)`,
    )
    .pluck();
  return (job, seq) => {
    const found = next.get({ job, seq });
    return found == null ? null : isoTime(found - 1);
  };
}

/** Of the versions of a row at most one. */
const stoodAt = (at: string) => `_valid_from <= ${at} AND _valid_to > ${at}`;

export type PastRows = ReturnType<typeof openPastRows>;

/** The text around the rows of a page: what stands before so many of them, and what behind. */
export type Frame = (rows: number) => readonly [before: string, behind: string];

/** What must be known of a dataset to read its rows by number. */
type PastJob = Pick<
  ListedJob,
  'rows' | 'fromWithNumber' | 'rowJson' | 'columns' | 'volatile' | 'volatileTable'
> & { versions: string };

/** Rows by their numbers as they were at a moment, as JSON. */
export function openPastRows(connection: Connection, job: PastJob) {
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
       WHERE version._key = ? AND version._row = ? AND ${stoodAt('?')} LIMIT 1) AS row`,
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

  function pastJson(number: number, at: string): string | undefined {
    const key = keyOf.get(number, number);
    return key === undefined ? undefined : past.get(key, number, at, at);
  }

  /** The JSON of the row that has each number; undefined where none has. */
  function jsonOf(numbers: readonly number[], at: string): (string | undefined)[] {
    const found = current.all(at, JSON.stringify(numbers));
    return numbers.map((number, place) => found[place] ?? pastJson(number, at));
  }

  return {
    jsonOf,
    /** The JSON of the rows that have these numbers, with commas between, in its frame; UTF-8. */
    pageOf(numbers: readonly number[], at: string, frame: Frame): Buffer {
      const found = unchanged.get(...frame(numbers.length), JSON.stringify(numbers), at);
      if (found?.rows === numbers.length) return found.page;
      const rows = jsonOf(numbers, at).filter((row) => row !== undefined);
      const [before, behind] = frame(rows.length);
      return Buffer.from(`${before}${rows.join(',')}${behind}`);
    },
    /**
     * The numbers above `top` of rows that had come by then: the latest commit first, or by number alone.
     * @param byCommit whether those of the latest commit come first, each as they stood on their page.
     */
    cameAbove(top: number, at: string, byCommit: boolean): number[] {
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
