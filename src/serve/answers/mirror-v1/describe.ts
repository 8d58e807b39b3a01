/** What `/mirror/v1/datasets` says of a dataset: its columns, what they mean, and how fresh it is. */

import { ageOf } from '../../../base/clock.ts';
import { propertiesOf } from '../../../base/properties.ts';
import { sharedMeanings } from '../column-meanings.ts';
import type { DatasetState } from './read.ts';
import type { Column, ListJob } from './sql.ts';

/** @param views over it that can be asked in the same way. */
export function describeDataset(
  job: ListJob,
  columns: readonly Column[],
  views: readonly string[],
  state: DatasetState,
  now: number,
) {
  const { completeAsOf } = state;
  const age = completeAsOf === null ? null : ageOf(Date.parse(completeAsOf), now);
  const meanings = new Map(Object.entries(sharedMeanings));
  for (const { column, path, description } of job.schemas ? propertiesOf(job.schemas.row) : [])
    meanings.set(column, `\`${path.join('.')}\`${description === undefined ? '' : `: ${description}`}`);
  return {
    dataset: job.table,
    job: job.name,
    about: job.about,
    columns: columns.map(({ name, kind, path }) => ({
      name,
      type: kind === 'mixed' ? 'any' : kind,
      about: path === null ? (meanings.get(name) ?? '') : `\`${path.replace(/^\$\.?/, '')}\``,
    })),
    views,
    verdict: state.readSeq === null ? null : state.verdict,
    complete_as_of: age === null ? null : completeAsOf,
    age_seconds: age === null ? null : Math.floor(age / 1_000),
    held: state.held,
    seq: state.seq,
    history_from: state.historyFrom,
  };
}
