/** The columns of a dataset's files. A column has the same type in every file, unless its values do not fit it. */

import { isoTime } from '../../clock.ts';
import type { ListedJob } from '../../job-list.ts';
import { type Cell, type Holding, microsOf } from '../../output/answer.ts';
import { type ColumnType, columnsOfJob, isHeldColumn } from '../../reading/columns.ts';
import { type Connection, quoted } from '../../store/read.ts';

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
const ofFolders: readonly string[] = ['course', 'date'];

/** All columns of the dataset. */
export function columnsOf(connection: Connection, job: ListedJob): LakeColumn[] {
  const { rows, history } = columnsOfJob(connection, job);
  const taken = new Set(rows.columns.map(({ name }) => name));
  return rows.columns.map(({ name, from, type }) => ({
    name: ofFolders.includes(name) ? freeName(name, taken) : name,
    from,
    fromHistory: history?.columns.find((column) => column.name === name)?.from ?? 'NULL',
    holds: holdings[type],
  }));
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = `${name}_`;
  for (let count = 2; taken.has(free); count += 1) free = `${name}_${count}`;
  return free;
}

/** Those whose values stay with a change for ever. */
export function stableColumns(columns: readonly LakeColumn[], job: ListedJob): LakeColumn[] {
  return columns.filter(({ name }) => !job.volatile.includes(name) && !isHeldColumn(name));
}

/** The value as a column of these holds it: what is no time is none. */
export function asHeld(value: unknown, holds: Holding): Cell {
  if (holds !== 'timestamp') return value as Cell;
  if (typeof value !== 'string') return null;
  const cut = value.replace(/(\.\d{6})\d+/, '$1');
  return microsOf(cut) === undefined ? null : cut;
}

/** SQL that names them all, over the dataset's table or over its history. */
export const listed = (columns: readonly LakeColumn[], side: 'from' | 'fromHistory') =>
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
