/** Which tables Postgres has of a job, each with the rows of one of the mirror. */

import type { ListedJob } from '../../job-list.ts';
import { columnsOf, columnsOfJob, type Kind, type Mirrored } from '../../reading/columns.ts';
import type { Connection } from '../../store/read.ts';

export type Table = Mirrored & {
  /** Over there. */
  name: string;
  /** Its primary key over there. The first of them says to which range a row belongs. */
  key: readonly string[];
  /** The job of whose rows alone is spoken, in a table of all. */
  job?: string;
  /** All its rows are written again and again. */
  isRewritten?: true;
};

/** The tables of a dataset as they are named and read: its rows, and its history where it has one. */
export function tablesOfJob(
  connection: Connection,
  job: ListedJob,
): { rows: Table; history: Table | undefined } {
  const { rows, history } = columnsOfJob(connection, job);
  return {
    rows: { ...rows, name: rows.of, key: ['_key'] },
    history: history && { ...history, name: `${job.history}`, key: ['_key', '_valid_from'] },
  };
}

/** What the mirror keeps about itself, of one job. */
export function ownTables(
  connection: Connection,
  job: string,
): Record<'walks' | 'fields' | 'datasets', Table> {
  const table = (name: string, key: readonly string[]): Table => ({
    name,
    of: name,
    columns: columnsOf(connection, name, (column, declared) =>
      isOwnTime(column, declared) ? 'timestamp with time zone' : own[column],
    ).filter((column) => column.name !== 'memory'),
    key,
    job,
  });
  return {
    walks: table('walks', ['id']),
    fields: table('fields', ['column', 'job']),
    datasets: table('datasets', ['job']),
  };
}

const own: Readonly<Record<string, Kind>> = {
  ...{ anomalies: 'json', types: 'json', rows_path: 'json', shared_keys: 'json' },
  ...{ nullable: 'boolean', generated_at: 'received time' },
};

const isOwnTime = (column: string, declared: string) =>
  declared === 'TEXT' && /(_at|_until|^history_from)$/.test(column) && column !== 'generated_at';
