/** What the files of a lake hold: columns, whole datasets, and changes. */

import { isoTime } from '../../clock.ts';
import type { ListedJob } from '../../job-list.ts';
import { type Cell, type Holding, microsOf } from '../../output/answer.ts';
import { type ColumnType, columnsOfJob, isHeldColumn } from '../../reading/columns.ts';
import { type ChangeSource, type Connection, changeSources, quoted, seqOf } from '../../store/read.ts';
import { changedAfter, positionOf } from '../follow.ts';

/** A column of a dataset's files: of the same type in every file, unless its values do not fit it. */
export type LakeColumn = {
  name: string;
  /** SQL over the dataset's table and over its history. */
  from: string;
  fromHistory: string;
  /** What all its files hold. */
  holds: Holding;
};

const holdings: Record<ColumnType, Holding> = {
  text: 'text',
  json: 'text',
  numeric: 'text',
  boolean: 'boolean',
  bigint: 'integer',
  'double precision': 'real',
  'timestamp with time zone': 'timestamp',
};

/** The folders of a lake have these names in theirs: whoever reads them by their folders sees a column of each, and none else of its name. */
const FOLDER_COLUMNS: readonly string[] = ['course', 'date'];

/** All columns of the dataset. */
export function lakeColumns(connection: Connection, job: ListedJob): LakeColumn[] {
  const { rows, history } = columnsOfJob(connection, job);
  const usedNames = new Set(rows.columns.map(({ name }) => name));
  return rows.columns.map(({ name, from, type }) => ({
    name: FOLDER_COLUMNS.includes(name) ? freeName(name, usedNames) : name,
    from,
    fromHistory: history?.columns.find((column) => column.name === name)?.from ?? 'NULL',
    holds: holdings[type],
  }));
}

function freeName(name: string, usedNames: ReadonlySet<string>): string {
  let free = `${name}_`;
  for (let count = 2; usedNames.has(free); count += 1) free = `${name}_${count}`;
  return free;
}

/** Those whose values stay with a change for ever. */
export function stableColumns(connection: Connection, job: ListedJob): LakeColumn[] {
  return lakeColumns(connection, job).filter(
    ({ name }) => !job.volatile.includes(name) && !isHeldColumn(name),
  );
}

/** The value as a column of these holds it: what is no time is none. */
export function valueAs(value: unknown, holds: Holding): Cell {
  if (holds !== 'timestamp') return value as Cell;
  if (typeof value !== 'string') return null;
  const cut = value.replace(/(\.\d{6})\d+/, '$1');
  return microsOf(cut) === undefined ? null : cut;
}

/** SQL that names them all, over the dataset's table or over its history. */
const listed = (columns: readonly LakeColumn[], side: 'from' | 'fromHistory') =>
  columns.map((column) => `${column[side]} AS ${quoted(column.name)}`).join(', ');

/** SQL for the rows of the dataset as they are now. */
export function rowsSql(job: ListedJob, columns: readonly LakeColumn[]): string {
  return `SELECT ${listed(columns, 'from')}
FROM ${quoted(job.table)} ORDER BY _key`;
}

/** The same as they were after a change; of a history that goes back so far. */
export function snapshotSql(job: ListedJob, columns: readonly LakeColumn[], seq: number): string {
  const at = `'${isoTime(seq)}'`;
  const now = `SELECT ${listed(columns, 'from')} FROM ${quoted(job.table)} WHERE _changed_at <= ${at}`;
  if (job.history === null) return now;
  return `${now}
UNION ALL SELECT ${listed(columns, 'fromHistory')} FROM ${quoted(job.history)} WHERE _valid_from <= ${at} AND _valid_to > ${at}`;
}

/** Changes with a greater number than `from`, up to `to`; see the view `changes`. */
export type Range = { from: number; to: number };

/** So many changes go into a file, at most, unless a single commit has made more. */
const MAX_ROWS_PER_FILE = 250_000;

/** SQL for the changes of a range, in their order: `_change` and `_seq`, then the columns. */
export function changesSql(
  connection: Connection,
  job: ListedJob,
  columns: readonly LakeColumn[],
  range: Range,
): string {
  const selects = changedIn(connection, job, range).map(({ change, at, from }) => {
    const list = listed(columns, isNow(at) ? 'from' : 'fromHistory');
    return `SELECT ${change} AS _change, ${seqOf(at)} AS _seq, ${list} FROM ${from}`;
  });
  return `${selects.join('\nUNION ALL\n')}\nORDER BY _seq, _key, _change`;
}

/** Where a dataset has changed after `from`, cut at days (UTC) and at many rows, always between two commits. */
export function* rangesOf(connection: Connection, job: ListedJob, whole: Range): Generator<Range> {
  const seqs = changedIn(connection, job, whole)
    .map(({ at, from }) => `SELECT ${seqOf(at)} AS seq FROM ${from}`)
    .join(' UNION ALL ');
  const commits = connection
    .prepare<[], { seq: number; rows: number }>(
      `SELECT seq, count(*) AS rows FROM (${seqs}) GROUP BY seq ORDER BY seq`,
    )
    .all();
  let { from } = whole;
  let [to, rows] = [from, 0];
  for (const commit of commits) {
    const isNext = rows > 0 && (rows + commit.rows > MAX_ROWS_PER_FILE || dayOf(commit.seq) !== dayOf(to));
    if (isNext) {
      yield { from, to };
      [from, rows] = [to, 0];
    }
    to = commit.seq;
    rows += commit.rows;
  }
  if (rows > 0) yield { from, to };
}

/** The number of its first change that is known; undefined where there is none. */
export function firstSeq(connection: Connection, job: ListedJob): number | undefined {
  const firsts = changeSources(job).map(({ at, source }) =>
    connection
      .prepare<[], number | null>(`SELECT min(${seqOf(at)}) FROM ${source}`)
      .pluck()
      .get(),
  );
  const known = firsts.filter((seq) => typeof seq === 'number');
  return known.length > 0 ? Math.min(...known) : undefined;
}

export const dayOf = (seq: number) => isoTime(seq).slice(0, 10);

type Changed = Pick<ChangeSource, 'change' | 'at'> & { from: string };

const isNow = (at: ChangeSource['at']) => at === '_changed_at';

/** The rows and versions that began or ended in a range. */
function changedIn(connection: Connection, job: ListedJob, { from, to }: Range): Changed[] {
  // Rows whose earlier versions were forgotten are found only by looking at all.
  const isForgotten = isoTime(from) < positionOf(connection, job).historyFrom;
  const changed = isForgotten ? { rows: 'true', versions: 'true' } : changedAfter(connection, job, from);
  return changeSources({ ...job, history: job.versions }).map(({ change, at, source, where }) => ({
    ...{ change, at },
    from: `${source} WHERE ${isNow(at) ? changed.rows : changed.versions}
  AND ${at} > '${isoTime(from)}' AND ${at} <= '${isoTime(to)}' AND ${where ?? 'true'}`,
  }));
}
