/** What of a job those need to know who follow the mirror elsewhere: the build writes it down, so that they load no contract. */

import { historyOf, type Job, type ListedJob, listed, versionsOf } from '../job.ts';
import { described, type Schema } from './described.ts';

export type FollowedJob = Pick<ListedJob, 'name' | 'table' | 'rows'> & {
  /** What shows superseded versions, and the table in which they lie; null for a dataset that is kept as snapshots. */
  history: string | null;
  versions: string | null;
  /** The columns that make no version. */
  volatile: readonly string[];
  /** What the specification says of a row; null where it is not specified. */
  row: Schema | null;
  /** The views that Postgres has, too. */
  views: readonly { name: string; sql: string }[];
};

export function followed(job: Job): FollowedJob {
  const { name, table, rows } = listed(job);
  return {
    name,
    table,
    rows,
    history: historyOf(job) ?? null,
    versions: versionsOf(job) ?? null,
    volatile: job.contract?.volatile ?? [],
    row: described(job).contract?.row ?? null,
    views: job.views.flatMap(({ name, postgres }) =>
      postgres === undefined ? [] : [{ name, sql: postgres }],
    ),
  };
}
